// POST /v2/router/completions: requests, responses and errors.
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { encode } from 'gpt-tokenizer/encoding/cl100k_base'
import { countTokens, encodeTokens } from '../../src/lib/tokens.ts'
import { createTestApp, eventsOf, type TestApp } from '../support/app.ts'
import { errorOf } from '../support/errors.ts'
import { type StrictCompletion, strictCompletion } from '../support/strict/completions.ts'

const PATH = '/v2/router/completions'
const INSTRUCT = 'openai/gpt-3.5-turbo-instruct'
const COUNT =
  ' one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen'
const SIXTEEN = COUNT.replace(' seventeen', '')

const folder = mkdtempSync(join(tmpdir(), 'understudy-'))
const file = join(folder, 'completions.json')
const rows = [
  { match: { user: 'count' }, reply: { content: COUNT } },
  { match: { user: 'a\nb\nc' }, reply: { content: [' A', ' B'], usage: { prompt_tokens: 7 } } },
  { match: { user: 'filtered' }, reply: { content: ' no', finish_reason: 'content_filter' } },
  { match: { user: 'slow' }, reply: { content: ' a b c', timing: { first_token: '1s', tokens_per_second: 2 } } },
  { match: { user: { regex: '^say (?<what>.+)$' } }, reply: { content: ' {{captures.what}} from {{call.model}}' } },
]
writeFileSync(file, JSON.stringify(rows.map((row) => ({ ...row, match: { operation: 'completions', ...row.match } }))))
const app = createTestApp({ fixtures: [file] })
afterAll(async () => {
  await app.close()
  rmSync(folder, { recursive: true })
})

/** The answer to a request that is good, as a strict client reads it. */
async function complete(body: object, on: TestApp = app): Promise<StrictCompletion> {
  const answer = await on.post(PATH, { model: INSTRUCT, prompt: 'count', ...body })
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json'])
  return strictCompletion(answer.json())
}
const texts = async (body: object) => (await complete(body)).choices.map(({ text }) => text)

/** The chunks of a streamed answer, as a strict client reads them. */
async function chunks(body: object): Promise<StrictCompletion[]> {
  const { status, text } = await app.post(PATH, { model: INSTRUCT, prompt: 'count', stream: true, ...body })
  expect(status).toBe(200)
  const events = eventsOf(text)
  expect(events.pop()).toBe('[DONE]')
  return events.map(strictCompletion)
}

test('completion: has the fields of the specification', async () => {
  expect(await complete({})).toEqual({
    id: expect.stringMatching(/^cmpl-/),
    object: 'text_completion',
    created: expect.any(Number),
    model: INSTRUCT,
    system_fingerprint: expect.any(String),
    choices: [{ index: 0, text: SIXTEEN, finish_reason: 'length' }],
    usage: {
      prompt_tokens: 1,
      completion_tokens: 16,
      total_tokens: 17,
      prompt_tokens_details: expect.any(Object),
      completion_tokens_details: expect.any(Object),
    },
  })
})

