// A call over time as a model: what the terminal prints, JSON says and the page draws are renderings of it.
import { z } from 'zod'

const milliseconds = z.number().describe('Milliseconds from the start of the call.')

const WaterfallTone = z
  .enum(['good', 'bad', 'warning', 'idle', 'plain'])
  .describe('How it went: `plain` says nothing of it, `idle` that nothing was done.')
export type WaterfallTone = z.infer<typeof WaterfallTone>

/** When a line was. */
const WaterfallSpan = z.object({
  from: milliseconds,
  to: milliseconds,
  first: milliseconds.nullable().describe('When the first content came; null when there was none.'),
  wait: z.number().describe('Milliseconds of waiting that lead up to it.'),
})
export type WaterfallSpan = z.infer<typeof WaterfallSpan>

const STEPS = ['scenario', 'knowledge', 'guardrail', 'cache', 'attempt', 'faults', 'usage'] as const
const KINDS = [...STEPS, 'iteration', 'model', 'tool', 'wait', 'task', 'call'] as const

/** One line: a step of the gateway or of an agent, or a call of the client. */
export const WaterfallRow = z.object({
  lane: z.enum(['gateway', 'agent', 'client']).describe('Whose line it is.'),
  kind: z.enum(KINDS).describe('What it is: an attempt, a wait, a guardrail and so on.'),
  depth: z.int().min(0).describe('How far in it stands.'),
  title: z.string().describe('What it is, such as `retry`.'),
  subject: z.string().describe('What it is about: a model, a knowledge base, a tool; empty when the title says all.'),
  detail: z.string().describe('What came of it.'),
  notes: z.array(z.string()).describe('What else is to be said of it, in words.'),
  error: z.string().describe('Why it failed, or null.').nullable(),
  tone: WaterfallTone,
  span: WaterfallSpan.nullable().describe('Null for what takes no time, or none that is known.'),
  faults: z.array(z.string()).describe('Rules of the scenario whose faults have acted on it.'),
  trace: z.string().nullable().describe('The trace that shows it; null when this one does.'),
})
export type WaterfallRow = z.infer<typeof WaterfallRow>

/** The whole. */
export const Waterfall = z.object({
  trace: z.string().describe('Id of the trace.'),
  from: milliseconds.describe('The start of the first line, which is negative when a try of the client came before.'),
  to: milliseconds.describe('The end of the last one.'),
  rows: z.array(WaterfallRow).describe('The lines, from above.'),
})
export type Waterfall = z.infer<typeof Waterfall>
