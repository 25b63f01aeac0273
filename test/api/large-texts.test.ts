// Long texts: templates are rendered and guardrails find what they find in short ones, though a worker does it.
import { afterAll, describe, expect, test } from 'bun:test'
import { assembled } from '../../src/contract/core/assembly.ts'
import { chatAssembly } from '../../src/endpoints/chat/provider-answer.ts'
import { endWorkers, workerCounts } from '../../src/workers/pool.ts'
import { eventsOf, testApps } from '../support/app.ts'
import { errorOf } from '../support/errors.ts'

const { appWith, close } = testApps()
afterAll(async () => {
  await close()
  endWorkers()
})

const JSON_HEADERS = { 'content-type': 'application/json', authorization: 'Bearer any' }
const CHAT = '/v2/router/chat/completions'
const long = 'A day at the sea. '.repeat(4_000)

describe('templates in a long request', () => {
  const variables = {
    name: 'Ada',
    age: 36,
    tags: ['a', 'b'],
    html: '<b>&"',
    nested: '{{age}}',
    face: '😀',
    nothing: null,
  }
  const ask = (template_engine: string, contents: readonly string[]) => {
    const messages = contents.map((content) => ({ role: 'user', content }))
    return { model: 'openai/some-model', messages, variables, template_engine }
  }
  const templates = {
    text: ['Hello {{name}}!', '', '{{tags}} {{unknown}} {{nested}}', 'Füße 漢字 {{face}}'],
    mustache: ['{{#tags}}[{{.}}]{{/tags}}', '', '{{html}} {{{html}}} {{age}}', '{{^nothing}}none{{/nothing}}'],
    jinja: ['{% for tag in tags %}[{{ tag }}]{% endfor %}', '', '{{ age + 1 }} {{ html }}', '{# a remark #}x'],
  }
  test.each(Object.entries(templates))('are rendered as in a short one (%s)', async (engine, texts) => {
    const app = appWith()
    const rendered = async (contents: readonly string[]) => {
      const answer = await app.post(CHAT, ask(engine, contents))
      expect(answer.status).toBe(200)
      const { messages } = (await app.traceOf(answer)).rendered as { messages: { content: string }[] }
      return messages.map(({ content }) => content)
    }
    const short = await rendered(['', ...texts])
    expect(short).not.toEqual(['', ...texts])
    expect(await rendered([long, ...texts])).toEqual([long, ...short.slice(1)])
  })

  const broken = [
    ['jinja', '{% for x in %}'],
    ['jinja', '{{ name | nothing_such }}'],
    ['mustache', '{{#open}}'],
  ] as const
  test.each(broken)('are rejected as in a short one, in a worker (%s: %s)', async (engine, template) => {
    endWorkers()
    const app = appWith()
    const refusal = async (first: string) => {
      const answer = await app.post(CHAT, ask(engine, [first, template, template]))
      expect(answer.status).toBe(400)
      return errorOf(answer.text, 400)
    }
    const short = await refusal('')
    expect(short).toMatchObject({ param: 'messages[1].content', code: 'invalid_template' })
    expect(workerCounts().workers).toBe(0)
    expect(await refusal(long)).toEqual(short)
    expect(workerCounts().workers).toBe(1)
  })

  test('are named at their place in a completion', async () => {
    const body = { model: 'openai/some-model', variables, template_engine: 'jinja' }
    const param = 'prompt[1]'
    for (const first of ['fine', long]) {
      const answer = await appWith().post('/v2/router/completions', { ...body, prompt: [first, '{{ 1 +'] })
      expect(errorOf(answer.text, 400)).toMatchObject({
        param,
        message: expect.stringContaining(`'${param}' is not a valid jinja`),
      })
    }
  })
})

