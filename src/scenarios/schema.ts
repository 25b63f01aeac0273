// The file format of scenarios, version 1.

import { z } from 'zod'
import { Duration, PositiveDuration } from '../contract/core/duration.ts'
import { FAULT_POINTS } from '../contract/core/fault.ts'
import { FindingKind } from '../contract/core/finding.ts'
import { statedVersion } from '../contract/core/format-version.ts'
import { HISTORY_MODES } from '../contract/core/history-mode.ts'
import { OutcomeKind } from '../contract/core/outcome-kind.ts'
import { bodyMatchSchema, textMatchSchema } from '../contract/core/text-match-schema.ts'
import { TASK_STATES } from '../contract/workspace/task-state.ts'
import { faultKinds } from '../faults/index.ts'
import { suggestion } from '../lib/likely-name.ts'
import { MAX_RULES } from './limits.ts'

/** A number, `a-b` or `a+`, as the first and last number. */
function rangeOf(number: z.ZodInt | z.ZodNumber, digits: string, error: string) {
  const form = new RegExp(`^(${digits})(?:(-)(${digits})|(\\+))?$`)
  return z
    .union([number.min(0), z.string().regex(form, { error })], { error })
    .transform((text): readonly [number, number] => {
      if (typeof text === 'number') return [text, text]
      const [, first, , last, open] = form.exec(text) ?? []
      return [Number(first), open ? Number.POSITIVE_INFINITY : Number(last ?? first)]
    })
    .refine(([first, last]) => first <= last, { error: 'must not end before it starts' })
}

/** `1`, `1-3` or `2+`, as the first and last number. */
export const Range = rangeOf(z.int(), '\\d+', "must be a number, or a range such as '1-3' or '2+'")

/** `0.02`, `0-0.02` or `0.01+`, as the minimum and maximum amount. */
export const Amount = rangeOf(
  z.number(),
  '\\d+(?:\\.\\d+)?',
  "must be an amount in USD, or a range such as '0-0.02' or '0.01+'",
)

const POSITION = { error: "must be 'primary', 'fallback', 'fallback 1' or a position from 0" }
/** A target of the plan. */
const Position = z
  .union([z.string().regex(/^(primary|fallback( [1-9]\d*)?)$/, POSITION), z.int().min(0)], POSITION)
  .describe("Which target of the plan: 'primary', 'fallback' (any), 'fallback 1', or its position from 0.")

/** The attempts or calls that a rule applies to. All given conditions must hold. */
export const RuleMatch = z.strictObject({
  operation: z
    .string()
    .optional()
    .describe(
      'Name of the operation, such as `chat.completions`, or `getDataset` in the workspace; `*` matches any characters.',
    ),
  path: z.string().optional().describe('Path of the request; `*` matches any characters.'),
  provider: z.string().optional().describe('Name of the provider; `*` matches any characters.'),
  model: z.string().optional().describe('`<provider>/<model>` or `<model>`; `*` matches any characters.'),
  target: Position.optional(),
  called_first: z
    .enum(['provider', 'model'])
    .optional()
    .describe(
      'Only the provider, or the model, that the session called first under the scenario. Fallbacks to others are not affected, whether the gateway or the client falls back.',
    ),
  attempt: Range.optional().describe('Number of the attempt at its target, from 1.'),
  stream: z.boolean().optional().describe('Whether the call is streamed.'),
  internal: z.boolean().optional().describe('Whether the call is internal, such as one of an evaluator.'),
  header: z.record(z.string(), textMatchSchema).optional().describe("The client's request headers by name."),
  session: z
    .string()
    .optional()
    .describe(
      'Name of the session; `*` matches any characters. The rule does not apply to other sessions. A session to which no rule applies has no expectations.',
    ),
  call_site: textMatchSchema
    .optional()
    .describe(
      'Call site in the client, from the header `x-understudy-call-site`; in a string, `*` matches any characters.',
    ),
  identity: z.string().optional().describe('Id of the identity; `*` matches any characters.'),
  thread: z.string().optional().describe('Id of the thread; `*` matches any characters.'),
  body: bodyMatchSchema.optional().describe('Values by path in the body, such as `metadata.tier`.'),
  text: textMatchSchema.optional().describe('The last user message.'),
  agent: z.string().optional().describe('Key of the agent that calls a model or a tool; `*` matches any characters.'),
  task: z.string().optional().describe("Id of the agent's task; `*` matches any characters."),
  iteration: Range.optional().describe('Number of the iteration since the last user message, from 1.'),
  tool: z
    .string()
    .optional()
    .describe('At `tool` and `cancel`: name, key or type of the tool that an agent calls; `*` matches any characters.'),
})

