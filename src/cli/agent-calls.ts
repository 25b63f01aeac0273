// What a rehearsal asks of agents, when rules of its scenario are about them: an agent, a model that calls its tools, and tasks.
import { realClock } from '../lib/clock.ts'
import type { Scenario } from '../scenarios/engine.ts'
import { pointOf } from '../scenarios/rule-match.ts'
import type { Rule } from '../scenarios/schema.ts'

/** Sends JSON to the session that is rehearsed in, and reads the answer. */
export type Ask = (path: string, body?: unknown) => Promise<unknown>

/** Points at which only what agents do is met. */
const OF_AGENTS = ['tool', 'task', 'approval', 'cancel']
const PLAIN_KEY = /^[\w.-]+$/
/** As many as say that it goes on and on. */
const MOST_ITERATIONS = 5
/** How long a task may work before it is canceled. */
const [LOOKS, BETWEEN_LOOKS_MS] = [20, 25]

/** Whether a rule is about what agents do. */
export const isOfAgents = (rule: Rule): boolean =>
  OF_AGENTS.includes(pointOf(rule)) ||
  [rule.match.agent, rule.match.task, rule.match.iteration].some((one) => one !== undefined)

/** The model of the agent that is rehearsed: it calls a tool, and answers when it has the result. */
export const AGENT_FIXTURES = [
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

/** The key of the agent that a rule means, or of any. */
const agentOf = ({ match: { agent = '' } }: Rule): string => (PLAIN_KEY.test(agent) ? agent : 'rehearsal')

/** Makes the agents that the rules mean. */
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
        max_iterations: MOST_ITERATIONS,
        tool_approval_required: approval ? 'all' : 'none',
        tools: [{ type: 'google_search' }, { type: 'current_date' }],
      },
    })
}

interface Task {
  id: string
  status: { state: string }
}

/** Has an agent do something; a task that works on and on is canceled. */
export async function runTask(rule: Rule, index: number, ask: Ask): Promise<void> {
  const agent = agentOf(rule)
  const text = `Rehearsal, call ${index + 1}`
  const message = { role: 'user', parts: [{ kind: 'text', text }] }
  const { id } = (await ask(`/v2/agents/${agent}/task`, { message })) as Task
  const path = `/v2/agents/${agent}/tasks/${id}`
  const settled = async (): Promise<string> => {
    for (let look = 0; look < LOOKS; look++) {
      const { state } = ((await ask(path)) as Task).status
      if (state !== 'submitted' && state !== 'working') return state
      await realClock.sleep(BETWEEN_LOOKS_MS)
    }
    return 'working'
  }
  let state = await settled()
  if (state === 'input-required' && pointOf(rule) === 'approval') {
    await ask(`/_understudy/tasks/${id}/approve`, {})
    state = await settled()
  }
  if (state === 'working') await ask(`${path}/cancel`, {})
}
