// The calls of a rehearsal: those that the rules of its scenario match, with all features of the gateway. If rules concern
// agents: an agent, a model that calls its tools, and tasks.

import { isActive } from '../../contract/workspace/task-state.ts'
import { allOperations } from '../../endpoints/index.ts'
import { realClock } from '../../lib/clock.ts'
import { listedProvider } from '../../providers/index.ts'
import type { Scenario } from '../../scenarios/engine.ts'
import { pointOf } from '../../scenarios/rule-match.ts'
import type { Rule } from '../../scenarios/schema.ts'

/** One call to make. */
interface BuiltInCall {
  path: string
  headers: Record<string, string>
  body: Record<string, unknown>
}

const MODEL = 'openai/gpt-4o'
const OTHER_MODEL = 'anthropic/claude-sonnet-4'
const RETRIED = [408, 429, 500, 502, 503, 504, 529]
const CALL_TIMEOUT_MS = 10_000

/** The rule for a call of a scenario that has only expectations. */
const NO_RULE: Rule = { name: 'no rule', match: {}, when: {} }

/** The rule for a call: calls take turns with the rules. */
export const ruleFor = ({ rules }: Pick<Scenario, 'rules'>, index: number): Rule =>
  rules[index % rules.length] ?? NO_RULE

/** So many calls, which take turns with the rules. */
export const builtInCalls = (scenario: Pick<Scenario, 'rules'>, count: number): BuiltInCall[] =>
  Array.from({ length: count }, (_, index) => callFor(ruleFor(scenario, index), index))

function callFor(rule: Rule, index: number): BuiltInCall {
  const { match } = rule
  const named = allOperations().find(({ name, body }) => name === match.operation && body === 'json')
  const operation = named ?? allOperations().find(({ name }) => name === 'chat.completions')
  if (!operation) throw new Error('there are chat completions')
  const example = Object.values(operation.examples)[0] as Record<string, unknown>
  const text = typeof match.text === 'string' ? match.text : `Rehearsal, call ${index + 1}`
  const has = (field: string) => field in operation.request.shape
  const { model, fallback } = modelsFor(rule, String(example.model ?? MODEL))
  return {
    path: operation.path,
    headers: Object.fromEntries(
      Object.entries(match.header ?? {}).flatMap(([name, pattern]) =>
        typeof pattern === 'string' ? [[name, pattern]] : [],
      ),
    ),
    body: {
      ...example,
      model,
      ...(has('messages') && { messages: [{ role: 'user', content: text }] }),
      ...(has('stream') && { stream: match.stream ?? index % 2 === 1 }),
      ...(has('retry') && { retry: { count: 2, on_codes: RETRIED } }),
      ...(has('fallbacks') && operation.name === 'chat.completions' && { fallbacks: [{ model: fallback }] }),
      ...(has('timeout') && { timeout: { call_timeout: CALL_TIMEOUT_MS } }),
      ...(match.identity !== undefined && has('identity') && { identity: { id: exact(match.identity) } }),
      ...(match.thread !== undefined && has('thread') && { thread: { id: exact(match.thread) } }),
    },
  }
}

/** A text that matches a pattern. */
const exact = (pattern: string) => pattern.replaceAll('*', '')

/** The models of a call for a rule: its own as the primary one, or as the fallback if the rule matches fallbacks. */
function modelsFor(rule: Rule, standard: string): { model: string; fallback: string } {
  const { provider, model: pattern, target } = rule.match
  const named = exact(pattern ?? '')
  const whole = named.includes('/') ? named : named && `${provider ?? standard.split('/')[0]}/${named}`
  const ofProvider = `${provider}/${Object.keys(listedProvider(provider ?? '')?.models ?? {})[0] ?? 'model'}`
  const matching = whole && !whole.endsWith('/') ? whole : provider === undefined ? standard : ofProvider
  const ofFallback = target !== undefined && target !== 'primary' && target !== 0 && pointOf(rule) === 'provider'
  const other = matching.startsWith('anthropic/') ? MODEL : OTHER_MODEL
  return ofFallback
    ? { model: matching === standard ? standard : other, fallback: matching === standard ? OTHER_MODEL : matching }
    : { model: matching, fallback: other }
}

/** How far to advance a virtual clock between two calls, in ms, so that they cover the times in the rules. */
export function stepOf({ rules }: Pick<Scenario, 'rules'>, count: number): number {
  const ends = rules.map(({ when: { after = 0, for: length = 0, schedule = [] } }) =>
    Math.max(
      after + length,
      schedule.reduce((sum, phase) => sum + (phase.for ?? 0), 0),
    ),
  )
  return Math.ceil(Math.max(0, ...ends) / Math.max(1, count - 1))
}

