// Tasks of agents through the front door: both ways to wait, continuation, tools, approval, limits, cancel.
import { afterAll, expect, test } from 'bun:test'
import { agentSession, story } from './support/agents.ts'
import { createTestApp } from './support/app.ts'

const app = createTestApp({ seed_file: ['none'] })
afterAll(app.close)
const session = () => agentSession(app)

test('a task that is waited for is answered with its messages', async () => {
  const { begin, agent, ask } = session()
  await begin(['Hello, Ada.'])
  await agent()
  const task = await ask('Hi, I am Ada.')
  expect(story(task)).toEqual(['user: Hi, I am Ada.', 'agent: Hello, Ada.'])
  expect(task.status.state).toBe('completed')
})
