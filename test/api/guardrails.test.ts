// Guardrails over HTTP: what they block, what they pass, and what the trace contains.
import { afterAll, describe, expect, test } from 'bun:test'
import { type Answer, createTestApp, eventsOf } from '../support/app.ts'
import { errorOf } from '../support/errors.ts'
import { emptyFolder } from '../support/server.ts'

const CHAT = '/v2/router/chat/completions'
const RESPONSES = '/v2/router/responses'
const MODEL = 'openai/gpt-4o'

const folder = emptyFolder()
await Bun.write(
  `${folder.path}/chat.completions/judge.yaml`,
  `- match: { model: openai/judge, user: { regex: 'polite[^]*(damn|awful)' } }
  reply: { content: '{"value": false}' }
- match: { model: openai/judge, user: { contains: 'polite' } }
  reply: { content: 'Yes.' }
- match: { model: openai/judge, user: { contains: 'How nice' } }
  replies: [{ content: '2' }, { content: '5' }, { content: '{"value": 8}' }]
- match: { model: openai/judge, user: { contains: 'topic' } }
  replies: [{ content: 'Refunds' }, { content: shipping }, { content: refunds }]
- match: { model: openai/judge, user: { contains: 'confused' } }
  reply: { content: 'I would rather not say.' }
- match: { model: openai/judge, user: { contains: 'asked' } }
  reply: { content: '{{prompt.user}}' }
- match: { user: { equals: 'Give me an address' } }
  reply: { content: 'Write to ada@example.com.' }
- match: { user: { equals: 'Give me a ticket' } }
  reply: { content: '{"subject": "Lamp", "urgent": "very"}' }
- match: { user: { equals: 'Be rude' } }
  reply: { content: 'That is a damn shame.' }
`,
)
const app = createTestApp({ fixtures: [folder.path] })
afterAll(() => {
  app.close()
  folder.remove()
})

const passing = (value: object) => ({ enabled: true, ...value })
const TRUE = passing({ type: 'boolean', value: true })
const llm = (fields: object) => ({
  type: 'llm_eval',
  mode: 'single',
  path: 'Default',
  model: 'openai/judge',
  ...fields,
})
const made = async (fields: object): Promise<string> => {
  const answer = await app.post('/v2/evaluators', fields)
  expect({ status: answer.status, text: answer.text }).toEqual({ status: 200, text: expect.any(String) })
  return String(answer.json()._id)
}
const SCHEMA = { type: 'object', properties: { subject: { type: 'string' }, urgent: { type: 'boolean' } } }
const polite = await made(llm({ key: 'polite', prompt: 'Is it polite? {{log.output}}', guardrail_config: TRUE }))
for (const evaluator of [
  llm({ key: 'alarm', prompt: 'Is it polite? {{log.output}}', guardrail_config: { ...TRUE, alert_on_failure: true } }),
  llm({ key: 'off', prompt: 'Is it polite? {{log.output}}', guardrail_config: { ...TRUE, enabled: false } }),
  llm({ key: 'bare', prompt: 'Is it polite? {{log.output}}' }),
  llm({ key: 'behind', prompt: 'Is this polite?', guardrail_config: TRUE }),
  llm({ key: 'rude', prompt: 'Is it polite? {{log.output}}', guardrail_config: { ...TRUE, value: false } }),
  llm({
    key: 'nice',
    prompt: 'How nice? {{log.output}}',
    repetitions: 3,
    output_type: 'number',
    guardrail_config: passing({ type: 'number', value: 5, operator: 'gte' }),
  }),
  llm({
    key: 'topic',
    prompt: 'What topic? {{log.output}}',
    repetitions: 3,
    categories: ['shipping', 'refunds'],
    guardrail_config: passing({ type: 'categorical', values: ['shipping'] }),
  }),
  llm({ key: 'confused', prompt: 'Are you confused by {{log.output}}?', guardrail_config: TRUE }),
  llm({
    key: 'both',
    prompt: 'asked: {{log.input}}, said: {{log.output}}',
    output_type: 'string',
    guardrail_config: passing({ type: 'categorical', values: ['asked: Be rude, said: That is a damn shame.'] }),
  }),
  llm({
    key: 'unscripted',
    model: 'openai/gpt-4o',
    prompt: 'Rate it from 1 to 5: {{log.output}}',
    guardrail_config: passing({ type: 'number', value: 4, operator: 'gt' }),
  }),
  { type: 'json_schema', key: 'ticket', path: 'Default', schema: SCHEMA, guardrail_config: TRUE },
  { type: 'json_schema', key: 'broken', path: 'Default', schema: { type: 12 }, guardrail_config: TRUE },
])
  await made(evaluator)

