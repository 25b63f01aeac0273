// Checks expectations against the calls and tasks of a session.
import type { AttemptRecord, TraceRecord } from '../contract/core/trace.ts'
import type { ExpectationReport } from '../contract/core/verification.ts'
import { globRegex, inRange } from '../lib/match.ts'
import { counted } from '../lib/units.ts'
import { sumOf } from '../lib/values.ts'
import { matchesModel, matchesPosition, matchesProvider } from '../scenarios/rule-match.ts'
import type { CallPattern, Expectation, TaskPattern } from '../scenarios/schema.ts'
import { type CountedTask, iterationsOf, toolStepsOf } from './tasks.ts'

/** An attempt with its call and its start, in ms since the epoch. */
export interface AttemptEvidence {
  trace: TraceRecord
  attempt: AttemptRecord
  began: number
}

/** The evidence for expectations. */
interface CallEvidence {
  traces: readonly TraceRecord[]
  /** All calls, including internal ones, which also have a cost. */
  all: readonly TraceRecord[]
  /** The attempts in the order in which they began. */
  tried: readonly AttemptEvidence[]
  tasks: readonly CountedTask[]
  /** Number of early retries. */
  brokenWaits: number
}

/** Checks an expectation and describes the result. */
export function judge(expectation: Expectation, evidence: CallEvidence): ExpectationReport {
  const { at, attempts, calls, order, retry_after_honored, ...more } = expectation
  const { agent, state, tool, tasks, iterations, tool_calls, sub_tasks, cost, tokens, ...pattern } = more
  if (retry_after_honored) return retryAfterExpectation(evidence.brokenWaits)
  if (order) return inOrder(order, evidence.tried)
  const figures = { tasks, iterations, tool_calls, sub_tasks }
  for (const { name, ...figure } of TASK_FIGURES) {
    const range = figures[name]
    if (range) return taskExpectation({ ...figure, range }, { agent, state, tool }, evidence.tasks)
  }
  // The cost of a task is that of its model calls, which have traces of their own.
  const spent =
    cost || tokens ? evidence.all.filter((trace) => !trace.task && matchesPattern(callEvidence(trace), pattern)) : []
  if (cost) return costExpectation(cost, pattern, spent)
  if (tokens) return countExpectation({ range: tokens, noun: 'token', found: sumOf(spent, tokensOf) }, pattern)
  const countsCalls = calls !== undefined || at === 'gateway'
  const found = countsCalls
    ? evidence.traces.map(callEvidence).filter((evidence) => matchesPattern(evidence, pattern))
    : evidence.tried.map(attemptEvidence).filter((evidence) => matchesPattern(evidence, pattern))
  const range = attempts ?? calls ?? ([1, Number.POSITIVE_INFINITY] as const)
  return countExpectation({ range, noun: countsCalls ? 'call' : 'attempt', found: found.length }, pattern)
}

/** Checks a number of calls, attempts, tasks or their parts. */
const countExpectation = (
  { range, noun, found }: { range: readonly [number, number]; noun: string; found: number },
  pattern: CallPattern | TaskPattern,
): ExpectationReport => ({
  expected: `${rangeText(range, noun)}${patternText(pattern)}`,
  actual: String(found),
  met: inRange(found, range),
})

interface TaskFigure {
  noun: string
  /** The figure of one task. */
  count(task: CountedTask, tool: string | undefined): number
}

/** The figures of tasks that expectations can check. */
const TASK_FIGURES = [
  { name: 'tasks', noun: 'task', count: (task) => (task.isSubTask ? 0 : 1) },
  { name: 'iterations', noun: 'iteration', count: iterationsOf },
  {
    name: 'tool_calls',
    noun: 'tool call',
    count: (task, tool) => toolStepsOf(task).filter(({ name }) => isNamed(tool, name)).length,
  },
  { name: 'sub_tasks', noun: 'sub-task', count: (task) => (task.isSubTask ? 1 : 0) },
] as const satisfies (TaskFigure & { name: keyof Expectation })[]

const isNamed = (glob: string | undefined, name: string): boolean => glob === undefined || globRegex(glob).test(name)

function taskExpectation(
  { noun, count, range }: TaskFigure & { range: readonly [number, number] },
  pattern: TaskPattern,
  tasks: readonly CountedTask[],
): ExpectationReport {
  const { agent: key, state: expectedState, tool } = pattern
  const matching = tasks.filter(
    ({ agent, state }) => isNamed(key, agent) && (expectedState === undefined || expectedState === state),
  )
  return countExpectation({ range, noun, found: sumOf(matching, (task) => count(task, tool)) }, pattern)
}

