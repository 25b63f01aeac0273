// The executable: it serves, runs a command against a temporary server, and ends when it is stopped.
import { afterAll, expect, test } from 'bun:test'
import { emptyFolder, run, startServer } from '../support/server.ts'

const folder = emptyFolder()
afterAll(folder.remove)

const BODY = JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello!' }] })

test('serve: answers a chat completion and ends with 0 when stopped', async () => {
  const server = await startServer(['--db', 'smoke.db'], { cwd: folder.path })
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
    body: BODY,
  })
  expect(response.status).toBe(200)
  expect(await response.json()).toMatchObject({ object: 'chat.completion' })
  expect(await server.stop()).toBe(0)
})

test('exec: passes a command whose calls succeed', async () => {
  const program = `const answer = await fetch(process.env.OPENAI_BASE_URL + '/chat/completions', {
    method: 'POST',
    headers: { authorization: 'Bearer ' + process.env.OPENAI_API_KEY, 'content-type': 'application/json' },
    body: ${JSON.stringify(BODY)},
  })
  if (!answer.ok) process.exit(1)`
  const { code, stdout } = await run(['exec', '--', process.execPath, '-e', program], { cwd: folder.path })
  expect([code, stdout]).toEqual([0, expect.stringContaining('1 call')])
})

test('usage error: is one line and exit code 2', async () => {
  const { code, stderr } = await run(['serve', '--port', 'many'], { cwd: folder.path })
  expect(code).toBe(2)
  expect(stderr.trim().split('\n')).toEqual([expect.stringContaining('--port')])
})
