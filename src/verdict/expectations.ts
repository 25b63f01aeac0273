// Holds expectations against what happened.
import type { AttemptRecord, TraceRecord } from '../contract/core/trace.ts'
import type { ExpectationReport } from '../contract/core/verification.ts'
import { globRegex, inRange } from '../lib/match.ts'
import { counted } from '../lib/units.ts'
import { matchesModel, matchesPosition, matchesProvider } from '../scenarios/rule-match.ts'
import type { CallPattern, Expectation, TaskPattern } from '../scenarios/schema.ts'
import { type CountedTask, iterationsOf, toolStepsOf } from './tasks.ts'

/** An attempt, with its call and the instant at which it began, in ms since the epoch. */
export interface AttemptEvidence {
  trace: TraceRecord
  attempt: AttemptRecord
  began: number
}

/** What happened. */
interface CallEvidence {
  traces: readonly TraceRecord[]
  /** The calls with those from inside, which cost as much. */
  all: readonly TraceRecord[]
  /** The attempts in the order in which they began. */
  tried: readonly AttemptEvidence[]
  tasks: readonly CountedTask[]
  /** How often the client called again too early. */
  brokenWaits: number
}

/** Whether an expectation is met, in words. */
export function judge(expectation: Expectation, happened: CallEvidence): ExpectationReport {
  const { at, attempts, calls, order, retry_after_honored, ...more } = expectation
  const { agent, state, tool, tasks, iterations, tool_calls, sub_tasks, cost, tokens, ...like } = more
  if (retry_after_honored) return waitsKept(happened.brokenWaits)
  if (order) return inOrder(order, happened.tried)
  const figures = { tasks, iterations, tool_calls, sub_tasks }
  for (const { name, ...figure } of TASK_FIGURES) {
    const range = figures[name]
    if (range) return taskExpectation({ ...figure, range }, { agent, state, tool }, happened.tasks)
  }
  // What a task spent is that of the model calls that it made, which are among the calls.
  const spent = cost || tokens ? happened.all.filter((trace) => !trace.task && isLike(callSeen(trace), like)) : []
  if (cost) return costExpectation(cost, like, spent)
  if (tokens) return tokenExpectation(tokens, like, spent)
  const ofCalls = calls !== undefined || at === 'gateway'
  const found = ofCalls
    ? happened.traces.map(callSeen).filter((seen) => isLike(seen, like))
    : happened.tried.map(attemptSeen).filter((seen) => isLike(seen, like))
  const range = attempts ?? calls ?? ([1, Number.POSITIVE_INFINITY] as const)
  return {
    expected: `${rangeText(range, ofCalls ? 'call' : 'attempt')}${likeText(like)}`,
    actual: String(found.length),
    met: inRange(found.length, range),
  }
}

interface TaskFigure {
  noun: string
  /** How much of it there is in one task. */
  of(task: CountedTask, tool: string | undefined): number
}

/** What is counted of tasks. */
const TASK_FIGURES = [
  { name: 'tasks', noun: 'task', of: (task) => (task.isSubTask ? 0 : 1) },
  { name: 'iterations', noun: 'iteration', of: iterationsOf },
  {
    name: 'tool_calls',
    noun: 'tool call',
    of: (task, tool) => toolStepsOf(task).filter(({ name }) => isNamed(tool, name)).length,
  },
  { name: 'sub_tasks', noun: 'sub-task', of: (task) => (task.isSubTask ? 1 : 0) },
] as const satisfies (TaskFigure & { name: keyof Expectation })[]

const isNamed = (glob: string | undefined, name: string): boolean => glob === undefined || globRegex(glob).test(name)

function taskExpectation(
  { noun, of, range }: TaskFigure & { range: readonly [number, number] },
  like: TaskPattern,
  tasks: readonly CountedTask[],
): ExpectationReport {
  const { agent: key, state: wanted, tool } = like
  const meant = tasks.filter(({ agent, state }) => isNamed(key, agent) && (wanted === undefined || wanted === state))
  const found = meant.reduce((sum, task) => sum + of(task, tool), 0)
  return { expected: `${rangeText(range, noun)}${likeText(like)}`, actual: String(found), met: inRange(found, range) }
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0)