/** Checks the cost of calls. It is not met if the price of a call is unknown. */
function costExpectation(
  range: readonly [number, number],
  pattern: CallPattern,
  spent: readonly TraceRecord[],
): ExpectationReport {
  const cost = Math.round(sumOf(spent, (trace) => trace.cost ?? 0) * 1e10) / 1e10
  const unpriced = spent.filter((trace) => trace.cost === null && tokensOf(trace) > 0)
  const models = [...new Set(unpriced.map(({ model }) => model ?? 'an unknown model'))].join(', ')
  return {
    expected: `${amountText(range)}${patternText(pattern)}`,
    actual:
      unpriced.length === 0
        ? usd(cost)
        : `${usd(cost)}, and ${counted(unpriced.length, 'call')} of unknown price: ${models}`,
    met: unpriced.length === 0 && inRange(cost, range),
  }
}

/** Input and output tokens of a call. A cached response uses none. */
function tokensOf({ usage, cache }: TraceRecord): number {
  if (!usage || cache?.status === 'hit') return 0
  const { prompt_tokens, input_tokens = prompt_tokens, completion_tokens, output_tokens = completion_tokens } = usage
  return sumOf([input_tokens, output_tokens], (count) => (typeof count === 'number' ? count : 0))
}

/** An amount in dollars with up to 10 decimals. */
const usd = (amount: number): string => `$${amount.toFixed(10).replace(/\.?0+$/, '')}`

const amountText = ([first, last]: readonly [number, number]): string => {
  if (first === last) return usd(first)
  return Number.isFinite(last) ? `${usd(first)} to ${usd(last)}` : `at least ${usd(first)}`
}

const retryAfterExpectation = (broken: number): ExpectationReport => ({
  expected: 'the client honors Retry-After',
  actual: `early retries: ${broken}`,
  met: broken === 0,
})

function inOrder(order: readonly CallPattern[], tried: readonly AttemptEvidence[]): ExpectationReport {
  let next = 0
  for (const one of tried) {
    const expected = order[next]
    if (expected && matchesPattern(attemptEvidence(one), expected)) next++
  }
  return {
    expected: `in this order: ${order.map((pattern) => patternText(pattern).slice(2) || 'any attempt').join('; then ')}`,
    actual: next === order.length ? 'in this order' : `only the first ${next} of ${order.length}`,
    met: next === order.length,
  }
}

/** An attempt or call with the fields that expectations can match. */
interface Evidence extends Pick<TraceRecord, 'operation' | 'outcome' | 'status' | 'stream'> {
  model: string
  position: number
  rules: readonly string[]
  cache: string | undefined
}

const attemptEvidence = ({ trace, attempt }: AttemptEvidence): Evidence => ({
  operation: trace.operation,
  stream: trace.stream,
  cache: trace.cache?.status,
  model: attempt.target,
  outcome: attempt.outcome,
  status: attempt.status,
  position: attempt.position,
  rules: attempt.faults,
})

const callEvidence = (trace: TraceRecord): Evidence => ({
  operation: trace.operation,
  stream: trace.stream,
  cache: trace.cache?.status,
  model: trace.model ?? '',
  outcome: trace.outcome,
  status: trace.status,
  position: trace.attempts.at(-1)?.position ?? 0,
  rules: [...trace.faults, ...trace.attempts.flatMap(({ faults }) => faults)],
})

function matchesPattern(evidence: Evidence, { provider, model, target, rule, ...exact }: CallPattern): boolean {
  if (provider !== undefined && !matchesProvider(provider, evidence.model)) return false
  if (model !== undefined && !matchesModel(model, evidence.model)) return false
  if (target !== undefined && !matchesPosition(target, evidence.position)) return false
  if (rule !== undefined && !evidence.rules.includes(rule)) return false
  return Object.entries(exact).every(
    ([field, value]) => value === undefined || evidence[field as keyof Evidence] === value,
  )
}

const rangeText = ([first, last]: readonly [number, number], noun: string): string => {
  if (first === last) return counted(first, noun)
  return Number.isFinite(last) ? `${first} to ${counted(last, noun)}` : `at least ${counted(first, noun)}`
}

const patternText = (pattern: CallPattern | TaskPattern): string => {
  const fields = Object.entries(pattern).filter(([, value]) => value !== undefined)
  return fields.length === 0 ? '' : `: ${fields.map(([field, value]) => `${field} ${value}`).join(', ')}`
}