/** The needs of a scenario. A run that does not meet them is inconclusive. */
export const Needs = z
  .strictObject({
    calls: z.int().min(2).optional().describe('At least this many calls in a session.'),
    elapsed: PositiveDuration.optional().describe(
      "At least this much time on the session's clock, up to its last call.",
    ),
    stream: z.literal(true).optional().describe('At least one streamed call.'),
    agent: z.literal(true).optional().describe('At least one agent task.'),
    gateway: z
      .literal(true)
      .optional()
      .describe('At least one call through the gateway: with an option such as `retry` or `fallbacks` in its body.'),
  })
  .refine((needs) => Object.values(needs).some((need) => need !== undefined), {
    error: 'must contain at least one of calls, elapsed, stream, agent, gateway',
  })
  .describe(
    'Calls that the program under test must make for a conclusive verdict. Without them, the verdict is inconclusive.',
  )

const Phase = z.strictObject({
  phase: z
    .enum(['healthy', 'degrading', 'down', 'recovering'])
    .describe('How often the fault is injected: never, increasingly often, always, or decreasingly often.'),
  for: PositiveDuration.optional().describe('Duration of the phase; unlimited by default.'),
  from: z.number().min(0).max(1).optional().describe('Probability at the start of a ramp.'),
  to: z.number().min(0).max(1).optional().describe('Probability at the end of a ramp.'),
})
/** A phase of a rule's `schedule`. Durations are in milliseconds. */
export type Phase = z.infer<typeof Phase>

const Schedule = z
  .array(Phase)
  .min(1)
  .superRefine((phases, context) => {
    for (const [index, { phase, for: length }] of phases.entries()) {
      if (length !== undefined || (index === phases.length - 1 && phase !== 'recovering')) continue
      const why =
        index < phases.length - 1 ? 'another phase follows' : "a phase 'recovering' without an end never injects"
      context.addIssue({ code: 'custom', path: [index, 'for'], message: `is required, since ${why}` })
    }
  })

/** When a rule is triggered for a matching attempt. All given conditions must hold. */
const RuleWhen = z.strictObject({
  calls: Range.optional().describe('Which of the matching attempts, counted from 1.'),
  every: z.int().min(1).optional().describe('Every nth matching attempt: 2 selects the second, the fourth and so on.'),
  first: z
    .int()
    .min(1)
    .optional()
    .describe(
      'With `every`: the first attempt that is selected. `every: 2, first: 1` selects the first, the third and so on.',
    ),
  after: Duration.optional().describe('Time from the start of the scenario after which the rule is active.'),
  for: PositiveDuration.optional().describe('How long the rule is active.'),
  probability: z.number().min(0).max(1).optional().describe('Share of these attempts, chosen by the seed.'),
  requires: z.string().optional().describe("Required state of the scenario, which is 'start' at first."),
  sets: z.string().optional().describe('State of the scenario after the rule is triggered.'),
  schedule: Schedule.optional().describe('Consecutive phases, from the start of the scenario.'),
})

const faultOptions = faultKinds.map(({ type, options, summary }) =>
  z.strictObject({ type: z.literal(type), ...options.shape }).describe(summary),
)
/** A fault with the options of its type. */
const Fault = z.discriminatedUnion(
  'type',
  faultOptions as unknown as [(typeof faultOptions)[number], ...typeof faultOptions],
)

