// A scenario can be checked and activated as the text of a file: an error is reported at its line, and nothing changes then.
import { afterAll, expect, test } from 'bun:test'
import { testApps } from '../support/app.ts'
import { CHAT, user } from '../support/chat.ts'

const { appWith, close } = testApps()
const app = appWith()
afterAll(close)

const BUSY = `# Every call is refused.
name: busy
rules:
  - name: often
    fault: { type: http-error, status: 429 }
`
const check = async (text: string) => (await app.post('/_understudy/scenario/check', { text })).json()
const play = (body: object, session = 'default') =>
  app.fetch(`/s/${session}/_understudy/scenario`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

test('scenario text: is valid with the lines of rules that can never be triggered', async () => {
  expect(await check(BUSY)).toEqual({ valid: true, name: 'busy', problems: [], warnings: [] })
  const idle = `${BUSY}  - name: never\n    when: { probability: 0 }\n    fault: { type: reset }\n`
  expect(await check(idle)).toMatchObject({ valid: true, warnings: [{ line: 6, message: expect.any(String) }] })
})

const BROKEN: [string, string, number, RegExp][] = [
  ['an unknown fault', BUSY.replace('http-error', 'http-errr'), 5, /http-error/],
  ['an invalid status', BUSY.replace('429', '9'), 5, /status/],
  ['invalid YAML', BUSY.replace('name: often', 'name: "often'), 4, /quot/],
  ['an empty text', '', 1, /scenario/],
  ['a list', '- 1\n', 1, /object/],
]
test.each(BROKEN)('scenario text: is rejected at its line for %s', async (_, text, line, says) => {
  const { valid, problems } = (await check(text)) as { valid: boolean; problems: { line: number; message: string }[] }
  expect([valid, problems[0]?.line]).toEqual([false, line])
  expect(problems[0]?.message).toMatch(says)
  const refused = await play({ text })
  expect(refused.status).toBe(400)
  expect((await app.fetch('/_understudy/scenario')).json().scenario).toBeNull()
})

test('scenario text: is shown as it was written, with comments', async () => {
  expect((await play({ text: BUSY }, 'text')).json()).toMatchObject({
    scenario: 'busy',
    text: BUSY,
    from: 'the request',
  })
  expect((await app.post(`/s/text${CHAT}`, { model: 'openai/gpt-4o', ...user('Hi') })).status).toBe(429)
  const begun = await app.post('/_understudy/sessions', { name: 'begun', scenario: { text: BUSY } })
  expect(begun.json()).toMatchObject({ scenario: 'busy' })
})

test('scenario text: exists for shipped scenarios and those of requests', async () => {
  expect((await play({ name: 'outage' }, 'shipped')).json().text).toStartWith('#')
  const rules = [{ name: 'often', fault: { type: 'http-error', status: 429 } }]
  const { text } = (await play({ name: 'own', rules }, 'own')).json() as { text: string }
  expect(await check(text)).toMatchObject({ valid: true, name: 'own' })
})
