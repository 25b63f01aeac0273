// What explore says of a program is true: each mistake is found by its cell, and the twin that does it right is not accused.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { exploreIn, programIn } from '../support/explore.ts'
import { emptyFolder } from '../support/server.ts'

const folder = emptyFolder()
afterAll(folder.remove)

const TOOLS = `[{ type: 'function', function: { name: 'charge', parameters: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] } } }]`
/** A conversation with one tool, around whatever asks the model. */
const CONVERSATION = `
const result = (call) => ({ role: 'tool', tool_call_id: call.id, content: 'charged' })
const conversation = async (asks) => {
  const messages = [user('Charge it.')]
  for (const tool_choice of ['required', 'none']) {
    const message = await asks({ messages, tools: ${TOOLS}, tool_choice })
    messages.push(message, ...(message.tool_calls ?? []).map(result))
  }
}
const thrice = async (act) => {
  for (let tries = 1; ; tries++) try { return await act() } catch (error) { if (tries === 3) throw error }
}
`
/** Tries once more on a connection of its own. */
const again = (pause: string) => `
const close = { headers: { connection: 'close' } }
await ask({ messages: [user('Hi')] }, close).catch(async (error) => { ${pause}; return ask({ messages: [user('Hi')] }, close) })
`
const fallback = (model: string) => `
const body = { messages: [user('Hi')] }
await ask(body).catch(() => ask({ ...body, model: '${model}' })).catch(() => {})
`
/** Two turns, the first of which must be JSON. */
const turns = (next: string) => `
const messages = [user('Give me JSON')]
const { content } = await ask({ messages, response_format: { type: 'json_object' } })
let broken = false
try { JSON.parse(content) } catch { broken = true }
messages.push({ role: 'assistant', content }, user(${next}))
await ask({ messages, response_format: { type: 'json_object' } })
`
const retry = (body: string) => `
let text = 'A long story'
for (let tries = 0; ; tries++) {
  try { await ask({ messages: [user(text)] }); break } catch (error) { if (tries === 2) throw error; ${body} }
}
`

/** A call that ends with one of a tool, as Anthropic's clients make it. */
const ASK_ANTHROPIC = `
const { ANTHROPIC_BASE_URL: door, ANTHROPIC_API_KEY: own } = process.env
const response = await fetch(door + '/v1/messages', {
  method: 'POST',
  headers: { 'x-api-key': own, 'anthropic-version': '2023-06-01', 'content-type': 'application/json' },
  body: JSON.stringify({
    model: 'claude-sonnet-4-5',
    max_tokens: 100,
    messages: [user('Charge 5.')],
    tools: [{ name: 'charge', input_schema: { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] } }],
    tool_choice: { type: 'any' },
  }),
})
if (!response.ok) throw new Error('status ' + response.status)
await response.json()
`

