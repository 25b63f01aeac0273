// The file format of scenarios, version 1.
import { z } from 'zod'
import { TextMatch } from '../backends/fixture/match-schema.ts'
import { Duration } from '../contract/duration.ts'
import { OutcomeKind } from '../contract/trace.ts'
import { faultKinds } from '../faults/index.ts'

const RANGE = /^(\d+)(?:(-)(\d+)|(\+))?$/

/** `1`, `1-3` or `2+`, as the first and last number meant. */
export const Range = z
  .union([z.int().min(0), z.string().regex(RANGE)], { error: "must be a number, or a range such as '1-3' or '2+'" })
  .transform((text): readonly [number, number] => {
    const [, first, , last, open] = RANGE.exec(String(text)) ?? []
    return [Number(first), open ? Number.POSITIVE_INFINITY : Number(last ?? first)]
  })
  .refine(([first, last]) => first <= last, { error: 'must not end before it begins' })

const Position = z
  .union([z.enum(['primary']), z.string().regex(/^fallback( [1-9]\d*)?$/), z.int().min(0)], {
    error: "must be 'primary', 'fallback', 'fallback 1' or a position from 0",
  })
  .describe("Which target of the plan: 'primary', 'fallback' (any), 'fallback 1', or its position from 0.")

/** Which attempts (or calls) a rule is about; every condition given must hold. */
export const RuleMatch = z.strictObject({
  operation: z
    .string()
    .optional()
    .describe(
      'Name of the operation, such as `chat.completions`, or `getDataset` in the workspace; `*` stands for any characters.',
    ),
  path: z.string().optional().describe('Path that is called; `*` stands for any characters.'),
  provider: z.string().optional(),
  model: z.string().optional().describe('`<provider>/<model>` or `<model>`; `*` stands for any characters.'),
  target: Position.optional(),
  attempt: Range.optional().describe('Which try of its target: 1 is the first.'),
  stream: z.boolean().optional(),
  header: z.record(z.string(), TextMatch).optional().describe("The client's request headers by name."),
  identity: z.string().optional().describe('Id of the identity; `*` stands for any characters.'),
  thread: z.string().optional().describe('Id of the thread; `*` stands for any characters.'),
  body: z.record(z.string(), z.unknown()).optional().describe('Values by path in the body, such as `metadata.tier`.'),
  text: TextMatch.optional().describe('The last user message.'),
})

const Phase = z.strictObject({
  phase: z
    .enum(['healthy', 'degrading', 'down', 'recovering'])
    .describe('Never; ever more often; always; ever less often.'),
  for: Duration.optional().describe('How long it lasts; for ever when left out.'),
  from: z.number().min(0).max(1).optional().describe('Probability at the start of a ramp.'),
  to: z.number().min(0).max(1).optional().describe('Probability at the end of a ramp.'),
})
export type Phase = z.infer<typeof Phase>

/** When a matching attempt is hit; every condition given must hold. */
export const RuleWhen = z.strictObject({
  calls: Range.optional().describe('Which of the attempts that match, counted from 1.'),
  every: z.int().min(1).optional().describe('Every so many attempts that match.'),
  after: Duration.optional().describe('Not before the scenario has run so long.'),
  for: Duration.optional().describe('Only for so long after that.'),
  probability: z.number().min(0).max(1).optional(),
  requires: z.string().optional().describe("The scenario's state must be this; it begins as 'start'."),
  sets: z.string().optional().describe("The scenario's state once the rule has fired."),
  schedule: z.array(Phase).min(1).optional().describe('Phases one after the other, from the start of the scenario.'),
})

const faultOptions = faultKinds.map(({ type, options, summary }) =>
  z.strictObject({ type: z.literal(type), ...options.shape }).describe(summary),
)
/** A fault with the options of its kind. */
export const Fault = z.discriminatedUnion(
  'type',
  faultOptions as unknown as [(typeof faultOptions)[number], ...typeof faultOptions],
)

export const Rule = z
  .strictObject({
    name: z.string().min(1).describe('What reports and traces call it.'),
    at: z
      .enum(['provider', 'gateway', 'workspace'])
      .optional()
      .describe(
        'Where it acts: on what the gateway hears of the provider, or on what the client hears of the gateway or of the workspace.',
      ),
    match: RuleMatch.default({}),
    when: RuleWhen.default({}),
    fault: Fault.optional().describe('What goes wrong; a rule without one only sets the state.'),
  })
  .superRefine(({ fault, at, when }, context) => {
    if (!fault && when.sets === undefined)
      context.addIssue({ code: 'custom', path: ['fault'], message: 'is required, unless the rule sets a state' })
    const points = faultKinds.find((kind) => kind.type === fault?.type)?.points
    if (at && points && !points.includes(at))
      context.addIssue({
        code: 'custom',
        path: ['at'],
        message: `must be one of ${points.join(', ')} for ${fault?.type}`,
      })
  })
export type Rule = z.infer<typeof Rule>

/** What must have happened when all is over. */
export const Expectation = z.strictObject({
  at: z.enum(['provider', 'gateway']).default('provider').describe('Whether attempts or calls are counted.'),
  provider: z.string().optional(),
  model: z.string().optional(),
  operation: z.string().optional(),
  outcome: OutcomeKind.optional(),
  status: z.int().optional(),
  stream: z.boolean().optional(),
  attempts: Range.optional().describe('How many attempts there are like that.'),
  calls: Range.optional().describe('How many calls of the client there are like that.'),
})
export type Expectation = z.infer<typeof Expectation>

/** A scenario file. */
export const ScenarioFile = z
  .strictObject({
    name: z.string().regex(/^[\w.-]+$/, { error: "must be letters, digits, '.', '_' and '-'" }),
    description: z.string().optional(),
    seed: z.int().min(0).optional().describe("Seed of its chance; the session's when left out."),
    clock: z.enum(['real', 'virtual']).optional().describe('The clock that the session gets; its own when left out.'),
    rules: z.array(Rule).min(1),
    expect: z.array(Expectation).default([]),
  })
  .superRefine(({ rules }, context) => {
    for (const [index, { name }] of rules.entries()) {
      if (rules.findIndex((other) => other.name === name) !== index)
        context.addIssue({
          code: 'custom',
          path: ['rules', index, 'name'],
          message: `must be unlike all others, got ${JSON.stringify(name)} again`,
        })
    }
  })
export type ScenarioFile = z.infer<typeof ScenarioFile>