/** One rule of a scenario: which attempts it matches, when it is active, and its fault. */
export const Rule = z
  .strictObject({
    name: z.string().min(1).describe('Name in reports and traces.'),
    at: z
      .enum(FAULT_POINTS)
      .optional()
      .describe(
        'Where the fault is injected. `provider`: the response of a provider to the gateway. `gateway` and `workspace`: the response to the client. `tool`: the result of a tool for an agent. `task`: a task iteration, before its model is called. `approval`: the approval of tool calls. `cancel`: a call in progress when its task is canceled.',
      ),
    match: RuleMatch.default({}).describe('Which attempts the rule applies to; all by default.'),
    when: RuleWhen.default({}).describe('Which of these attempts get the fault; all by default.'),
    fault: Fault.optional().describe('The fault to inject; a rule without a fault only sets the state.'),
  })
  .superRefine(({ fault, at, when }, context) => {
    if (when.first !== undefined && when.every === undefined)
      context.addIssue({ code: 'custom', path: ['when', 'first'], message: "requires 'every'" })
    if (!fault && when.sets === undefined)
      context.addIssue({ code: 'custom', path: ['fault'], message: "is required, unless the rule has 'when.sets'" })
    const kind = faultKinds.find(({ type }) => type === fault?.type)
    if (!fault || !kind) return
    const { type, points, needsOneOf = [] } = kind
    const message = `must be one of ${points.join(', ')} for ${type}`
    if (at && !points.includes(at)) context.addIssue({ code: 'custom', path: ['at'], message })
    if (needsOneOf.length > 0 && !needsOneOf.some((name) => name in fault))
      context.addIssue({
        code: 'custom',
        path: ['fault'],
        message: `must have at least one of ${needsOneOf.join(', ')} for ${type}`,
      })
  })
export type Rule = z.infer<typeof Rule>

/** Conditions on an attempt or call. All given conditions must hold. */
const CallConditions = z.strictObject({
  provider: z.string().optional().describe('Name of the provider; `*` matches any characters.'),
  model: z.string().optional().describe('`<provider>/<model>` or `<model>`; `*` matches any characters.'),
  operation: z.string().optional().describe('Name of the operation.'),
  outcome: OutcomeKind.optional().describe('Outcome of the attempt or call.'),
  status: z.int().describe('Status of the response.').optional(),
  stream: z.boolean().describe('Whether the response is a stream.').optional(),
  target: Position.optional(),
  rule: z.string().optional().describe('Name of a rule whose fault was injected.'),
  cache: z.enum(['hit', 'miss']).optional().describe('Result of the cache lookup.'),
})
/** Conditions on a call or an attempt, as expectations use them. */
export type CallPattern = z.infer<typeof CallConditions>
const Attempt = CallConditions.extend({
  status: z.int().describe('Status of the response, or the status that represents the failure.').optional(),
})

/** Conditions on an agent task. All given conditions must hold. */
const TaskConditions = z.strictObject({
  agent: z.string().optional().describe('For tasks: key of the agent; `*` matches any characters.'),
  state: z.enum(TASK_STATES).optional().describe('For tasks: their final state.'),
  tool: z
    .string()
    .optional()
    .describe('For tool calls: name of the function, or key of the agent of a sub-task; `*` matches any characters.'),
})
/** Conditions on an agent task, as expectations use them. */
export type TaskPattern = z.infer<typeof TaskConditions>

/** Keys of expectations that count tasks or their parts. */
const TASK_COUNTERS = ['tasks', 'iterations', 'tool_calls', 'sub_tasks'] as const

/** Keys of what an expectation is about. It has one of them, the others are conditions. */
const COUNTED = ['attempts', 'calls', 'cost', 'tokens', ...TASK_COUNTERS, 'order', 'retry_after_honored']
const quoted = (keys: readonly string[]): string => keys.map((key) => `'${key}'`).join(', ')

