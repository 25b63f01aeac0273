// The file format of scenarios, version 1.
import { z } from 'zod'
import { Duration } from '../contract/core/duration.ts'
import { FAULT_POINTS } from '../contract/core/fault.ts'
import { FindingKind } from '../contract/core/finding.ts'
import { OutcomeKind } from '../contract/core/trace.ts'
import { TASK_STATES } from '../contract/workspace/agent-task.ts'
import { faultKinds } from '../faults/index.ts'
import { suggestion } from '../lib/likely-name.ts'
import { Position, Range, RuleMatch } from './match-schema.ts'
import { Needs } from './needs-schema.ts'

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
const RuleWhen = z.strictObject({
  calls: Range.optional().describe('Which of the attempts that match, counted from 1.'),
  every: z
    .int()
    .min(1)
    .optional()
    .describe('Every so many attempts that match: 2 is the second, the fourth and so on.'),
  first: z
    .int()
    .min(1)
    .optional()
    .describe('With `every`: which attempt comes first. `every: 2, first: 1` is the first, the third and so on.'),
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
const Fault = z.discriminatedUnion(
  'type',
  faultOptions as unknown as [(typeof faultOptions)[number], ...typeof faultOptions],
)

export const Rule = z
  .strictObject({
    name: z.string().min(1).describe('What reports and traces call it.'),
    at: z
      .enum(FAULT_POINTS)
      .optional()
      .describe(
        'Where it acts: on what the gateway hears of the provider, on what the client hears of the gateway or of the workspace, on what an agent hears of a tool, on an iteration of a task before its model is asked, on a decision that lets its tools run, or on what becomes of a call under way when its task is canceled.',
      ),
    match: RuleMatch.default({}),
    when: RuleWhen.default({}),
    fault: Fault.optional().describe('What goes wrong; a rule without one only sets the state.'),
  })
  .superRefine(({ fault, at, when }, context) => {
    if (when.first !== undefined && when.every === undefined)
      context.addIssue({ code: 'custom', path: ['when', 'first'], message: "needs 'every' beside it" })
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

/** What an attempt or a call is like; every condition given must hold. */
const Like = z.strictObject({
  provider: z.string().optional().describe('Name of the provider; `*` stands for any characters.'),
  model: z.string().optional().describe('`<provider>/<model>` or `<model>`; `*` stands for any characters.'),
  operation: z.string().optional(),
  outcome: OutcomeKind.optional(),
  status: z.int().describe('The status of the answer.').optional(),
  stream: z.boolean().describe('Whether the answer is a stream.').optional(),
  target: Position.optional(),
  rule: z.string().optional().describe('A rule whose fault it met.'),
  cache: z.enum(['hit', 'miss']).optional().describe('What the cache did for the call.'),
})
export type CallPattern = z.infer<typeof Like>
const Attempt = Like.extend({
  status: z.int().describe('The status of its answer, or the one that stands for its failure.').optional(),
})

/** What a task of an agent is like; every condition given must hold. */
const TaskLike = z.strictObject({
  agent: z.string().optional().describe('Of tasks: key of the agent; `*` stands for any characters.'),
  state: z.enum(TASK_STATES).optional().describe('Of tasks: their state in the end.'),
  tool: z
    .string()
    .optional()
    .describe(
      'Of calls of tools: name of the function, or key of the agent that a sub-task has; `*` stands for any characters.',
    ),
})
export type TaskPattern = z.infer<typeof TaskLike>

/** What is counted of tasks. */
const TASK_COUNTERS = ['tasks', 'iterations', 'tool_calls', 'sub_tasks'] as const

/** What must have happened when all is over: how often, in which order, or that waits were kept. */
export const Expectation = Like.extend({
  ...TaskLike.shape,
  at: z
    .enum(['provider', 'gateway'])
    .optional()
    .describe('Whether attempts (the usual) or calls are counted, when no number says it.'),
  attempts: Range.optional().describe('How many attempts there are like that; at least one when nothing is said.'),
  calls: Range.optional().describe('How many calls of the client there are like that.'),
  tasks: Range.optional().describe('How many tasks clients have submitted to agents that are like that.'),
  iterations: Range.optional().describe('How many model calls tasks like that make together, sub-tasks included.'),
  tool_calls: Range.optional().describe('How many calls of tools tasks like that make together, sub-tasks included.'),
  sub_tasks: Range.optional().describe('How many tasks like that work for others.'),
  order: z.array(Attempt).min(2).optional().describe('Attempts that come in this order; others may come between them.'),
  waits_kept: z
    .literal(true)
    .optional()
    .describe('The client never calls again earlier than `Retry-After` has told it to.'),
}).superRefine((expectation, context) => {
  const { attempts, calls, tasks, iterations, tool_calls, sub_tasks, order, waits_kept, ...narrowing } = expectation
  const counted = { attempts, calls, tasks, iterations, tool_calls, sub_tasks, order, waits_kept }
  const given = (object: object) =>
    Object.entries(object).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  const said = given(counted)
  const like = given(narrowing)
  const issue = (message: string, path = said[0] ?? '') => context.addIssue({ code: 'custom', path: [path], message })
  if (said.length > 1)
    issue(
      `cannot stand beside ${said
        .slice(1)
        .map((name) => `'${name}'`)
        .join(', ')}`,
    )
  if ((order || waits_kept) && like.length > 0) return issue('stands alone: nothing narrows it')
  const ofTasks = TASK_COUNTERS.find((name) => said.includes(name))
  const words = ofTasks === 'tool_calls' ? ['agent', 'state', 'tool'] : ofTasks ? ['agent', 'state'] : []
  for (const word of like) {
    const isOfTasks = word in TaskLike.shape
    if (ofTasks ? !words.includes(word) : isOfTasks)
      issue(
        ofTasks
          ? `does not narrow '${ofTasks}': only ${words.map((one) => `'${one}'`).join(', ')} can`
          : `is of tasks: it narrows ${word === 'tool' ? "'tool_calls'" : TASK_COUNTERS.map((one) => `'${one}'`).join(', ')}`,
        word,
      )
  }
})
export type Expectation = z.infer<typeof Expectation>

/** Rules, and expectations, of one scenario: each attempt is compared with all of them. */
const MAX_RULES = 1_000

/** A scenario file. */
export const ScenarioFile = z
  .strictObject({
    name: z.string().regex(/^[\w.-]+$/, { error: "must be letters, digits, '.', '_' and '-'" }),
    description: z.string().optional(),
    seed: z.int().min(0).optional().describe("Seed of its chance; the session's when left out."),
    clock: z.enum(['real', 'virtual']).optional().describe('The clock that the session gets; its own when left out.'),
    latency: z
      .enum(['real', 'skip'])
      .optional()
      .describe(
        'Whether latency that clients feel, such as that of a delay or a slow stream, takes real time on a virtual clock, or is skipped; real when left out.',
      ),
    needs: Needs.optional(),
    rules: z.array(Rule).min(1).max(MAX_RULES),
    expect: z.array(Expectation).max(MAX_RULES).default([]),
    accept: z
      .array(FindingKind)
      .optional()
      .describe('What a client may do on this day without being found fault with, such as `gave-up`.'),
    max_attempts: z
      .int()
      .min(1)
      .optional()
      .describe('Most attempts at providers for one request of a client, its own repetitions included.'),
  })
  .superRefine(({ rules, expect }, context) => {
    const seen = new Set<string>()
    for (const [index, { name }] of rules.entries()) {
      if (seen.has(name))
        context.addIssue({
          code: 'custom',
          path: ['rules', index, 'name'],
          message: 'must be unlike all others',
        })
      seen.add(name)
    }
    const names = rules.map(({ name }) => name)
    const refuseUnknown = ({ rule }: CallPattern, path: (string | number)[]) => {
      if (rule === undefined || names.includes(rule)) return
      const valid = names.map((name) => JSON.stringify(name)).join(', ')
      const message = `must be the name of a rule: ${valid}${suggestion(rule, names)}`
      context.addIssue({ code: 'custom', path: ['expect', ...path, 'rule'], message })
    }
    for (const [index, expectation] of expect.entries()) {
      refuseUnknown(expectation, [index])
      for (const [step, like] of (expectation.order ?? []).entries()) refuseUnknown(like, [index, 'order', step])
    }
  })
export type ScenarioFile = z.infer<typeof ScenarioFile>
