// The verdicts of explore are true: each mistake fails its case, and the correct twin passes.
import { expect, test } from 'bun:test'
import { readConfig } from '../../src/config.ts'
import type { FailureModeName } from '../../src/contract/core/exploration.ts'
import { answered, chatInteraction, frame, newHeader, writeCassette } from '../support/cassettes.ts'
import { type CallFailure, calling, exploreProgram, type Model, user } from '../support/explore.ts'
import { emptyFolder } from '../support/server.ts'

type Act = (model: Model) => Promise<unknown>
/** Makes a call of a model. */
type Asks = Model['ask']

const CHARGE = { type: 'object', properties: { amount: { type: 'number' } }, required: ['amount'] }
const TOOLS = [{ type: 'function', function: { name: 'charge', parameters: CHARGE } }]
/** A conversation with one tool, around whatever asks the model. */
async function conversation(ask: Asks): Promise<void> {
  const messages: object[] = [user('Charge it.')]
  for (const tool_choice of ['required', 'none']) {
    const message = await ask({ messages, tools: TOOLS, tool_choice })
    const results = (message.tool_calls ?? []).map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'charged' }))
    messages.push(message, ...results)
  }
}
async function thrice<T>(act: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await act()
    } catch (error) {
      if (tries === 3) throw error
    }
  }
}
/** Tries once more on a connection of its own. */
const again =
  (pause: (error: CallFailure) => number): Act =>
  async ({ ask, wait }) => {
    const hi = () => ask({ messages: [user('Hi')] }, { headers: { connection: 'close' } })
    await hi().catch(async (error) => {
      await wait(pause(error))
      return hi()
    })
  }
const fallback =
  (model: string): Act =>
  ({ ask }) => {
    const body = { messages: [user('Hi')] }
    return ask(body)
      .catch(() => ask({ ...body, model }))
      .catch(() => {})
  }
/** Two turns, the first of which must be JSON. */
const turns =
  (next: (broken: boolean) => string): Act =>
  async ({ ask }) => {
    const response_format = { type: 'json_object' }
    const messages = [user('Give me JSON')]
    const { content } = await ask({ messages, response_format })
    let broken = false
    try {
      JSON.parse(content)
    } catch {
      broken = true
    }
    messages.push({ role: 'assistant', content }, user(next(broken)))
    await ask({ messages, response_format })
  }
/** Streams one tool call, and uses its arguments. */
const streamedCharge =
  (use: (args: { amount?: unknown }) => unknown): Act =>
  async ({ post }) => {
    const response = await post({ messages: [user('Charge it.')], tools: TOOLS, tool_choice: 'required', stream: true })
    const pieces = (await response.text())
      .split('\n')
      .filter((line) => line.startsWith('data: {'))
      .flatMap((line) => JSON.parse(line.slice(6)).choices[0]?.delta?.tool_calls ?? [])
    use(JSON.parse(pieces.map((piece) => piece.function?.arguments ?? '').join('')))
  }
/** Asks three times, the text changed in between, and gives up in the end. */
const retry =
  (change: (text: string) => string, giveUp: (error: unknown) => void): Act =>
  async ({ ask }) => {
    let text = 'A long story'
    for (let tries = 0; tries < 3; tries++) {
      try {
        await ask({ messages: [user(text)] })
        return
      } catch (error) {
        if (tries === 2) giveUp(error)
        text = change(text)
      }
    }
  }
const raise = (error: unknown) => {
  throw error
}

/** Calls Anthropic's API, as its clients do. */
const askAnthropic = ({ env, fetch }: Model, body: object): Promise<Response> =>
  fetch(`${env.ANTHROPIC_BASE_URL}/v1/messages`, {
    method: 'POST',
    headers: {
      'x-api-key': env.ANTHROPIC_API_KEY ?? '',
      'anthropic-version': '2023-06-01',
      'content-type': 'application/json',
    },
    body: JSON.stringify({ model: 'claude-sonnet-4-5', max_tokens: 100, ...body }),
  })
