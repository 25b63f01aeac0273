// What determines the text of a response and its end: verbosity, seed, limits, stop sequences, refusals, the number of choices.
import { afterAll, describe, expect, test } from 'bun:test'
import { createTestApp } from '../support/app.ts'
import { both, FIXTURES, messageOf, refused, user, whole } from '../support/chat.ts'

const app = createTestApp({ fixtures: [FIXTURES], shipped_fixtures: true })
afterAll(app.close)

const contentOf = async (patch: object) => messageOf(await both(app, patch)).content ?? ''

test('verbosity: shortens the response when low and defaults to medium when unknown', async () => {
  const texts = await Promise.all(['low', 'medium', 'high', 'chatty'].map((verbosity) => contentOf({ verbosity })))
  const [low = '', medium = '', high = '', unknown = ''] = texts
  expect(medium).toStartWith(low)
  expect(high).toStartWith(medium)
  expect([low, medium, high].map(({ length }) => length)).toEqual(
    [low, medium, high].map(({ length }) => length).toSorted((a, b) => a - b),
  )
  expect(low.length < medium.length && medium.length < high.length).toBe(true)
  expect([unknown, await contentOf({})]).toEqual([medium, medium])
})

describe('same seed and request', () => {
  const patches: [string, object][] = [
    ['text', { seed: 7, temperature: 1.9 }],
    ['negative', { seed: -7 }],
    ['logprobs', { seed: 7, logprobs: true, top_logprobs: 3 }],
    ['arguments', { seed: 7, tools: [{ function: { name: 'f', parameters: {} } }], tool_choice: 'required' }],
  ]
  test.each(patches)('give the same response: %s', async (_, patch) => {
    const [one, two] = [await both(app, patch), await both(app, patch)]
    expect(one.id).not.toBe(two.id)
    expect(one.system_fingerprint).toBe(two.system_fingerprint as string)
    const plain = ({ choices }: typeof one) => JSON.stringify(choices).replace(/call_\w+/g, 'id')
    expect(plain(two)).toBe(plain(one))
  })

  test('give the same bytes in another program', async () => {
    const bodies = [{ seed: 1 }, user('count'), { logprobs: true, n: 2 }, { stream: true }]
    const run = async () => {
      const other = createTestApp({ fixtures: [FIXTURES], shipped_fixtures: true })
      const texts: string[] = []
      const asked = { model: 'openai/gpt-4o', ...user('x') }
      for (const body of bodies) {
        texts.push((await other.post('/v2/router/chat/completions', { ...asked, ...body })).text)
      }
      other.close()
      return texts
    }
    expect(await run()).toEqual(await run())
  })
})

describe('refusal', () => {
  test('replaces the content and counts as completion tokens', async () => {
    const { choices, usage } = await both(app, user('no way'))
    expect(choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: null, refusal: 'No.', reasoning: 'I must not.' },
    })
    expect(usage.completion_tokens).toBe(2 + usage.completion_tokens_details.reasoning_tokens)
  })

  test('may answer a call for JSON', async () => {
    const schema = { type: 'object', properties: {}, additionalProperties: false }
    const response_format = { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } }
    const message = messageOf(await both(app, { response_format, ...user('please refuse') }))
    expect(message).toMatchObject({ content: null, refusal: expect.stringContaining('cannot') })
  })

  test('in the history counts as no content', async () => {
    const messages = [
      ...user('x').messages,
      { role: 'assistant', content: null, refusal: 'No.' },
      { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
      ...user('count').messages,
    ]
    expect(await contentOf({ messages })).toStartWith('one')
  })
})

describe('end of a response', () => {
  const rows: [string, object, string, string][] = [
    ['max_tokens', { max_tokens: 3 }, 'one two three', 'length'],
    ['max_completion_tokens over max_tokens', { max_completion_tokens: 2, max_tokens: 5 }, 'one two', 'length'],
    ['a limit that is exactly enough', { max_completion_tokens: 8 }, 'one two three four five six seven eight', 'stop'],
    ['one stop sequence', { stop: ' four' }, 'one two three', 'stop'],
    ['the first of four stop sequences', { stop: ['eight', 'seven', ' five', 'six'] }, 'one two three four', 'stop'],
    ['a stop sequence within a token', { stop: 'ur' }, 'one two three fo', 'stop'],
    ['a stop sequence at the start', { stop: 'one' }, '', 'stop'],
    ['no stop sequences', { stop: [] }, 'one two three four five six seven eight', 'stop'],
    ['an empty stop sequence', { stop: '' }, 'one two three four five six seven eight', 'stop'],
    ['a limit before a stop sequence', { stop: ' four', max_tokens: 2 }, 'one two', 'length'],
  ]
  test.each(rows)('is right with %s', async (_, patch, content, finish) => {
    const { choices } = await both(app, { ...patch, ...user('count') })
    expect([choices[0]?.message.content ?? null, choices[0]?.finish_reason ?? null]).toEqual([content, finish])
  })

  test('never cuts a character in two', async () => {
    for (let max_tokens = 1; max_tokens < 12; max_tokens++) {
      const { choices, usage } = await both(app, { max_tokens, ...user('greek') })
      const content = choices[0]?.message.content ?? ''
      expect('Γειά σου 👋🏽 Κόσμε').toStartWith(content)
      expect(content).not.toContain('\uFFFD')
      expect(usage.completion_tokens).toBeLessThanOrEqual(max_tokens)
    }
  })

  test('follows the fixture', async () => {
    expect((await both(app, user('filter'))).choices[0]).toMatchObject({
      finish_reason: 'content_filter',
      message: { content: 'I would' },
    })
  })
})

test('n choices: cost n completions and one prompt', async () => {
  const [one, five] = [await both(app, user('count')), await both(app, { n: 5, ...user('count') })]
  expect(five.choices.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4])
  expect(five.usage).toMatchObject({
    prompt_tokens: one.usage.prompt_tokens,
    completion_tokens: 5 * one.usage.completion_tokens,
  })
})

describe('o1 models', () => {
  test.each(['openai/o1', 'openai/o1-mini', 'openai/o1-2024-12-17'])('%s rejects max_tokens', async (model) => {
    expect(await refused(app, { model, max_tokens: 9 })).toMatchObject({
      param: 'max_tokens',
      message: expect.stringContaining("'max_completion_tokens'"),
    })
    await whole(app, { model, max_completion_tokens: 9 })
    await whole(app, { model, max_tokens: null })
  })
})