interface Row {
  name: string
  code: string
  class: string
  /** Number of the point, from 0. */
  at?: number
  verdict: string
  why: RegExp
}
const ROWS: Row[] = [
  {
    name: 'too early after a 429, on another connection',
    code: again('await wait(20)'),
    class: 'rate-limit-once',
    verdict: 'misbehaved',
    why: /^early-retry: called again after \d+ ms, though the answer had said to wait 1000 ms/,
  },
  {
    name: 'after the wait that was told',
    code: again('await wait(error.after)'),
    class: 'rate-limit-once',
    verdict: 'held',
    why: /called again/,
  },
  {
    name: 'all begun anew, and the tool done twice',
    code: `${CONVERSATION} await thrice(() => conversation(ask))`,
    class: 'server-error-once',
    at: 1,
    verdict: 'misbehaved',
    why: /^tool-repeated: charge \{"amount":\d+\} was done 2 times, and without the fault once/,
  },
  {
    name: 'one call repeated, and the tool done once',
    code: `${CONVERSATION} await conversation((body) => thrice(() => ask(body)))`,
    class: 'server-error-once',
    at: 1,
    verdict: 'held',
    why: /called again/,
  },
  {
    name: 'a fallback whose provider is misspelt, and nobody is told',
    code: fallback('antropic/claude-sonnet-4-5'),
    class: 'server-error-once',
    verdict: 'misbehaved',
    why: /^wrong-request: .*refused with 404.*antropic/,
  },
  {
    name: 'a fallback whose model there is not',
    code: fallback('anthropic/claude-sonet-4-5'),
    class: 'server-error-once',
    verdict: 'misbehaved',
    why: /^unknown-model: .*did you mean 'sonnet' by 'sonet'/,
  },
  {
    name: 'a fallback whose model has a letter too many',
    code: fallback('openai/gpt-4o-minii'),
    class: 'server-error-once',
    verdict: 'misbehaved',
    why: /^unknown-model: .*did you mean 'openai\/gpt-4o-mini'/,
  },
  {
    name: 'a fallback that works',
    code: fallback('openai/gpt-4o-mini-2024-07-18'),
    class: 'server-error-once',
    verdict: 'held',
    why: /called again/,
  },
  {
    name: 'JSON that was broken, and the model told so in the next turn',
    code: turns(`broken ? 'That was not valid JSON: again, please' : 'And now?'`),
    class: 'bad-json',
    verdict: 'held',
    why: /told the model what was wrong/,
  },
  {
    name: 'JSON that was broken, and the next turn as ever',
    code: turns(`'And now?'`),
    class: 'bad-json',
    verdict: 'swallowed',
    why: /nothing was called again/,
  },
  {
    name: 'JSON of a model without a provider, which nobody reads',
    code: `await ask({ model: 'gpt-4o', messages: [user('Give me JSON')], response_format: { type: 'json_object' } })`,
    class: 'bad-json',
    verdict: 'swallowed',
    why: /nothing was called again/,
  },
  {
    name: "a call of a tool by Anthropic's API, which nobody reads",
    code: ASK_ANTHROPIC,
    class: 'wrong-arguments',
    verdict: 'swallowed',
    why: /nothing was called again/,
  },
  {
    name: 'a 400 repeated until the command fails',
    code: retry(''),
    class: 'context-length',
    verdict: 'broke',
    why: /^the command failed with 1; ignored-status: .*made again 2 times/,
  },
  {
    name: 'what is too long made shorter each time, and never short enough',
    code: `${retry('text = text.slice(0, -4)').replace('throw error', 'break')}`,
    class: 'context-length',
    verdict: 'swallowed',
    why: /called again, but the request was never answered/,
  },
  {
    name: 'a conversation that is too long made shorter',
    code: `
const messages = [user('Hello'), { role: 'assistant', content: 'Hi!' }, user('Tell me more')]
await ask({ messages }).catch(() => ask({ messages: messages.slice(-1) }))
`,
    class: 'context-length',
    verdict: 'held',
    why: /called again and was answered/,
  },
  {
    name: 'the room for the answer made smaller until the command fails',
    code: `for (const max_tokens of [400, 200, 100]) try { await ask({ max_tokens, messages: [user('Hi')] }); break } catch (error) { if (max_tokens === 100) throw error }`,
    class: 'context-length',
    verdict: 'broke',
    why: /^the command failed with 1$/,
  },
  {
    name: 'an item dropped, and a spare one taken in its place',
    code: `
let done = 0
for (const item of ['one', 'two', 'three', 'spare']) {
  if (done === 3) break
  await ask({ messages: [user(item)] }).then(() => done++, () => {})
}
`,
    class: 'server-error-once',
    verdict: 'swallowed',
    why: /called again, but the request was never answered/,
  },
  {
    name: 'a broken stream whose words the model is asked to continue',
    code: `
const messages = [user('Tell me a story')]
let said = ''
let done = false
try {
  const response = await post({ stream: true, messages })
  if (!response.ok) throw new Error('status ' + response.status)
  for await (const piece of response.body.pipeThrough(new TextDecoderStream()))
    for (const line of piece.split('\\n')) {
      if (line === 'data: [DONE]') done = true
      else if (line.startsWith('data: {')) said += JSON.parse(line.slice(6)).choices[0]?.delta?.content ?? ''
    }
} catch {}
if (!done) await ask({ messages: [...messages, { role: 'assistant', content: said }, user('Please continue.')] })
`,
    class: 'cut-stream',
    verdict: 'held',
    why: /called again and was answered/,
  },
  {
    name: 'a fallback to the API of another provider',
    code: `
const fallback = () => fetch(process.env.ANTHROPIC_BASE_URL + '/v1/messages', {
  method: 'POST',
  headers: { 'x-api-key': process.env.ANTHROPIC_API_KEY, 'anthropic-version': '2023-06-01', 'content-type': 'application/json' },
  body: JSON.stringify({ model: 'claude-sonnet-4-5', max_tokens: 100, messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] }),
})
await ask({ messages: [user('Hi')] }).catch(fallback)
`,
    class: 'server-error-forever',
    verdict: 'held',
    why: /called again and was answered/,
  },
  {
    name: 'a batch that fails and is asked for in halves',
    code: `
const embed = async (input) => {
  const headers = { authorization: 'Bearer ' + key, 'content-type': 'application/json' }
  const body = JSON.stringify({ model: 'openai/text-embedding-3-small', input })
  if ((await fetch(base + '/embeddings', { method: 'POST', headers, body })).ok) return
  await embed(input.slice(0, 2))
  await embed(input.slice(2))
}
await embed(['a', 'b', 'c', 'd'])
`,
    class: 'server-error-once',
    verdict: 'held',
    why: /called again and was answered/,
  },
  {
    name: 'another key at once after a 429',
    code: `
const body = { messages: [user('Hi')] }
await ask(body).catch(() => ask(body, { headers: { authorization: 'Bearer other#explore' } }))
`,
    class: 'rate-limit-once',
    verdict: 'held',
    why: /called again and was answered/,
  },
  {
    name: 'an embedding dropped, and a model told of it',
    code: `
const headers = { authorization: 'Bearer ' + key, 'content-type': 'application/json' }
const input = JSON.stringify({ model: 'openai/text-embedding-3-small', input: 'one' })
const { ok } = await fetch(base + '/embeddings', { method: 'POST', headers, body: input })
if (!ok) await ask({ messages: [user('An embedding has failed: what does that error mean?')] })
`,
    class: 'server-error-once',
    verdict: 'swallowed',
    why: /request was never answered|nothing was called again/,
  },
  {
    name: 'the same asked three times, and once more when one of them fails',
    code: `for (let done = 0, tries = 0; done < 3 && tries < 9; tries++) await ask({ messages: [user('Ready?')] }).then(() => done++, () => {})`,
    class: 'server-error-once',
    verdict: 'held',
    why: /called again and was answered/,
  },
  {
    name: 'the same asked three times, and one of them dropped',
    code: `for (let tries = 0; tries < 3; tries++) await ask({ messages: [user('Ready?')] }).catch(() => {})`,
    class: 'server-error-once',
    verdict: 'swallowed',
    why: /nothing was called again/,
  },
  {
    name: 'the time told in each request, and one that failed built anew',
    code: `
const now = () => ({ messages: [user('It is ' + performance.now() + ': go on')] })
await ask(now()).catch(() => ask(now()))
`,
    class: 'server-error-once',
    verdict: 'held',
    why: /called again and was answered/,
  },
  {
    name: 'too early after a 429 in the midst of other calls',
    code: `
for (const item of ['one', 'two', 'three']) {
  const body = { messages: [user(item)] }
  await ask(body).catch(() => ask(body))
}
`,
    class: 'rate-limit-once',
    verdict: 'misbehaved',
    why: /^early-retry: called again after \d+ ms/,
  },
  {
    name: 'a token that is renewed after a 401',
    code: `
const body = { messages: [user('Hi')] }
await ask(body).catch(() => ask(body, { headers: { authorization: 'Bearer renewed#explore' } }))
`,
    class: 'auth',
    verdict: 'broke',
    why: /^the command failed with 1$/,
  },
  {
    name: 'the same token after a 401',
    code: `
const body = { messages: [user('Hi')] }
await ask(body).catch(() => ask(body))
`,
    class: 'auth',
    verdict: 'broke',
    why: /^the command failed with 1; ignored-status: /,
  },
  {
    name: 'a fallback of which nobody has said whose it is',
    code: fallback('our-own-model'),
    class: 'server-error-once',
    verdict: 'held',
    why: /called again and was answered/,
  },
]

/** What was found of each row. */
const found = new Map<string, Promise<string>>()
const judged = async ({ code, class: name, at = 0 }: Row, index: number): Promise<string> => {
  const command = programIn(folder.path, `program-${index}`, code)
  const { report } = await exploreIn(folder.path, ['--class', name, '--out', `out-${index}`], command)
  const cell = report.cells.find(({ point }) => point === report.points[at]?.id)
  return `${cell?.verdict}: ${cell?.why}`
}
beforeAll(async () => {
  const waiting = [...ROWS.entries()]
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [index, row] = next
      const result = judged(row, index)
      found.set(row.name, result)
      await result.catch(() => {})
    }
  }
  await Promise.all([work(), work(), work()])
}, 120_000)

test.each(ROWS.map((row) => [row.name, row] as const))('%s', async (name, { verdict, why }) => {
  const [is, ...words] = String(await found.get(name)).split(': ')
  expect([is, words.join(': ')]).toEqual([verdict, expect.stringMatching(why)])
})