const a = ' A'
const counts = [' one', ' one two', ' one two three'] as const
test.each<[what: string, body: object, expected: string[]]>([
  ['sixteen tokens when max_tokens is missing', {}, [SIXTEEN]],
  ['sixteen tokens when max_tokens is null', { max_tokens: null }, [SIXTEEN]],
  ['the whole text when it fits', { max_tokens: 17 }, [COUNT]],
  ['three tokens', { max_tokens: 3 }, [counts[2]]],
  ['no tokens', { max_tokens: 0 }, ['']],
  ['only the prompt', { max_tokens: 0, echo: true }, ['count']],
  ['the prompt before the text', { max_tokens: 1, echo: true }, ['count one']],
  ['the text before a stop sequence', { stop: ' three' }, [counts[1]]],
  ['the text before the first of several stop sequences', { stop: [' nine', ' two', 'x'] }, [counts[0]]],
  ['a stop sequence past the limit', { stop: ' three', max_tokens: 1 }, [counts[0]]],
  ['a stop sequence in the prompt alone', { stop: 'count', max_tokens: 1, echo: true }, ['count one']],
  ['several choices', { n: 3, max_tokens: 1 }, Array<string>(3).fill(counts[0])],
  ['a text for each prompt, repeating the last reply', { prompt: ['a', 'b', 'c'] }, [a, ' B', ' B']],
  ['several choices for each prompt', { prompt: ['a', 'b', 'c'], n: 2 }, [a, a, ' B', ' B', ' B', ' B']],
  ['each prompt before its text', { prompt: ['a', 'b', 'c'], echo: true }, ['a A', 'b B', 'c B']],
  ['a prompt of tokens', { prompt: encode('count'), max_tokens: 1, echo: true }, ['count one']],
  ['prompts of tokens', { prompt: ['a', 'b', 'c'].map((text) => encode(text)), echo: true }, ['a A', 'b B', 'c B']],
  [
    'tokens of a newer model',
    { model: 'ollama/x', prompt: encodeTokens('Grüße'), echo: true, max_tokens: 0 },
    ['Grüße'],
  ],
  ['tokens of an older model', { prompt: encode('Grüße'), echo: true, max_tokens: 0 }, ['Grüße']],
  ['one prompt in an array', { prompt: ['count'], max_tokens: 2 }, [counts[1]]],
  ['captures and the model in a fixture', { prompt: 'say cheese' }, [` cheese from ${INSTRUCT}`]],
  ['unknown fields', { suffix: ' end', logprobs: 2, best_of: 3, max_tokens: 1 }, [counts[0]]],
])('completion: is right with %s', async (_, body, expected) => {
  const { choices, usage } = await complete(body)
  expect(choices.map(({ text }) => text)).toEqual(expected)
  expect(choices.map(({ index }) => index)).toEqual(expected.map((_, index) => index))
  expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0))

  const streamed = await chunks({ ...body, stream_options: { include_usage: true } })
  const last = streamed.pop()
  expect(last).toMatchObject({ choices: [], usage: usage as object })
  const joined = expected.map((_, index) => streamed.flatMap((chunk) => chunk.choices).filter((c) => c.index === index))
  expect(joined.map((parts) => parts.map(({ text }) => text).join(''))).toEqual(expected)
  expect(joined.map((parts) => parts.at(-1)?.finish_reason)).toEqual(choices.map((choice) => choice.finish_reason))
  expect(new Set(streamed.map(({ id }) => id)).size).toBe(1)
})

test.each([
  ['length', { max_tokens: 16 }],
  ['stop', { max_tokens: 17 }],
  ['stop', { stop: ' three' }],
  ['content_filter', { prompt: 'filtered' }],
])('completion: ends with reason %s for %j', async (reason, body) => {
  expect((await complete(body)).choices[0]?.finish_reason).toBe(reason as 'stop')
})

test('completion usage: counts every prompt once and every choice, or follows the fixture', async () => {
  const twice = await complete({ prompt: ['count', 'count up'], n: 2, max_tokens: 4 })
  expect(twice.usage).toMatchObject({ prompt_tokens: 3, completion_tokens: 16, total_tokens: 19 })
  const echoed = await complete({ max_tokens: 4, echo: true })
  expect(echoed.usage).toMatchObject({ prompt_tokens: 1, completion_tokens: 4, total_tokens: 5 })
  const told = await complete({ prompt: ['a', 'b', 'c'] })
  expect(told.usage).toMatchObject({ prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 })
})

test('completion stream: ends with its last text when usage is not requested', async () => {
  const streamed = await chunks({ max_tokens: 2 })
  expect(streamed.map(({ choices }) => choices.map(({ text }) => text))).toEqual([[' one'], [' two'], ['']])
  expect(streamed.every(({ usage }) => usage === undefined)).toBe(true)
})

test('completion without a fixture: generates a text for each prompt, the same every time', async () => {
  const body = { prompt: ['Roses are red', 'Violets are blue'], max_tokens: 100 }
  const [roses = '', violets = ''] = await texts(body)
  expect([roses, violets]).toEqual(await texts(body))
  expect(roses).toContain('"Roses are red"')
  expect(violets).toContain('"Violets are blue"')
  expect(await texts({ ...body, prompt: '' })).toHaveLength(1)
})

test.each([
  ['text', 'say {{ what }} and {{who}}', 'ham and {{who}}'],
  ['jinja', 'say {% if what == "ham" %}{{ what | upper }}{% endif %}', 'HAM'],
  ['mustache', 'say {{#what}}<{{what}}>{{/what}}', '<ham>'],
])('completion variables: are rendered by the %s engine', async (template_engine, prompt, filled) => {
  const expected = [` ${filled} from ${INSTRUCT}`]
  const body = { template_engine, max_tokens: 50 }
  expect(await texts({ ...body, prompt, variables: { what: 'ham' } })).toEqual(expected)
  expect(await texts({ ...body, prompt: [prompt], svc: { inputs: { what: 'ham' } } })).toEqual(expected)
})

test('completion timing: takes equally long whole and streamed', async () => {
  for (const stream of [false, true]) {
    const answer = await app.post(PATH, { model: INSTRUCT, prompt: 'slow', stream })
    expect((await app.traceOf(answer)).duration_ms).toBe(2_000)
  }
})