interface Asking {
  say: string
  guard: string
  on?: 'input' | 'output'
  stream?: boolean
  more?: object
}
/** Asks for a chat completion. */
const ask = ({ say, guard, on = 'input', stream = false, more = {} }: Asking): Promise<Answer> =>
  app.post(CHAT, {
    model: MODEL,
    messages: [{ role: 'user', content: say }],
    guardrails: [{ id: guard, execute_on: on }],
    stream,
    ...more,
  })
/** The records of its guardrails. */
const guardsOf = async (answer: Answer) => (await app.traceOf(answer)).guardrails

const FORMS = [
  ['whole', false],
  ['streamed', true],
] as const

type Blocked = [what: string, say: string, guard: string, on: 'input' | 'output', reason: string]
const BLOCKED: Blocked[] = [
  ['personal data', 'Mail ada@example.com', 'svc_pii_detection', 'input', 'it contains an e-mail address'],
  ['personal data in a response', 'Give me an address', 'svc_pii_detection', 'output', 'it contains an e-mail address'],
  ['harmful content', 'How do I build a bomb?', 'svc_harmful_moderation', 'input', 'it is about weapons'],
  ['sexual content', 'Send me nudes!', 'svc_sexual_moderation', 'input', 'it is about pornography'],
  ['content that a model objects to', 'That was awful', 'polite', 'input', 'it gave false, and what passes is true'],
  ['a response that a model objects to', 'Be rude', 'polite', 'output', 'it gave false, and what passes is true'],
  ["content by the evaluator's id", 'That was awful', polite, 'input', 'it gave false, and what passes is true'],
  [
    'content by a prompt that has no placeholder',
    'That was awful',
    'behind',
    'input',
    'it gave false, and what passes is true',
  ],
  ['a forbidden value', 'That was kind', 'rude', 'input', 'it gave true, and what passes is false'],
  [
    'an unreadable verdict',
    'anything',
    'confused',
    'input',
    'its model returned "I would rather not say.", which is not true or false',
  ],
  [
    'a response that violates a schema',
    'Give me a ticket',
    'ticket',
    'output',
    '/urgent: Instance type "string" is invalid. Expected "boolean".',
  ],
  ['a response that is not JSON', 'Hello', 'ticket', 'output', 'it is not JSON'],
]

describe.each(FORMS)('guardrails on a %s call', (_, stream) => {
  test.each(BLOCKED.filter(([, , , on]) => !stream || on === 'input'))(
    'block %s',
    async (_, say, guard, on, reason) => {
      const answer = await ask({ say, guard, on, stream })
      const error = errorOf(answer.text, 422)
      expect(error).toMatchObject({
        code: 'guardrail_violation',
        type: 'invalid_request_error',
        param: 'guardrails[0]',
      })
      expect(error.message).toBe(`the ${on} does not pass the guardrail ${JSON.stringify(guard)}: ${reason}`)
      expect(answer.headers.get('x-understudy-attempts')).toBe(on === 'input' ? '0' : '1')
      const trace = await app.traceOf(answer)
      expect(trace).toMatchObject({
        status: 422,
        outcome: 'http_error',
        guardrails: [{ id: guard, stage: on, outcome: 'blocked', reason }],
      })
    },
  )

  test.each<[id: string, say: string, outcome: string, reason: string | null]>([
    ['svc_pii_detection', 'Where is my parcel?', 'passed', null],
    ['polite', 'That was kind', 'passed', null],
    ['alarm', 'That was awful', 'alerted', 'it gave false, and what passes is true'],
    ['off', 'That was awful', 'unchecked', 'its guardrail_config is not enabled'],
    ['ticket', '{"subject": "Lamp"}', 'passed', null],
  ])('continue with %s for %p', async (id, say, outcome, reason) => {
    const answer = await ask({ say, guard: id, stream })
    expect(answer.status).toBe(200)
    expect(await guardsOf(answer)).toMatchObject([{ id, stage: 'input', outcome, reason }])
  })

  test.each<[what: string, guard: string, status: number, code: string, words: string]>([
    [
      'an unknown guardrail',
      'svc_politeness',
      404,
      'guardrail_not_found',
      'built in: svc_pii_detection, svc_sexual_moderation, svc_harmful_moderation',
    ],
    [
      'an evaluator without a pass condition',
      'bare',
      400,
      'guardrail_not_configured',
      '"bare" has no guardrail_config',
    ],
  ])('reject %s before any model is called', async (_, guard, status, code, words) => {
    const guardrails = [
      { id: 'polite', execute_on: 'input' },
      { id: guard, execute_on: 'output' },
    ]
    const answer = await ask({ say: 'Hello', guard, stream, more: { guardrails } })
    const error = errorOf(answer.text, status)
    expect(error).toMatchObject({ code, param: 'guardrails[1].id', message: expect.stringContaining(words) })
    expect(await app.traceOf(answer)).toMatchObject({ status, guardrails: [], attempts: [] })
  })

  test('run in order up to the first that blocks', async () => {
    const guardrails = ['alarm', 'svc_pii_detection', 'polite', 'svc_harmful_moderation'].map((id) => ({
      id,
      execute_on: 'input',
    }))
    const answer = await ask({ say: 'That was awful', guard: '', stream, more: { guardrails } })
    expect(errorOf(answer.text, 422).param).toBe('guardrails[2]')
    const outcomes = (await guardsOf(answer)).map(({ id, outcome }) => [id, outcome])
    expect(outcomes).toEqual([
      ['alarm', 'alerted'],
      ['svc_pii_detection', 'passed'],
      ['polite', 'blocked'],
    ])
  })

  test('share cached responses only under the same guardrails', async () => {
    const cache = { type: 'exact_match', ttl: 60 }
    const say = `Give me an address${stream ? ' ' : ''}`
    const call = (guards: string[], words = say) => {
      const guardrails = guards.map((id) => ({ id, execute_on: 'input' }))
      return ask({ say: words, guard: '', stream, more: { guardrails, cache } })
    }
    const answers = [
      await call([]),
      await call(['polite']),
      await call(['polite', 'alarm']),
      await call(['polite']),
      await call([]),
    ]
    expect(answers.map(({ headers }) => headers.get('x-understudy-cache'))).toEqual([
      'miss',
      'miss',
      'miss',
      'hit',
      'hit',
    ])
  })
})

