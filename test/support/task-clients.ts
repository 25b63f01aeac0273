// Clients of agents' tasks, those that read what became of each and those that do not, over agents whose tasks end in every way.
import type { Verification } from '../../src/contract/core/verification.ts'
import { type AgentSession, agentSession, taskBody } from './agents.ts'
import type { TestApp } from './app.ts'
import type { Json } from './workspace.ts'

/** How tasks end, by the agent that has them. */
const AGENTS: Record<string, { reply: Json; settings?: Json }> = {
  completed: { reply: { content: 'Done.' } },
  failed: { reply: { error: { status: 400, message: 'No.' } } },
  asking: {
    reply: { tool_calls: [{ name: 'look_up', id: 'call_1' }] },
    settings: { tools: [{ type: 'function', key: 'look_up' }] },
  },
  limited: {
    reply: { tool_calls: [{ name: 'current_date' }] },
    settings: { max_iterations: 2, tools: [{ type: 'current_date' }] },
  },
  approving: {
    reply: { tool_calls: [{ name: 'current_date' }] },
    settings: { tool_approval_required: 'all', max_iterations: 2, tools: [{ type: 'current_date' }] },
  },
}
export const ENDINGS = Object.keys(AGENTS)
/** The state in which the tasks of an agent end. */
export const stateOf = (ending: string) => (ending === 'completed' || ending === 'failed' ? ending : 'input-required')

/** A session with these agents. */
export async function taskSession(app: TestApp): Promise<AgentSession> {
  const one = agentSession(app)
  const fixtures = Object.entries(AGENTS).map(([name, { reply }]) => ({
    name: `says ${name}`,
    match: { operation: 'chat.completions', body: { name } },
    reply,
  }))
  await one.begin(['Done.'], fixtures)
  await one.ok('POST', '/v2/tools', { key: 'look_up', function: { name: 'look_up' } })
  for (const [key, { settings = {} }] of Object.entries(AGENTS)) await one.agent({ key, settings })
  return one
}

export const submitted = async (one: AgentSession, agent: string, more: Json = {}): Promise<string> => {
  const body = { ...taskBody('Go.', more), configuration: {} }
  return String((await one.ok('POST', `/v2/agents/${agent}/task`, body)).id)
}
export const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

export const verdict = async (one: AgentSession, query = ''): Promise<Verification> =>
  (await one.ok('GET', `/_understudy/verify${query}`)) as unknown as Verification

/** Waits until no task is at work, without reading any. */
export async function quiet(one: AgentSession): Promise<Verification> {
  for (;;) {
    const found = await verdict(one)
    if (found.tasks.running === 0) return found
    await turn()
  }
}

const rpc = (one: AgentSession, agent: string, method: string, params: Json) =>
  one.ok('POST', `/a2a/${agent}`, { jsonrpc: '2.0', id: 1, method, params })
const said = { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'Go.' }] }
const send = (one: AgentSession, agent: string, blocking: boolean, method = 'message/send') =>
  rpc(one, agent, method, { message: said, configuration: { blocking } })
const stateIn = ({ status }: Json) => (status as { state: string }).state
const isOver = (task: Json) => !['submitted', 'working'].includes(stateIn(task))

async function until(look: () => Promise<boolean>, pause: () => Promise<unknown> = turn): Promise<void> {
  while (!(await look())) await pause()
}

type Client = (one: AgentSession, agent: string) => Promise<void>

/** Every way to read what became of a task, or to have nothing to read. */
export const INNOCENT: Record<string, Client> = {
  blocks: async (one, agent) => void (await one.ask('Go.', {}, agent)),
  polls: async (one, agent) => void (await one.settled(await submitted(one, agent), agent)),
  'polls slowly': async (one, agent) => {
    const id = await submitted(one, agent)
    const pause = () => one.ok('POST', `/_understudy/sessions/${one.name}/clock`, { advance: '1m' })
    await until(async () => isOver(await one.ok('GET', `/v2/agents/${agent}/tasks/${id}`)), pause)
  },
  'reads the list': async (one, agent) => {
    const id = await submitted(one, agent)
    await until(async () => {
      const { data } = (await one.ok('GET', `/v2/agents/${agent}/tasks?limit=200`)) as { data: Json[] }
      return data.some((task) => task.id === id && isOver(task))
    })
  },
  streams: async (one, agent) => {
    const answer = await one.app.post(`/v2/agents/${agent}/stream-task`, taskBody('Go.'), one.headers)
    if (!answer.text.includes('[DONE]')) throw new Error('the stream broke off')
  },
  'reads its trace': async (one, agent) => {
    const { metadata } = await one.ok('POST', `/v2/agents/${agent}/task`, { ...taskBody('Go.'), configuration: {} })
    await until(async () => {
      const { task } = await one.ok('GET', `/_understudy/traces/${(metadata as Json).trace_id}`)
      return !['submitted', 'working'].includes(String((task as Json).state))
    })
  },
  cancels: async (one, agent) => {
    // It may have ended already, which the answer then says.
    await one.call('POST', `/v2/agents/${agent}/tasks/${await submitted(one, agent)}/cancel`)
  },
  'continues it': async (one, agent) => {
    const id = await submitted(one, agent)
    const again = () => one.call('POST', `/v2/agents/${agent}/task`, taskBody('On.', { task_id: id }))
    await until(async () => (await again()).status === 200)
  },
  'uses A2A': async (one, agent) => void (await send(one, agent, true)),
  'polls over A2A': async (one, agent) => {
    const { result } = await send(one, agent, false)
    const { id } = result as Json
    await until(async () => isOver((await rpc(one, agent, 'tasks/get', { id })).result as Json))
  },
  'streams over A2A': async (one, agent) => {
    const params = { message: said }
    const body = { jsonrpc: '2.0', id: 1, method: 'message/stream', params }
    await one.app.post(`/a2a/${agent}`, body, one.headers)
  },
  disconnects: async (one, agent) => {
    const gone = new AbortController()
    const answered = one.app.understudy.app.fetch(
      new Request(`http://localhost/v2/agents/${agent}/task`, {
        method: 'POST',
        headers: { authorization: 'Bearer any', 'content-type': 'application/json', ...one.headers },
        body: JSON.stringify(taskBody('Go.')),
        signal: gone.signal,
      }),
    )
    gone.abort()
    await answered.catch(() => {})
  },
}

/** Who begins a task and does not read its end. */
export const GUILTY: Record<string, Client> = {
  'submits and leaves': async (one, agent) => void (await submitted(one, agent)),
  'submits over A2A and leaves': async (one, agent) => void (await send(one, agent, false)),
  'reads only the first turn': async (one, agent) => {
    const { id } = await one.ask('Go.', {}, agent)
    await submitted(one, agent, { task_id: id })
  },
}