test('completion trace: names the call, its usage, its cost and the response', async () => {
  const body = {
    model: INSTRUCT,
    prompt: ['count', 'Roses'],
    max_tokens: 4,
    name: 'nightly',
    metadata: { tier: 'x' },
    identity: { id: 'u' },
    thread: { id: 't', tags: ['one'] },
    suffix: '.',
  }
  const whole = await app.traceOf(await app.post(PATH, body))
  expect(whole).toMatchObject({
    operation: 'completions',
    name: 'nightly',
    model: INSTRUCT,
    stream: false,
    status: 200,
    usage: { prompt_tokens: 1 + countTokens('Roses'), completion_tokens: 8 },
    metadata: { tier: 'x' },
    identity: { id: 'u' },
    thread: { id: 't', tags: ['one'] },
    request: body,
    generated: true,
  })
  expect(whole.cost).toBeCloseTo(((1 + countTokens('Roses')) * 1.5 + 8 * 2) / 1e6, 9)
  const streamed = await app.traceOf(await app.post(PATH, { ...body, stream: true }))
  const answered = ({ response: answer }: typeof whole) => (answer as unknown as StrictCompletion).choices
  expect(streamed.stream).toBe(true)
  expect(answered(streamed)).toEqual(answered(whole))
})

test.each<[what: string, body: object, param: string, said: string[]]>([
  ['a missing prompt', { prompt: undefined }, 'prompt', ['must be a string']],
  ['an empty list of prompts', { prompt: [] }, 'prompt', ['at least 1 item', '[]']],
  ['too many prompts', { prompt: Array<string>(2049).fill('a') }, 'prompt', ['at most 2048']],
  ['a prompt that is a number', { prompt: 5 }, 'prompt', ['array of strings', '5']],
  ['a token that no model has', { prompt: [1, 199_998] }, 'prompt[1]', ['0 to 199997', '199998']],
  ['a token of newer models', { prompt: [[1, 100_256]] }, 'prompt[0][1]', ['cl100k', INSTRUCT, '100255', '100256']],
  ['a text among tokens', { prompt: [[1], 'a'] }, 'prompt[1]', ['array of tokens', '"a"']],
  ['a number among texts', { prompt: ['a', 1] }, 'prompt[1]', ['a string', '1']],
  ['a missing model', { model: undefined }, 'model', ['is required']],
  ['a provider without a model', { model: 'openai/' }, 'model', ['<provider>/<model>', '"openai/"']],
  ['a negative limit', { max_tokens: -1 }, 'max_tokens', ['at least 0', '-1']],
  ['a fractional token limit', { max_tokens: 1.5 }, 'max_tokens', ['integer', '1.5']],
  ['n of 0', { n: 0 }, 'n', ['at least 1', '0']],
  ['more choices than allowed', { prompt: Array<string>(30).fill('a'), n: 100 }, 'n', ['at most 2048']],
  ['five stop sequences', { stop: ['a', 'b', 'c', 'd', 'e'] }, 'stop', ['at most 4']],
  ['a penalty out of range', { frequency_penalty: 2.1 }, 'frequency_penalty', ['at most 2', '2.1']],
  ['a temperature out of range', { temperature: -0.1 }, 'temperature', ['at least 0']],
  ['a top_p out of range', { top_p: 1.1 }, 'top_p', ['at most 1', '1.1']],
  ['invalid stream options', { stream_options: {} }, 'stream_options', ["'stream'"]],
  ['17 pairs of metadata', { metadata: Object.fromEntries(Array(17).fill('v').entries()) }, 'metadata', ['at most 16']],
  ['a stored prompt', { svc: { prompt: { id: 'p' } } }, 'svc.prompt', ['not emulated']],
  ['thinking without a budget', { thinking: { type: 'enabled' } }, 'thinking.budget_tokens', ['is required']],
])('completion: rejects %s', async (_, body, param, said) => {
  const answer = await app.post(PATH, { model: INSTRUCT, prompt: 'count', ...body })
  const error = errorOf(answer.text, 400)
  expect([answer.status, error.param]).toEqual([400, param])
  for (const words of said) expect(error.message).toContain(words)
})

test('completion context window: applies to each prompt by itself', async () => {
  const half = 'word '.repeat(3_000)
  expect((await complete({ prompt: [half, half] })).usage?.prompt_tokens).toBeGreaterThan(4_096)
  const answer = await app.post(PATH, { model: INSTRUCT, prompt: ['short', half + half] })
  expect(errorOf(answer.text, 400)).toMatchObject({ code: 'context_length_exceeded' })
})