test('cached response: is not returned when a guardrail now blocks it', async () => {
  const cache = { type: 'exact_match', ttl: 60 }
  const call = (stream: boolean) =>
    ask({ say: 'Give me an address', guard: 'svc_pii_detection', on: 'output', stream, more: { cache } })
  // A stream is told while it is made, so it is stored unchecked.
  const streamed = await call(true)
  expect(streamed.status).toBe(200)
  const whole = await call(false)
  expect(errorOf(whole.text, 422).message).toContain('an e-mail address')
  expect(whole.headers.get('x-understudy-cache')).toBe('hit')
})

test('streamed response: is not checked by guardrails, and the trace says so', async () => {
  const answer = await ask({ say: 'Give me an address', guard: 'svc_pii_detection', on: 'output', stream: true })
  expect(eventsOf(answer.text).at(-1)).toBe('[DONE]')
  expect(await guardsOf(answer)).toMatchObject([
    {
      id: 'svc_pii_detection',
      stage: 'output',
      outcome: 'unchecked',
      reason: 'the response is a stream',
      evaluation: null,
    },
  ])
})

test('input guardrail: checks all user messages and nothing else', async () => {
  const call = (messages: object[]) => ask({ say: '', guard: 'svc_pii_detection', more: { messages } })
  const secret = 'Write to ada@example.com'
  const last = { role: 'user', content: 'And now?' }
  const early = await call([
    { role: 'user', content: [{ type: 'text', text: secret }] },
    { role: 'assistant', content: 'No.' },
    last,
  ])
  expect(early.status).toBe(422)
  const system = await call([{ role: 'system', content: secret }, { role: 'assistant', content: secret }, last])
  expect(system.status).toBe(200)
})

test('responses API: applies guardrails', async () => {
  const call = (input: string, execute_on: string) =>
    app.post(RESPONSES, { model: MODEL, input, guardrails: [{ id: 'svc_pii_detection', execute_on }] })
  const blocked = await call('Mail ada@example.com', 'input')
  expect(errorOf(blocked.text, 422).code).toBe('guardrail_violation')
  const echoed = await call('Mail ada@example.com', 'output')
  expect(errorOf(echoed.text, 422).message).toContain('the output does not pass')
  expect((await call('Hello', 'input')).status).toBe(200)
})

test('built-in guardrails: have the namespace as prefix', async () => {
  const acme = createTestApp({ namespace: 'acme' })
  const call = (id: string) =>
    acme.post(CHAT, {
      model: MODEL,
      messages: [{ role: 'user', content: 'Mail ada@example.com' }],
      guardrails: [{ id, execute_on: 'input' }],
    })
  expect(errorOf((await call('acme_pii_detection')).text, 422).message).toContain('"acme_pii_detection"')
  expect(errorOf((await call('svc_pii_detection')).text, 404).message).toContain('built in: acme_pii_detection')
  await acme.post('/v2/evaluators', {
    type: 'json_schema',
    key: 'acme_json',
    path: 'Default',
    schema: {},
    guardrail_config: TRUE,
  })
  expect(errorOf((await call('acme_json')).text, 422).message).toContain('it is not JSON')
  acme.close()
})

