// Fifty parallel sessions with the same request twenty times, recorded and replayed.
// Slow because redaction, writing and three thousand calls take seconds of processor time.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { cassetteApp } from '../support/cassette-app.ts'
import { startProvider } from '../support/forward.ts'
import { emptyFolder } from '../support/server.ts'

const folder = emptyFolder()
afterAll(folder.remove)
const CHAT = '/v1/chat/completions'
const BODY = { model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'same' }] }
let count = 0
let provider: ReturnType<typeof startProvider>
beforeAll(() => {
  provider = startProvider(async () => {
    const own = ++count
    await Bun.sleep((own * 7) % 5)
    const message = { role: 'assistant', content: `answer ${own}` }
    return Response.json({
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'gpt-4o',
      choices: [{ index: 0, finish_reason: 'stop', message }],
    })
  })
})
afterAll(() => provider.stop())

test('fifty parallel sessions with the same requests: get their own responses, in order', async () => {
  const sessions = Array.from({ length: 50 }, (_, index) => `session-${index}`)
  const all = (app: ReturnType<typeof cassetteApp>) =>
    Promise.all(
      sessions.map(async (session) => {
        const got: string[] = []
        for (let turn = 0; turn < 20; turn++)
          got.push((await app.post(CHAT, BODY, { 'x-understudy-session': session })).text)
        return got
      }),
    )
  const recording = cassetteApp(provider.url, { record: folder.path })
  const first = await all(recording)
  await recording.finish()
  expect(new Set(first.flat()).size).toBe(1_000)
  provider.stop()
  const app = cassetteApp(provider.url, { replay: folder.path, speed: 'instant' })
  expect(await all(app)).toEqual(first)
  const { sessions: replayed } = await app.finish()
  expect(replayed.map((one) => [one.replayed?.attempts, one.replayed?.missed])).toEqual(sessions.map(() => [20, 0]))
}, 120_000)