/** Whether calls cost what they may. What a call without a known price costs is not known, so no limit is met with certainty. */
function costExpectation(
  range: readonly [number, number],
  like: CallPattern,
  spent: readonly TraceRecord[],
): ExpectationReport {
  const cost = Math.round(sumOf(spent.map((trace) => trace.cost ?? 0)) * 1e10) / 1e10
  const unpriced = spent.filter((trace) => trace.cost === null && tokensOf(trace) > 0)
  const models = [...new Set(unpriced.map(({ model }) => model ?? 'an unknown model'))].join(', ')
  return {
    expected: `${amountText(range)}${likeText(like)}`,
    actual:
      unpriced.length === 0
        ? usd(cost)
        : `${usd(cost)}, and ${counted(unpriced.length, 'call')} of unknown price: ${models}`,
    met: unpriced.length === 0 && inRange(cost, range),
  }
}

function tokenExpectation(
  range: readonly [number, number],
  like: CallPattern,
  spent: readonly TraceRecord[],
): ExpectationReport {
  const tokens = sumOf(spent.map(tokensOf))
  return {
    expected: `${rangeText(range, 'token')}${likeText(like)}`,
    actual: String(tokens),
    met: inRange(tokens, range),
  }
}

/** Tokens of a call, in and out; a response from the cache takes none. */
function tokensOf({ usage, cache }: TraceRecord): number {
  if (!usage || cache?.status === 'hit') return 0
  const { prompt_tokens, input_tokens = prompt_tokens, completion_tokens, output_tokens = completion_tokens } = usage
  return sumOf([input_tokens, output_tokens].map((count) => (typeof count === 'number' ? count : 0)))
}

/** An amount to a tenth of a millionth of a dollar, without the zeros at its end. */
const usd = (amount: number): string => `$${amount.toFixed(10).replace(/\.?0+$/, '')}`

const amountText = ([first, last]: readonly [number, number]): string => {
  if (first === last) return usd(first)
  return Number.isFinite(last) ? `${usd(first)} to ${usd(last)}` : `at least ${usd(first)}`
}

const waitsKept = (broken: number): ExpectationReport => ({
  expected: 'the client honors Retry-After',
  actual: `early retries: ${broken}`,
  met: broken === 0,
})

function inOrder(order: readonly CallPattern[], tried: readonly AttemptEvidence[]): ExpectationReport {
  let next = 0
  for (const one of tried) {
    const wanted = order[next]
    if (wanted && isLike(attemptSeen(one), wanted)) next++
  }
  return {
    expected: `in this order: ${order.map((like) => likeText(like).slice(2) || 'any attempt').join('; then ')}`,
    actual: next === order.length ? 'in this order' : `only the first ${next} of ${order.length}`,
    met: next === order.length,
  }
}

/** An attempt or a call in the terms of expectations. */
interface Evidence extends Pick<TraceRecord, 'operation' | 'outcome' | 'status' | 'stream'> {
  model: string
  position: number
  rules: readonly string[]
  cache: string | undefined
}

const attemptSeen = ({ trace, attempt }: AttemptEvidence): Evidence => ({
  operation: trace.operation,
  stream: trace.stream,
  cache: trace.cache?.status,
  model: attempt.target,
  outcome: attempt.outcome,
  status: attempt.status,
  position: attempt.position,
  rules: attempt.faults,
})

const callSeen = ({ operation, stream, cache, model, outcome, status, attempts, faults }: TraceRecord): Evidence => ({
  operation,
  stream,
  cache: cache?.status,
  model: model ?? '',
  outcome,
  status,
  position: attempts.at(-1)?.position ?? 0,
  rules: [...faults, ...attempts.flatMap((attempt) => attempt.faults)],
})

function isLike(seen: Evidence, { provider, model, target, rule, ...exact }: CallPattern): boolean {
  if (provider !== undefined && !matchesProvider(provider, seen.model)) return false
  if (model !== undefined && !matchesModel(model, seen.model)) return false
  if (target !== undefined && !matchesPosition(target, seen.position)) return false
  if (rule !== undefined && !seen.rules.includes(rule)) return false
  return Object.entries(exact).every(([field, value]) => value === undefined || seen[field as keyof Evidence] === value)
}

const rangeText = ([first, last]: readonly [number, number], noun: string): string => {
  if (first === last) return counted(first, noun)
  return Number.isFinite(last) ? `${first} to ${counted(last, noun)}` : `at least ${counted(first, noun)}`
}

const likeText = (like: CallPattern | TaskPattern): string => {
  const given = Object.entries(like).filter(([, value]) => value !== undefined)
  return given.length === 0 ? '' : `: ${given.map(([field, value]) => `${field} ${value}`).join(', ')}`
}
