// rate-limit: what is counted, the headers of each provider meanwhile, and when the window opens again.
import { afterAll, expect, test } from 'bun:test'
import { type Answer, createTestApp } from '../support/app.ts'
import { errorOf } from '../support/errors.ts'
import { playing } from '../support/scenario.ts'

const app = createTestApp()
afterAll(app.close)

const counted = ({ headers }: Answer) =>
  Object.fromEntries([...headers].filter(([name]) => /ratelimit|retry-after|x-trial/.test(name)))

type Row = [model: string, first: object, second: object, refused: object]
const ROWS: Row[] = [
  [
    'openai/gpt-4o',
    {
      'x-ratelimit-limit-requests': '2',
      'x-ratelimit-remaining-requests': '1',
      'x-ratelimit-reset-requests': '1m30s',
      'x-ratelimit-limit-tokens': '1000',
      'x-ratelimit-remaining-tokens': '889',
      'x-ratelimit-reset-tokens': '1m30s',
    },
    { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-remaining-tokens': '778' },
    { 'retry-after': '90', 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-remaining-tokens': '778' },
  ],
  [
    'anthropic/claude-sonnet-4',
    {
      'anthropic-ratelimit-requests-limit': '2',
      'anthropic-ratelimit-requests-remaining': '1',
      'anthropic-ratelimit-requests-reset': '2025-01-01T00:01:30Z',
      'anthropic-ratelimit-tokens-limit': '1000',
      'anthropic-ratelimit-tokens-remaining': '889',
      'anthropic-ratelimit-tokens-reset': '2025-01-01T00:01:30Z',
    },
    { 'anthropic-ratelimit-requests-remaining': '0' },
    { 'retry-after': '90', 'anthropic-ratelimit-requests-remaining': '0' },
  ],
  [
    'mistral/mistral-large',
    {
      'x-ratelimit-limit-req-minute': '2',
      'x-ratelimit-remaining-req-minute': '1',
      'x-ratelimit-limit-tokens-minute': '1000',
      'x-ratelimit-remaining-tokens-minute': '889',
    },
    { 'x-ratelimit-remaining-req-minute': '0' },
    { 'retry-after': '90', 'x-ratelimit-remaining-req-minute': '0' },
  ],
  [
    'cohere/command-r',
    { 'x-trial-endpoint-call-limit': '2', 'x-trial-endpoint-call-remaining': '1' },
    { 'x-trial-endpoint-call-remaining': '0' },
    { 'retry-after': '90' },
  ],
  ['google/gemini-2.5-pro', {}, {}, {}],
  ['aws/claude', {}, {}, {}],
]

test.each([false, true])(
  "rate-limit: counts down requests in each provider's own headers (stream: %p)",
  async (stream) => {
    for (const [model, first, second, refused] of ROWS) {
      const { chat, rule } = await playing(app, [
        { fault: { type: 'rate-limit', requests: 2, tokens: 1000, per: '90s' } },
      ])
      const call = () => chat({ model, stream, max_tokens: 100 })
      const answers = [await call(), await call(), await call()]
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 429])
      expect(counted(answers[0] as Answer)).toEqual(first as never)
      expect(counted(answers[1] as Answer)).toMatchObject(second)
      expect(counted(answers[2] as Answer)).toMatchObject(refused)
      if (Object.keys(refused).length === 0) expect(counted(answers[2] as Answer)).toEqual({})
      errorOf(answers[2]?.text ?? '', 429)
      expect(await rule()).toMatchObject({ triggered: 3, applied: 1, skipped: { 'the quota was not exhausted': 2 } })
    }
  },
)

test("rate-limit: is overcome by the gateway's retry, which waits for the window to open", async () => {
  const { chat } = await playing(app, [{ fault: { type: 'rate-limit', requests: 1, per: '45s' } }])
  expect((await chat()).status).toBe(200)
  const answer = await chat({ retry: { count: 1 } })
  expect(answer.status).toBe(200)
  const { attempts } = await app.traceOf(answer)
  expect(attempts.map(({ status, wait_ms: wait }) => [status, wait])).toEqual([
    [429, 0],
    [200, 45_000],
  ])
  expect(answer.headers.get('x-ratelimit-remaining-requests')).toBe('0')
})

test.each([
  ['seconds', { 'retry-after': '45' }],
  ['date', { 'retry-after': 'Wed, 01 Jan 2025 00:00:45 GMT' }],
  ['ms', { 'retry-after-ms': '44500' }],
])('rate-limit: sends its retry time as %s, even for providers that usually send none', async (form, said) => {
  const fault = { type: 'rate-limit', requests: 0, per: '44500ms', retry_after_form: form }
  for (const model of ['openai/gpt-4o', 'google/gemini-2.5-pro', 'aws/claude']) {
    const { chat } = await playing(app, [{ fault }])
    const { headers } = await chat({ model })
    const names = ['retry-after', 'retry-after-ms'].filter((name) => headers.has(name))
    expect(Object.fromEntries(names.map((name) => [name, headers.get(name)]))).toEqual(said as never)
  }
})

test('rate-limit: counts input tokens and the maximum of output tokens, and nothing for a rejected call', async () => {
  const { chat } = await playing(app, [{ fault: { type: 'rate-limit', tokens: 500 } }])
  const left = async (patch: object) => (await chat(patch)).headers.get('x-ratelimit-remaining-tokens')
  expect(await left({ max_tokens: 200 })).toBe('289')
  expect(await left({ max_completion_tokens: 300 })).toBe('289')
  expect(await left({ max_completion_tokens: 100 })).toBe('178')
  const refused = await chat({ max_tokens: 200 })
  expect(errorOf(refused.text, 429)).toMatchObject({
    code: 'rate_limit_exceeded',
    message: expect.stringMatching(/gpt-4o on tokens per min \(TPM\): limit 500, requested 211\. .*60s/),
  })
})

test('rate-limit: has a window for each model, shared by all calls of the model at the gateway', async () => {
  const { chat } = await playing(app, [{ fault: { type: 'rate-limit', requests: 1 } }])
  expect((await chat()).status).toBe(200)
  expect((await chat({ model: 'openai/gpt-4o-mini' })).status).toBe(200)
  expect((await chat({ fallbacks: [{ model: 'openai/o3' }] })).headers.get('x-understudy-model')).toBe('openai/o3')

  const front = await playing(app, [{ at: 'gateway', fault: { type: 'rate-limit', requests: 1 } }])
  expect((await front.chat({ model: 'anthropic/claude-sonnet-4' })).headers.get('x-ratelimit-remaining-requests')).toBe(
    '0',
  )
  const refused = await front.chat({ model: 'anthropic/claude-sonnet-4', retry: { count: 3 } })
  expect(errorOf(refused.text, 429).type).toBe('rate_limit_error')
  expect(refused.headers.get('retry-after')).toBe('60')
  expect((await app.traceOf(refused)).attempts).toEqual([])
})

test('rate-limit: has a window for each session', async () => {
  const rules = [{ fault: { type: 'rate-limit', requests: 1 } }]
  const [one, two] = [await playing(app, rules), await playing(app, rules)]
  expect([await one.chat(), await two.chat(), await one.chat(), await two.chat()].map(({ status }) => status)).toEqual([
    200, 200, 429, 429,
  ])
})