/** An expectation: a count, an order, a cost, or that the client honors `Retry-After`. */
export const Expectation = CallConditions.extend({
  ...TaskConditions.shape,
  at: z
    .enum(['provider', 'gateway'])
    .optional()
    .describe('What is counted when no other key says it: attempts (`provider`, the default) or calls (`gateway`).'),
  attempts: Range.optional().describe('Number of matching attempts; at least one by default.'),
  calls: Range.optional().describe('Number of matching client calls.'),
  cost: Amount.optional().describe(
    'Cost of all matching calls in USD at list price, including the internal calls of agents and evaluators. Not met if a price is not known.',
  ),
  tokens: Range.optional().describe(
    'Input and output tokens of all matching calls, including the internal calls of agents and evaluators.',
  ),
  tasks: Range.optional().describe('Number of matching tasks that clients submitted to agents.'),
  iterations: Range.optional().describe('Number of model calls of all matching tasks, including sub-tasks.'),
  tool_calls: Range.optional().describe('Number of tool calls of all matching tasks, including sub-tasks.'),
  sub_tasks: Range.optional().describe('Number of matching sub-tasks.'),
  order: z
    .array(Attempt)
    .min(2)
    .optional()
    .describe('Attempts that happen in this order; other attempts may happen in between.'),
  retry_after_honored: z.literal(true).optional().describe('The client honors every `Retry-After`.'),
}).superRefine((expectation, context) => {
  const { order, retry_after_honored } = expectation
  const keys = Object.entries(expectation).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  const countedKeys = COUNTED.filter((key) => keys.includes(key))
  const conditionKeys = keys.filter((key) => !COUNTED.includes(key))
  const issue = (message: string, path = countedKeys[0] ?? '') =>
    context.addIssue({ code: 'custom', path: [path], message })
  if (countedKeys.length > 1) issue(`cannot be combined with ${quoted(countedKeys.slice(1))}`)
  if ((order || retry_after_honored) && conditionKeys.length > 0)
    return issue('cannot be combined with other conditions')
  const taskCounter = TASK_COUNTERS.find((name) => countedKeys.includes(name))
  const validKeys = taskCounter === 'tool_calls' ? ['agent', 'state', 'tool'] : taskCounter ? ['agent', 'state'] : []
  for (const key of conditionKeys) {
    const isTaskCondition = key in TaskConditions.shape
    if (taskCounter ? !validKeys.includes(key) : isTaskCondition)
      issue(
        taskCounter
          ? `cannot be combined with '${taskCounter}'; valid: ${quoted(validKeys)}`
          : `can only be combined with ${quoted(key === 'tool' ? ['tool_calls'] : TASK_COUNTERS)}`,
        key,
      )
  }
})
export type Expectation = z.infer<typeof Expectation>

/** A scenario file. */
export const ScenarioFile = z
  .strictObject({
    name: z
      .string()
      .regex(/^[\w.-]+$/, { error: "must contain only letters, digits, '.', '_' and '-'" })
      .describe('Name of the scenario.'),
    description: z.string().optional().describe('One line for lists of scenarios.'),
    seed: z.int().min(0).optional().describe('Seed for randomness; that of the session by default.'),
    clock: z.enum(['real', 'virtual']).optional().describe('Clock of the session; unchanged by default.'),
    latency: z
      .enum(['real', 'skip'])
      .optional()
      .describe(
        'Whether injected latency, such as a delay or a slow stream, takes real time on a virtual clock or is skipped; `real` by default.',
      ),
    history: z
      .enum(HISTORY_MODES)
      .optional()
      .describe(
        'Whether conversations that their providers would reject are rejected (`strict`), only reported (`lenient`), or not checked (`off`).',
      ),
    needs: Needs.optional(),
    rules: z
      .array(Rule)
      .max(MAX_RULES)
      .default([])
      .describe('Which faults, on which calls, and when. May be left out if there are expectations.'),
    expect: z.array(Expectation).max(MAX_RULES).default([]).describe('What must have happened in the end.'),
    accept: z.array(FindingKind).optional().describe('Findings to ignore, such as `gave-up`.'),
    max_attempts: z
      .int()
      .min(1)
      .optional()
      .describe('Maximum number of attempts at providers for one request of a client, including its own retries.'),
    version: statedVersion('scenario_file'),
  })
  .superRefine(({ rules, expect }, context) => {
    if (rules.length === 0 && expect.length === 0)
      context.addIssue({ code: 'custom', path: ['rules'], message: "is required, unless there is an 'expect'" })
    const seen = new Set<string>()
    for (const [index, { name }] of rules.entries()) {
      if (seen.has(name))
        context.addIssue({ code: 'custom', path: ['rules', index, 'name'], message: 'must be unique' })
      seen.add(name)
    }
    const names = rules.map(({ name }) => name)
    const rejectUnknownRule = ({ rule }: CallPattern, path: (string | number)[]) => {
      if (rule === undefined || names.includes(rule)) return
      const valid = names.map((name) => JSON.stringify(name)).join(', ')
      const message = `must be the name of a rule: ${valid}${suggestion(rule, names)}`
      context.addIssue({ code: 'custom', path: ['expect', ...path, 'rule'], message })
    }
    for (const [index, expectation] of expect.entries()) {
      rejectUnknownRule(expectation, [index])
      for (const [step, like] of (expectation.order ?? []).entries()) rejectUnknownRule(like, [index, 'order', step])
    }
  })
export type ScenarioFile = z.infer<typeof ScenarioFile>