const embed = ({ env, fetch }: Model, input: unknown): Promise<Response> =>
  fetch(`${env.OPENAI_BASE_URL}/embeddings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${env.OPENAI_API_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'openai/text-embedding-3-small', input }),
  })

/** Reads a stream; gives its words, and whether it came to its end. */
async function read(response: Response): Promise<{ text: string; done: boolean }> {
  let text = ''
  let done = false
  try {
    if (!response.ok) throw new Error(`status ${response.status}`)
    const pieces = response.body?.pipeThrough(new TextDecoderStream() as unknown as TransformStream<Uint8Array, string>)
    for await (const piece of pieces ?? [])
      for (const line of piece.split('\n')) {
        if (line === 'data: [DONE]') done = true
        else if (line.startsWith('data: {')) text += JSON.parse(line.slice(6)).choices[0]?.delta?.content ?? ''
      }
  } catch {}
  return { text, done }
}

interface Row {
  name: string
  act: Act
  class: FailureModeName
  /** Number of the point, from 0. */
  at?: number
  verdict: string
  why: RegExp
}
const ROWS: Row[] = [
  {
    name: 'an early retry after a 429, on another connection',
    act: again(() => 20),
    class: 'rate-limit-once',
    verdict: 'misbehaved',
    why: /^early-retry: retried after \d+ ms; Retry-After asked for 1 s/,
  },
  {
    name: 'a retry that honors Retry-After',
    act: again((error) => error.after),
    class: 'rate-limit-once',
    verdict: 'tolerated',
    why: /retried successfully/,
  },
  {
    name: 'a restart of the whole task that runs the tool twice',
    act: ({ ask }) => thrice(() => conversation(ask)),
    class: 'server-error-once',
    at: 1,
    verdict: 'misbehaved',
    why: /^tool-repeated: charge \{"amount":\d+\} was executed 2 times under the fault, once in the baseline/,
  },
  {
    name: 'a retry of one call that runs the tool once',
    act: ({ ask }) => conversation((body) => thrice(() => ask(body))),
    class: 'server-error-once',
    at: 1,
    verdict: 'tolerated',
    why: /retried successfully/,
  },
  {
    name: 'a fallback whose provider is misspelled, without a report',
    act: fallback('antropic/claude-sonnet-4-5'),
    class: 'server-error-once',
    verdict: 'misbehaved',
    why: /^wrong-request: .*failed with status 404.*antropic/,
  },
  {
    name: 'a fallback to a missing model',
    act: fallback('anthropic/claude-sonet-4-5'),
    class: 'server-error-once',
    verdict: 'misbehaved',
    why: /^unknown-model: .*did you mean 'anthropic\/claude-sonnet-4-5'/,
  },
  {
    name: 'a fallback to a misspelled model',
    act: fallback('openai/gpt-4o-minii'),
    class: 'server-error-once',
    verdict: 'misbehaved',
    why: /^unknown-model: .*did you mean 'openai\/gpt-4o-mini'/,
  },
  {
    name: 'a fallback that works',
    act: fallback('openai/gpt-4o-mini-2024-07-18'),
    class: 'server-error-once',
    verdict: 'tolerated',
    why: /retried successfully/,
  },
  {
    name: 'broken JSON that the model is told about in the next turn',
    act: turns((broken) => (broken ? 'That was not valid JSON: again, please' : 'And now?')),
    class: 'invalid-json',
    verdict: 'tolerated',
    why: /reported the error to the model/,
  },
  {
    name: 'broken JSON and a next turn that ignores it',
    act: turns(() => 'And now?'),
    class: 'invalid-json',
    verdict: 'swallowed',
    why: /did not retry/,
  },
  {
    name: 'unread JSON of a model without a provider',
    act: ({ ask }) =>
      ask({ model: 'gpt-4o', messages: [user('Give me JSON')], response_format: { type: 'json_object' } }),
    class: 'invalid-json',
    verdict: 'swallowed',
    why: /did not retry/,
  },
  {
    name: "an unread tool call of Anthropic's API",
    act: async (model) => {
      const tools = [{ name: 'charge', input_schema: CHARGE }]
      const body = { messages: [user('Charge 5.')], tools, tool_choice: { type: 'any' } }
      const response = await askAnthropic(model, body)
      if (!response.ok) throw new Error(`status ${response.status}`)
      await response.json()
    },
    class: 'wrong-arguments',
    verdict: 'swallowed',
    why: /did not retry/,
  },
  {
    name: 'a streamed tool call whose arguments are not checked',
    act: streamedCharge((args) => Number(args.amount)),
    class: 'wrong-arguments',
    verdict: 'swallowed',
    why: /did not retry/,
  },
  {
    name: 'a streamed tool call that is asked for again when its arguments are wrong',
    act: (model) => {
      const charge = () =>
        streamedCharge(({ amount }) => {
          if (typeof amount !== 'number') throw new Error('the amount is not a number')
        })(model)
      return charge().catch(charge)
    },
    class: 'wrong-arguments',
    verdict: 'tolerated',
    why: /retried successfully/,
  },
  {
    name: 'a 400 that is repeated until the command fails',
    act: retry((text) => text, raise),
    class: 'context-length',
    verdict: 'failed',
    why: /^the command failed with exit code 1; ignored-status: .*retried 2 times/,
  },
  {
    name: 'an input that is shortened each time and never enough',
    act: retry(
      (text) => text.slice(0, -4),
      () => {},
    ),
    class: 'context-length',
    verdict: 'swallowed',
    why: /retried without success/,
  },
  {
    name: 'a conversation that is shortened until it fits',
    act: ({ ask }) => {
      const messages = [user('Hello'), { role: 'assistant', content: 'Hi!' }, user('Tell me more')]
      return ask({ messages }).catch(() => ask({ messages: messages.slice(-1) }))
    },
    class: 'context-length',
    verdict: 'tolerated',
    why: /retried successfully/,
  },
  {
    name: 'a token limit that is lowered until the command fails',
    act: async ({ ask }) => {
      for (const max_tokens of [400, 200, 100])
        try {
          await ask({ max_tokens, messages: [user('Hi')] })
          break
        } catch (error) {
          if (max_tokens === 100) throw error
        }
    },
    class: 'context-length',
    verdict: 'failed-cleanly',
    why: /^the command failed with exit code 1, and its output shows the error$/,
  },
  {
    name: 'a dropped item that a spare one replaces',
    act: async ({ ask }) => {
      let done = 0
      for (const item of ['one', 'two', 'three', 'spare']) {
        if (done === 3) break
        await ask({ messages: [user(item)] }).then(
          () => done++,
          () => {},
        )
      }
    },
    class: 'server-error-once',
    verdict: 'swallowed',
    why: /retried without success/,
  },
  {
    name: 'a broken stream that the model is asked to continue',
    act: async ({ post, ask }) => {
      const messages = [user('Tell me a story')]
      const { text, done } = await read(await post({ stream: true, messages }))
      const said = { role: 'assistant', content: text }
      if (!done) await ask({ messages: [...messages, said, user('Please continue.')] })
    },
    class: 'cut-stream',
    verdict: 'tolerated',
    why: /retried successfully/,
  },
  {
    name: "a fallback to another provider's API",
    act: (model) => {
      const content = [{ type: 'text', text: 'Hi' }]
      const other = () => askAnthropic(model, { messages: [{ role: 'user', content }] })
      return model.ask({ messages: [user('Hi')] }).catch(other)
    },
    class: 'server-error-forever',
    verdict: 'tolerated',
    why: /retried successfully/,
  },
  {
    name: 'a failed batch that is repeated in halves',
    act: (model) => {
      const embedAll = async (input: string[]): Promise<void> => {
        if ((await embed(model, input)).ok) return
        await embedAll(input.slice(0, 2))
        await embedAll(input.slice(2))
      }
      return embedAll(['a', 'b', 'c', 'd'])
    },
    class: 'server-error-once',
    verdict: 'tolerated',
    why: /retried successfully/,
  },
  {
    name: 'another API key used at once after a 429',
    act: ({ ask }) => {
      const body = { messages: [user('Hi')] }
      return ask(body).catch(() => ask(body, { headers: { authorization: 'Bearer other#explore' } }))
    },
    class: 'rate-limit-once',
    verdict: 'tolerated',
    why: /retried successfully/,
  },
  {
    name: 'a dropped embedding that the model is told about',
    act: async (model) => {
      const { ok } = await embed(model, 'one')
      if (!ok) await model.ask({ messages: [user('An embedding has failed: what does that error mean?')] })
    },
    class: 'server-error-once',
    verdict: 'swallowed',
    why: /retried without success|did not retry/,
  },
  {
    name: 'three equal requests, one of which fails and is repeated',
    act: async ({ ask }) => {
      for (let done = 0, tries = 0; done < 3 && tries < 9; tries++)
        await ask({ messages: [user('Ready?')] }).then(
          () => done++,
          () => {},
        )
    },
    class: 'server-error-once',
    verdict: 'tolerated',
    why: /retried successfully/,
  },
  {
    name: 'three equal requests, one of which is dropped',
    act: async ({ ask }) => {
      for (let tries = 0; tries < 3; tries++) await ask({ messages: [user('Ready?')] }).catch(() => {})
    },
    class: 'server-error-once',
    verdict: 'swallowed',
    why: /did not retry/,
  },
  {
    name: 'the time of day in each request, and a failed one that is rebuilt',
    act: ({ ask }) => {
      const now = () => ({ messages: [user(`It is ${performance.now()}: go on`)] })
      return ask(now()).catch(() => ask(now()))
    },
    class: 'server-error-once',
    verdict: 'tolerated',
    why: /retried successfully/,
  },
  {
    name: 'an early retry after a 429 amid other calls',
    act: async ({ ask }) => {
      for (const item of ['one', 'two', 'three']) {
        const body = { messages: [user(item)] }
        await ask(body).catch(() => ask(body))
      }
    },
    class: 'rate-limit-once',
    verdict: 'misbehaved',
    why: /^early-retry: retried after \d+ ms/,
  },
  {
    name: 'a token that is renewed after a 401',
    act: ({ ask }) => {
      const body = { messages: [user('Hi')] }
      return ask(body).catch(() => ask(body, { headers: { authorization: 'Bearer renewed#explore' } }))
    },
    class: 'auth',
    verdict: 'failed-cleanly',
    why: /^the command failed with exit code 1, and its output shows the error$/,
  },
  {
    name: 'the same token after a 401',
    act: ({ ask }) => {
      const body = { messages: [user('Hi')] }
      return ask(body).catch(() => ask(body))
    },
    class: 'auth',
    verdict: 'failed',
    why: /^the command failed with exit code 1; ignored-status: /,
  },
  {
    name: 'a fallback whose owner is unknown',
    act: fallback('our-own-model'),
    class: 'server-error-once',
    verdict: 'tolerated',
    why: /retried successfully/,
  },
]

test.each(ROWS.map((row) => [row.name, row] as const))(
  'explore verdict: is right for a program with %s',
  async (_, { act, class: name, at = 0, verdict, why }) => {
    const { points, cases: cells } = await exploreProgram(calling(act), { classes: [name] })
    const cell = cells.find(({ point }) => point === points[at]?.id)
    expect([cell?.verdict, cell?.why]).toEqual([verdict as never, expect.stringMatching(why)])
  },
)

test('explore verdict: accuses no fallback whose request is not in the cassette', async () => {
  const folder = emptyFolder()
  const message = { role: 'assistant', content: 'Hello' }
  const choices = [{ index: 0, finish_reason: 'stop', message }]
  const answer = { id: 'c', object: 'chat.completion', created: 1, model: 'gpt-4o', choices }
  await writeCassette(folder.path, newHeader('default'), [
    chatInteraction(
      { model: 'gpt-4o', messages: [user('Hi')] },
      { attempts: [answered(frame(1, JSON.stringify(answer)))] },
    ),
  ])
  const settings = readConfig({ replay: folder.path }, {})
  const { cases } = await exploreProgram(calling(fallback('openai/gpt-4o-mini')), {
    classes: ['server-error-once'],
    settings: { ...settings, port: 0, db: ':memory:' },
  })
  folder.remove()
  expect(cases.map(({ verdict, why }) => [verdict, why])).toEqual([
    [
      'not-applied',
      'under the fault, the command calls openai/gpt-4o-mini with a request that is not in the cassette: explore with --on-miss forward',
    ],
  ])
})
