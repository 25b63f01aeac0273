// A task of a killed process continues from its last committed step and repeats no tool call that was answered.
import { afterAll, expect, test } from 'bun:test'
import type { StoredTrace } from '../../src/contract/core/trace.ts'
import { story } from '../support/agents.ts'
import { folderWith } from '../support/fixtures.ts'
import { type Server, startServer } from '../support/server.ts'
import { strictTask } from '../support/strict/agents.ts'

/** The model asks for the date, and answers after a wait; each kind of call is told by the text of the user. */
const turns = (wait: string) => [
  { name: 'date', match: { tool_result: false }, reply: { tool_calls: [{ name: 'current_date' }] } },
  {
    name: 'answer',
    match: { tool_result: true },
    reply: { content: 'It is {{prompt.tool_result}}.', timing: { first_token: wait } },
  },
]
const slow = folderWith({ 'fixtures/chat.completions/turns.json': turns('10m') })
const fast = folderWith({ 'fixtures/chat.completions/turns.json': turns('1ms') })
afterAll(() => {
  slow.remove()
  fast.remove()
})
const args = ['--db', `${slow.path}/tasks.db`, '--seed-file', 'none', '--fixtures', 'fixtures']
const headers = { authorization: 'Bearer any', 'content-type': 'application/json' }

async function call({ url }: Server, method: string, path: string, body?: unknown) {
  const response = await fetch(`${url}${path}`, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  if (!response.ok) throw new Error(await response.text())
  return response.json() as Promise<Record<string, unknown>>
}

test('killed process: leaves tasks that continue where they were', async () => {
  const killed = await startServer(args, { cwd: slow.path })
  await call(killed, 'POST', '/v2/agents', {
    key: 'clock',
    role: 'Clock',
    description: 'Tells the date.',
    instructions: 'Tell it.',
    path: 'Default',
    model: 'openai/gpt-4o',
    settings: { tools: [{ type: 'current_date' }] },
  })
  const message = { role: 'user', parts: [{ kind: 'text', text: 'Which day is it?' }] }
  const submitted = await Promise.all([1, 2, 3].map(() => call(killed, 'POST', '/v2/agents/clock/task', { message })))
  const read = async (server: Server, id: unknown) =>
    strictTask.parse(await call(server, 'GET', `/v2/agents/clock/tasks/${id}`))
  // Each has its result of the tool, and waits for the model.
  const results = await Promise.all(
    submitted.map(async ({ id }) => {
      for (;;) {
        const { messages = [] } = await read(killed, id)
        if (messages.length === 3) return messages[2]
      }
    }),
  )
  await killed.stop('SIGKILL')

  const server = await startServer(args, { cwd: fast.path })
  for (const [index, { id }] of submitted.entries()) {
    let task = await read(server, id)
    while (task.status.state === 'working') task = await read(server, id)
    expect(task.status.state).toBe('completed')
    expect(story(task)).toHaveLength(4)
    expect(task.messages?.[2]).toEqual(results[index])
    const trace = (await call(
      server,
      'GET',
      `/_understudy/traces/${task.metadata?.trace_id}`,
    )) as unknown as StoredTrace
    expect(trace.task).toMatchObject({ state: 'completed', iterations: 2 })
    expect(trace.task?.steps.map(({ kind }) => kind)).toEqual(['model', 'tool', 'model'])
  }
  await server.stop()
})
