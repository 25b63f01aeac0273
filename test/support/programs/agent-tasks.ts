// A program that has an agent look things up under faults: it polls each task for a while, and cancels what does not end; a careless
// one never asks what became of them: agent-tasks careful|quits.
import { type Program, pass, upTo } from './surroundings.ts'

const TASKS = 2
const LOOKS = 20

export const agentTasks =
  (manner = 'careful'): Program =>
  async (about) => {
    const { env, fetch, say } = about
    const ask = async (method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown) => {
      const answer = await fetch(`${env.UNDERSTUDY_URL}${path}`, {
        method,
        headers: { authorization: `Bearer ${env.UNDERSTUDY_TOKEN}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
      return (await answer.json()) as Record<string, unknown>
    }
    await ask('PUT', '/_understudy/fixtures', [
      { name: 'answer', match: { operation: 'chat.completions', tool_result: true }, reply: { content: 'Found.' } },
      { name: 'tool', match: { operation: 'chat.completions' }, reply: { tool_calls: [{ name: 'current_date' }] } },
    ])
    await ask('POST', '/v2/agents', {
      ...{ key: 'helper', role: 'Helper', description: 'Helps.', instructions: 'Help.', path: 'Default' },
      model: 'openai/gpt-4o',
      settings: { max_iterations: 5, tools: [{ type: 'current_date' }] },
    })
    for (const number of upTo(TASKS)) {
      const message = { role: 'user', parts: [{ kind: 'text', text: `Question ${number}` }] }
      const { id } = await ask('POST', '/v2/agents/helper/task', { message })
      if (manner === 'quits') continue
      const path = `/v2/agents/helper/tasks/${id}`
      const stateOf = async () => ((await ask('GET', path)).status as { state: string }).state
      let state = await stateOf()
      for (let look = 1; look < LOOKS && (state === 'submitted' || state === 'working'); look++) {
        await pass(about, 1_000)
        state = await stateOf()
      }
      if (state === 'working') state = ((await ask('POST', `${path}/cancel`, {})).status as { state: string }).state
      say(state)
    }
  }
