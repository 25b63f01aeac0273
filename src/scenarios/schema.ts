// The file format of scenarios, version 1.
import { z } from 'zod'
import { TASK_STATES } from '../contract/agent-task.ts'
import { Duration } from '../contract/duration.ts'
import { FAULT_POINTS } from '../contract/fault.ts'
import { FindingKind } from '../contract/finding.ts'
import { bodyMatchSchema, textMatchSchema } from '../contract/text-match.ts'
import { OutcomeKind } from '../contract/trace.ts'
import { faultKinds } from '../faults/index.ts'
import { suggestion } from '../lib/likely-name.ts'

const RANGE = /^(\d+)(?:(-)(\d+)|(\+))?$/
const RANGE_FORM = { error: "must be a number, or a range such as '1-3' or '2+'" }

/** `1`, `1-3` or `2+`, as the first and last number meant. */
const Range = z
  .union([z.int().min(0), z.string().regex(RANGE, RANGE_FORM)], RANGE_FORM)
  .transform((text): readonly [number, number] => {
    const [, first, , last, open] = RANGE.exec(String(text)) ?? []
    return [Number(first), open ? Number.POSITIVE_INFINITY : Number(last ?? first)]
  })
  .refine(([first, last]) => first <= last, { error: 'must not end before it begins' })

const POSITION = { error: "must be 'primary', 'fallback', 'fallback 1' or a position from 0" }
const Position = z
  .union([z.string().regex(/^(primary|fallback( [1-9]\d*)?)$/, POSITION), z.int().min(0)], POSITION)
  .describe("Which target of the plan: 'primary', 'fallback' (any), 'fallback 1', or its position from 0.")

/** Which attempts (or calls) a rule is about; every condition given must hold. */
const RuleMatch = z.strictObject({
  operation: z
    .string()
    .optional()
    .describe(
      'Name of the operation, such as `chat.completions`, or `getDataset` in the workspace; `*` stands for any characters.',
    ),
  path: z.string().optional().describe('Path that is called; `*` stands for any characters.'),
  provider: z.string().optional().describe('Name of the provider; `*` stands for any characters.'),
  model: z.string().optional().describe('`<provider>/<model>` or `<model>`; `*` stands for any characters.'),
  target: Position.optional(),
  attempt: Range.optional().describe('Which try of its target: 1 is the first.'),
  stream: z.boolean().optional(),
  inner: z.boolean().optional().describe('Whether the call was made from inside, such as by an evaluator.'),
  header: z.record(z.string(), textMatchSchema).optional().describe("The client's request headers by name."),
  session: z
    .string()
    .optional()
    .describe(
      'Name of the session; `*` stands for any characters. Other sessions play without the rule, and when no rule is about a session, nothing is expected of it.',
    ),
  point: z
    .string()
    .optional()
    .describe("Which of the client's calls, as the header `x-understudy-point` says; `*` stands for any characters."),
  identity: z.string().optional().describe('Id of the identity; `*` stands for any characters.'),
  thread: z.string().optional().describe('Id of the thread; `*` stands for any characters.'),
  body: bodyMatchSchema.optional().describe('Values by path in the body, such as `metadata.tier`.'),
  text: textMatchSchema.optional().describe('The last user message.'),
  agent: z
    .string()
    .optional()
    .describe('Key of the agent that calls a model or a tool; `*` stands for any characters.'),
  task: z.string().optional().describe("Id of the agent's task; `*` stands for any characters."),
  iteration: Range.optional().describe('Which iteration since the user spoke last: 1 is the first.'),
  tool: z
    .string()
    .optional()
    .describe(
      'At `tool` and `cancel`: name, key or type of the tool that an agent calls; `*` stands for any characters.',
    ),
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
const RuleWhen = z.strictObject({
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
  status: z.int().optional(),
  stream: z.boolean().optional(),
  target: Position.optional(),
  rule: z.string().optional().describe('A rule whose fault it met.'),
  cache: z.enum(['hit', 'miss']).optional().describe('What the cache did for the call.'),
})
export type CallPattern = z.infer<typeof Like>

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
  order: z.array(Like).min(2).optional().describe('Attempts that come in this order; others may come between them.'),
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

/** A scenario file. */
export const ScenarioFile = z
  .strictObject({
    name: z.string().regex(/^[\w.-]+$/, { error: "must be letters, digits, '.', '_' and '-'" }),
    description: z.string().optional(),
    seed: z.int().min(0).optional().describe("Seed of its chance; the session's when left out."),
    clock: z.enum(['real', 'virtual']).optional().describe('The clock that the session gets; its own when left out.'),
    rules: z.array(Rule).min(1),
    expect: z.array(Expectation).default([]),
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
    for (const [index, { name }] of rules.entries()) {
      if (rules.findIndex((other) => other.name === name) !== index)
        context.addIssue({
          code: 'custom',
          path: ['rules', index, 'name'],
          message: 'must be unlike all others',
        })
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