/** Sends JSON to the session of the rehearsal, and parses the response. */
export type Ask = (path: string, body?: unknown) => Promise<unknown>

/** Fault points that only agents reach. */
const OF_AGENTS = ['tool', 'task', 'approval', 'cancel']
const PLAIN_KEY = /^[\w.-]+$/
/** Enough iterations to show that it does not end. */
const MAX_ITERATIONS = 5
/** How often a running task is polled before it is canceled, and the interval. */
const [LOOKS, BETWEEN_LOOKS_MS] = [20, 25]

/** Whether a rule concerns agents. */
export const isOfAgents = (rule: Rule): boolean =>
  OF_AGENTS.includes(pointOf(rule)) ||
  [rule.match.agent, rule.match.task, rule.match.iteration].some((one) => one !== undefined)

/** Fixtures of the rehearsed agent's model: it calls a tool, and responds when it has the result. */
const AGENT_FIXTURES = [
  {
    name: 'rehearsal/answer',
    match: { operation: 'chat.completions', tool_result: true },
    reply: { content: 'This is what I have found.' },
  },
  {
    name: 'rehearsal/tool',
    match: { operation: 'chat.completions', tools: ['google_search', 'current_date'] },
    reply: { tool_calls: [{ name: 'google_search', arguments: { query: 'rehearsal' } }, { name: 'current_date' }] },
  },
]

/** The reply of tools whose tasks are canceled while they run: delayed. */
const SLOW_TOOLS = {
  name: 'rehearsal/slow',
  match: { operation: 'agents.tools' },
  reply: { result: 'This came late.', timing: { duration: '1s' } },
}

/** The fixtures of the models and tools of a rehearsal's agents. */
export const fixturesOfAgents = (rules: readonly Rule[]): object[] =>
  rules.some((rule) => pointOf(rule) === 'cancel') ? [...AGENT_FIXTURES, SLOW_TOOLS] : AGENT_FIXTURES

/** The key of the agent that a rule matches, or of any. */
const agentOf = ({ match: { agent = '' } }: Rule): string => (PLAIN_KEY.test(agent) ? agent : 'rehearsal')

/** Creates the agents that the rules match. */
export async function makeAgents({ rules }: Pick<Scenario, 'rules'>, ask: Ask): Promise<void> {
  const approval = rules.some((rule) => pointOf(rule) === 'approval')
  for (const key of new Set(rules.filter(isOfAgents).map(agentOf)))
    await ask('/v2/agents', {
      key,
      role: 'Researcher',
      description: 'Looks things up.',
      instructions: 'Look it up, then answer.',
      path: 'Default',
      model: 'openai/gpt-4o',
      settings: {
        max_iterations: MAX_ITERATIONS,
        tool_approval_required: approval ? 'all' : 'none',
        tools: [{ type: 'google_search' }, { type: 'current_date' }],
      },
    })
}

interface Task {
  id: string
  status: { state: string }
  messages: unknown[]
}

/** The context of the tasks. */
interface Rehearsed {
  ask: Ask
  /** Changes the session's clock, if it is virtual. */
  clock(change: object): Promise<unknown>
}

/** Runs a task of an agent. One that does not end is canceled. */
export async function runTask(rule: Rule, index: number, { ask, clock }: Rehearsed): Promise<void> {
  const agent = agentOf(rule)
  const isCanceled = pointOf(rule) === 'cancel'
  // The call in flight must not end before the task is canceled.
  if (isCanceled) await clock({ freeze: true })
  const text = `Rehearsal, call ${index + 1}`
  const message = { role: 'user', parts: [{ kind: 'text', text }] }
  const { id } = (await ask(`/v2/agents/${agent}/task`, { message })) as Task
  const path = `/v2/agents/${agent}/tasks/${id}`
  const until = async (isSeen: (task: Task) => boolean): Promise<Task> => {
    for (let look = 1; ; look++) {
      const task = (await ask(path)) as Task
      if (isSeen(task) || look === LOOKS) return task
      await realClock.sleep(BETWEEN_LOOKS_MS)
    }
  }
  if (isCanceled) {
    await until(({ messages }) => messages.length > 1)
    await ask(`${path}/cancel`, {})
    await clock({ resume: true })
    await until(({ messages }) => messages.length > 3)
    return
  }
  const settled = async () => (await until(({ status }) => !isActive(status.state))).status.state
  let state = await settled()
  if (state === 'input-required' && pointOf(rule) === 'approval') {
    await ask(`/_understudy/tasks/${id}/approve`, {})
    state = await settled()
  }
  if (isActive(state)) await ask(`${path}/cancel`, {})
}
