// The timeline of a call as data, which the terminal, JSON and the page render.
import { z } from 'zod'

const milliseconds = z.number().describe('Milliseconds from the start of the call.')

const WaterfallTone = z
  .enum(['good', 'bad', 'warning', 'idle', 'plain'])
  .describe('Result class: `plain` is neutral; `idle` means that nothing was done.')
/** Result class of a row, from which its color is derived. */
export type WaterfallTone = z.infer<typeof WaterfallTone>

/** The time span of a row. */
const WaterfallSpan = z.object({
  from: milliseconds,
  to: milliseconds,
  first: milliseconds.nullable().describe('Time of the first content, or null.'),
  wait: z.number().describe('Milliseconds of the wait before it.'),
})
/** Time span of a row, in milliseconds from the start of the waterfall. */
export type WaterfallSpan = z.infer<typeof WaterfallSpan>

const STEPS = ['scenario', 'knowledge', 'guardrail', 'cache', 'attempt', 'faults', 'usage'] as const
const KINDS = [...STEPS, 'iteration', 'model', 'tool', 'wait', 'task', 'call'] as const

/** One row: a step of the gateway or of an agent, or a call of the client. */
export const WaterfallRow = z.object({
  lane: z.enum(['gateway', 'agent', 'client']).describe('Lane of the row.'),
  kind: z.enum(KINDS).describe('Type of the row: an attempt, a wait, a guardrail, and so on.'),
  depth: z.int().min(0).describe('Nesting level.'),
  title: z.string().describe('Title, such as `retry`.'),
  subject: z.string().describe('Subject: a model, a knowledge base, or a tool. Empty if the title is sufficient.'),
  detail: z.string().describe('Result.'),
  notes: z.array(z.string()).describe('Further details.'),
  error: z.string().describe('Why it failed, or null.').nullable(),
  tone: WaterfallTone,
  span: WaterfallSpan.nullable().describe('Null if it takes no time, or if the time is not known.'),
  faults: z.array(z.string()).describe('Scenario rules whose faults were injected.'),
  trace: z.string().nullable().describe('The trace with details, or null for this trace.'),
})
export type WaterfallRow = z.infer<typeof WaterfallRow>

/** The whole timeline. */
export const Waterfall = z.object({
  trace: z.string().describe('Id of the trace.'),
  from: milliseconds.describe('Start of the first row. Negative if an earlier client try is included.'),
  to: milliseconds.describe('End of the last row.'),
  rows: z.array(WaterfallRow).describe('The rows, top to bottom.'),
})
export type Waterfall = z.infer<typeof Waterfall>