describe('guardrail evaluator', () => {
  const run = async (id: string, body: object) => {
    const answer = await app.post(`/_understudy/evaluators/${id}/run`, body)
    expect({ status: answer.status, text: answer.text }).toEqual({ status: 200, text: expect.any(String) })
    return answer.json()
  }
  test.each<[id: string, text: string, says: object]>([
    [
      'polite',
      'a damn shame',
      { key: 'polite', value: false, passed: false, reason: null, model: 'openai/judge', generated: false },
    ],
    [polite, 'a fine day', { key: 'polite', value: true, passed: true }],
    ['bare', 'a fine day', { value: true, passed: null }],
    ['nice', 'a fine day', { value: 5, passed: true }],
    ['topic', 'money back', { value: 'refunds', passed: false }],
    ['confused', 'this', { value: null, passed: false, reason: expect.stringContaining('which is not true or false') }],
    ['unscripted', 'a fine day', { value: 5, passed: true, generated: true, fixture: null, model: 'openai/gpt-4o' }],
    [
      'ticket',
      '{"subject": 3}',
      { value: false, passed: false, model: null, reason: expect.stringContaining('subject') },
    ],
    ['ticket', '{"subject": "Lamp"}', { value: true, passed: true, reason: null }],
    ['svc_pii_detection', 'I am at 203.0.113.7', { passed: false, reason: 'it contains an IP address' }],
  ])('%s judges %p', async (id, text, says) => {
    expect(await run(id, { text })).toMatchObject(says)
  })

  test('sees the input beside the output', async () => {
    expect(await run('both', { text: 'Fine', input: 'How?' })).toMatchObject({ value: 'asked: How?, said: Fine' })
    const answer = await ask({ say: 'Be rude', guard: 'both', on: 'output' })
    expect(answer.status).toBe(200)
    expect(await guardsOf(answer)).toMatchObject([
      { outcome: 'passed', evaluation: { model: 'openai/judge', generated: false } },
    ])
  })

  test('does not block other calls with a pattern that backtracks', async () => {
    const schema = { type: 'string', pattern: '^(a+)+$' }
    await made({ type: 'json_schema', key: 'slow', path: 'Default', schema, guardrail_config: TRUE })
    const text = JSON.stringify(`${'a'.repeat(40)}!`)
    const slow = app.post('/_understudy/evaluators/slow/run', { text })
    const first = await Promise.race([slow, ask({ say: 'Be rude', guard: 'polite' })])
    expect(first.json()).toMatchObject({ object: 'chat.completion' })
    expect((await slow).json()).toMatchObject({ value: false })
  })

  test.each<[what: string, id: string, body: object, status: number, words: string]>([
    ['does not exist', 'nobody', { text: 'x' }, 404, 'nobody'],
    ['gets no text', 'polite', {}, 400, 'text'],
    ['has a broken schema', 'broken', { text: '{}' }, 400, '"broken" failed: its schema is malformed'],
  ])('that %s is rejected', async (_, id, body, status, words) => {
    const answer = await app.post(`/_understudy/evaluators/${id}/run`, body)
    expect(errorOf(answer.text, status).message).toContain(words)
  })

  test('fails without a fixture for its model when one is required', async () => {
    const strict = createTestApp({ on_unmatched: 'error' })
    const fields = llm({ key: 'lonely', prompt: 'Well?', guardrail_config: TRUE })
    await strict.post('/v2/evaluators', fields)
    const answer = await strict.post(CHAT, {
      model: MODEL,
      messages: [{ role: 'user', content: 'Hi' }],
      guardrails: [{ id: 'lonely', execute_on: 'input' }],
    })
    expect(errorOf(answer.text, 404).message).toContain('the evaluator "lonely" failed: no fixture matches')
    strict.close()
  })

  test('of another session is unknown', async () => {
    const answer = await app.post(`/s/other${CHAT}`, {
      model: MODEL,
      messages: [{ role: 'user', content: 'Hi' }],
      guardrails: [{ id: 'polite', execute_on: 'input' }],
    })
    expect(errorOf(answer.text, 404).code).toBe('guardrail_not_found')
  })
})

test('guardrails: leave the same traces for the same calls and seed', async () => {
  const play = async () => {
    const one = createTestApp({ fixtures: [folder.path] })
    await one.post(
      '/v2/evaluators',
      llm({ key: 'polite', prompt: 'Is it polite? {{log.output}}', guardrail_config: TRUE }),
    )
    const texts = ['That was awful', 'That was kind', 'Mail ada@example.com']
    const traces = []
    for (const content of texts) {
      const guardrails = ['polite', 'svc_pii_detection'].map((id) => ({ id, execute_on: 'input' }))
      traces.push(
        await one.traceOf(await one.post(CHAT, { model: MODEL, messages: [{ role: 'user', content }], guardrails })),
      )
    }
    one.close()
    return traces
  }
  expect(await play()).toEqual(await play())
})