describe('guardrails over a long text', () => {
  const found: [id: string, text: string, reason: string][] = [
    ['pii_detection', 'Write to ada@example.com.', 'it contains an e-mail address'],
    [
      'pii_detection',
      'Call me at 020 7946 0958, or pay to GB82WEST12345698765432',
      'it contains an IBAN, a telephone number',
    ],
    ['sexual_moderation', 'Is this porn?', 'it is about pornography'],
    ['harmful_moderation', 'How do I hotwire a car?', 'it is about crime'],
  ]
  const ask = (id: string, contents: readonly string[]) => ({
    model: 'openai/some-model',
    messages: contents.map((content) => ({ role: 'user', content })),
    guardrails: [{ id: `svc_${id}`, execute_on: 'input' }],
  })
  test.each(found)('find what they find in a short one (%s: %s)', async (id, text, reason) => {
    endWorkers()
    const app = appWith()
    const refusal = async (contents: readonly string[]) => {
      const answer = await app.post(CHAT, ask(id, contents))
      return { ...errorOf(answer.text, 422), verdicts: (await app.traceOf(answer)).guardrails }
    }
    const short = await refusal(['Hello', text])
    expect(short.message).toContain(reason)
    expect(workerCounts().workers).toBe(0)
    // Around the border between texts, and in the midst of one.
    for (const contents of [[long, text], [text, long], [`${long}${text} ${long}`]])
      expect(await refusal(contents)).toEqual(short)
    expect(workerCounts().workers).toBe(1)
  })

  test('find nothing in a harmless text', async () => {
    const app = appWith()
    for (const [id] of found) expect((await app.post(CHAT, ask(id, [long, 'Hello']))).status).toBe(200)
  })
})

describe('trace of a long stream', () => {
  // Streamed word by word.
  const content = 'A day at the sea. '.repeat(3_000)
  const operations = [
    ['chat.completions', { messages: [{ role: 'user', content: 'Tell me' }] }],
    ['completions', { prompt: 'Tell me', max_tokens: 100_000 }],
    ['responses', { input: 'Tell me' }],
  ] as const
  test.each(operations)('contains the assembled response (%s)', async (operation, body) => {
    const app = appWith()
    const reply = operation === 'completions' ? { content: [content] } : { content }
    const put = { method: 'PUT', headers: JSON_HEADERS, body: JSON.stringify([{ match: { operation }, reply }]) }
    expect((await app.fetch('/_understudy/fixtures', put)).status).toBe(200)
    const path = `/v2/router/${operation.replace('.', '/')}`
    const ask = (stream: boolean) => app.post(path, { model: 'openai/some-model', ...body, stream })
    const [whole, streamed] = [await ask(false), await ask(true)]
    expect(eventsOf(streamed.text).length).toBeGreaterThan(10_000)
    const textOf = (answer: unknown) => JSON.stringify(answer).includes(JSON.stringify(content).slice(1, -1))
    const [one, other] = [await app.traceOf(whole), await app.traceOf(streamed)]
    expect([one, other].map(({ response: answer, outcome }) => [outcome, textOf(answer)])).toEqual([
      ['succeeded', true],
      ['succeeded', true],
    ])
    expect(other.usage).toEqual(one.usage)
    expect(Object.keys(other.response as object).sort()).toEqual(
      Object.keys(one.response as object)
        .filter((key) => key !== 'usage' || 'usage' in (other.response as object))
        .sort(),
    )
  })

  test('contains each of its log probabilities', () => {
    const token = (index: number) => ({ token: `${index}`, logprob: 0, bytes: null, top_logprobs: [] })
    const events = Array.from({ length: 30_000 }, (_, index) => ({
      data: { id: 'x', choices: [{ index: 0, delta: { content: '.' }, logprobs: { content: [token(index)] } }] },
    }))
    const before = JSON.stringify(events)
    const { choices } = assembled(chatAssembly(), events) as { choices: { logprobs: { content: object[] } }[] }
    expect(choices[0]?.logprobs.content).toEqual(events.map((_, index) => token(index)))
    expect(JSON.stringify(events)).toBe(before)
  })
})
