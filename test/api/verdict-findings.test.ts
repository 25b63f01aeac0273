// The verdict on real clients over real connections: each misbehavior has its finding, and no compliant look-alike has one.
import { afterAll, afterEach, beforeAll, describe, expect, mock, setDefaultTimeout, spyOn, test } from 'bun:test'
import OpenAI from 'openai'
import { listen } from '../../src/cli/run/listen.ts'
import { readConfig } from '../../src/config.ts'
import type { Finding } from '../../src/contract/core/finding.ts'
import type { Verification } from '../../src/contract/core/verification.ts'
import { createUnderstudy } from '../../src/deps.ts'
import { realClock } from '../../src/lib/clock.ts'
import { isBackoff } from '../../src/verdict/incomplete.ts'
import { openConnection } from '../support/raw-http.ts'

// Some clients really wait, a second at most.
setDefaultTimeout(60_000)

let base = ''
let stop = () => {}
beforeAll(async () => {
  const config = { ...readConfig({ clock: 'virtual' }, {}), db: ':memory:', port: 0, host: '127.0.0.1' }
  const understudy = createUnderstudy(config, (error) => {
    throw error
  })
  const servers = await listen(config, understudy)
  base = `http://127.0.0.1:${servers[0]?.port}`
  stop = () => {
    for (const server of servers) server.stop(true)
    understudy.sessions.close()
  }
})
afterAll(() => stop())
afterEach(() => mock.restore())

/** Stops the real clock so many ms later. */
const passed = (ms: number) => spyOn(realClock, 'now').mockReturnValue(realClock.now() + ms)

/** A client in a session of its own. */
function clientOf(session: string) {
  const headers = { authorization: `Bearer session:${session}`, 'content-type': 'application/json' }
  const send = async (path: string, body: unknown, more: RequestInit = {}) => {
    const response = await fetch(`${base}${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
      ...more,
      headers: { ...headers, ...(more.headers as object) },
    })
    return { status: response.status, text: await response.text().catch(() => 'broken') }
  }
  const message = (content = 'hello', more: object = {}) => ({
    model: 'openai/gpt-4o',
    messages: [{ role: 'user', content }],
    ...more,
  })
  const control = async (method: string, path: string, body?: unknown) => {
    const answer = await fetch(`${base}/_understudy/${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return (await answer.json()) as unknown
  }
  return {
    control,
    message,
    chat: (content?: string, more: object = {}, headers: Record<string, string> = {}, signal?: AbortSignal) =>
      send('/v2/router/chat/completions', message(content, more), { headers, signal: signal ?? null }),
    post: send,
    /** A header that makes a call with an API key in this session. */
    key: (name: string) => ({ authorization: `Bearer ${name}#session:${session}` }),
    /** The words of a stream, as far as they come. */
    async words(content: string, path = '/v1/chat/completions'): Promise<string> {
      const response = await fetch(`${base}${path}`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ ...inApi(path, { messages: message(content).messages }), stream: true }),
      })
      let text = ''
      try {
        for await (const piece of response.body ?? []) text += new TextDecoder().decode(piece)
      } catch {
        // It breaks off.
      }
      return [...text.matchAll(/"(?:content|delta|text)":"((?:[^"\\\\]|\\\\.)*)"/g)]
        .map(([, part]) => JSON.parse(`"${part}"`))
        .join('')
    },
    /** Comes back when a call is under way, with the verdict of then. */
    async underWay(): Promise<Verification> {
      let report = (await control('GET', 'verify')) as Verification
      while (report.pending === 0) report = (await control('GET', 'verify')) as Verification
      return report
    },
    /** Comes back when no call is under way, with the verdict of then. */
    async ended(): Promise<Verification> {
      let report = (await control('GET', 'verify')) as Verification
      while (report.pending > 0) report = (await control('GET', 'verify')) as Verification
      return report
    },
    /** Calls so often, one call after the other, and takes the connections in turn. */
    async overPool(connections: number, calls: number): Promise<void> {
      const pool = Array.from({ length: connections }, () => openConnection(base))
      for (let call = 0; call < calls; call++)
        await pool[call % connections]?.post('/v1/chat/completions', { ...message(), model: 'gpt-4o' }, headers)
      for (const connection of pool) connection.close()
    },
    /** One item of a batch, which ends like all others. */
    chatOf: (document: string) => ({
      model: 'gpt-4o',
      messages: [
        { role: 'user', content: `Read this: ${document}` },
        { role: 'assistant', content: 'I have read it.' },
        { role: 'user', content: 'Summarize it.' },
      ],
    }),
    embed: (input: string[]) => send('/v1/embeddings', { model: 'text-embedding-3-small', input }),
    /** Stops the session's clock and that of the machine, which may be so busy that its pauses look like waits. */
    noPauses() {
      passed(0)
      return control('POST', `sessions/${session}/clock`, { freeze: true })
    },
    /** Lets time pass, on the session's clock. */
    wait: (ms: number) => control('POST', `sessions/${session}/clock`, { advance: ms }),
    sdk: (maxRetries: number, path = '/v2/router') =>
      new OpenAI({ baseURL: `${base}${path}`, apiKey: `session:${session}`, maxRetries }),
  }
}
type Client = ReturnType<typeof clientOf>

/** What every call hits until so many have. */
const refuse = (fault: object, calls: string | number = '1+', more: object = {}) => ({
  name: 'day',
  rules: [{ name: 'bad', when: { calls }, fault: { type: 'http-error', ...fault } }],
  ...more,
})
const cut = (calls: string | number = '1+', after_chunks = 2) => ({
  name: 'day',
  rules: [{ name: 'bad', match: { stream: true }, when: { calls }, fault: { type: 'cut-stream', after_chunks } }],
})
const stalled = (calls: string | number = '1+') => ({
  name: 'day',
  rules: [{ name: 'bad', match: { stream: true }, when: { calls }, fault: { type: 'stall-stream', after_chunks: 2 } }],
})
/** A call that the client ends after a moment. */
const leaving = (call: (signal: AbortSignal) => Promise<unknown>, after = 100) =>
  quietly(call(AbortSignal.timeout(after)))
/** Leaves equal calls after these times, each right before the next one, however busy the machine is. */
const leavingInTurn =
  (times: readonly number[]) =>
  async ({ chat, underWay, ended, noPauses }: Client) => {
    await noPauses()
    for (const ms of times) {
      const gone = new AbortController()
      const call = quietly(chat('hello', {}, {}, gone.signal))
      await underWay()
      passed(ms)
      gone.abort()
      await call
      await ended()
    }
  }
const SILENT = { name: 'day', rules: [{ name: 'silence', fault: { type: 'hang' } }] }
const LIMIT = { status: 429, retry_after: '2s' }
const quietly = (promise: Promise<unknown>) => promise.catch(() => {})
const count = (retry: number) => ({ 'x-stainless-retry-count': String(retry) })

interface Row {
  name: string
  scenario: object
  act(client: Client): Promise<unknown>
  /** What is asked for besides. */
  query?: string
}
let number = 0
async function judged({ scenario, act, query = '' }: Row): Promise<Verification> {
  const client = clientOf(`client-${++number}`)
  await client.control('PUT', 'scenario', scenario)
  await act(client)
  const look = async () => (await client.control('GET', `verify${query}`)) as Verification
  // A client notices that a connection is reset before the trace of the call is written.
  let report = await look()
  while (report.pending > 0) report = await look()
  return report
}
const asText = (findings: readonly Finding[]) => findings.map(({ kind, severity }) => `${kind} ${severity}`)

interface Guilty extends Row {
  finds: string[]
  says: RegExp
}
/** An input of so many characters. */
const sized = (text: string, size: number) => text.padEnd(size, ' and so on')
/** A rule that is never met. */
const QUIET = {
  name: 'day',
  accept: ['not-exercised'],
  rules: [{ name: 'bad', when: { calls: 99 }, fault: { type: 'reset' } }],
}
const LIMITED = {
  name: 'day',
  rules: [{ name: 'bad', fault: { type: 'context-length', limit: 1000 } }],
}
const TRUNCATED = {
  name: 'day',
  rules: [{ name: 'bad', when: { calls: 1 }, fault: { type: 'tool-truncated' } }],
}
const said = (content: string) => ({ role: 'user', content })
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }

/** An agent in one API: what it asks first, the tool call that it gets, and how it sends a result for it. */
interface AgentApi {
  path: string
  ask: (more?: object) => object
  /** The call in a response, as the history has it. */
  called(body: string): { id: string; history: object[] }
  result(id: string, text: string): object
}
const message = said('How is the weather in Oslo?')
const AGENTS: Record<string, AgentApi> = {
  chat: {
    path: '/v1/chat/completions',
    ask: (more) => ({
      model: 'gpt-4o',
      messages: [message],
      tools: [{ type: 'function', function: { name: 'get_weather', parameters } }],
      tool_choice: 'required',
      ...more,
    }),
    called(body) {
      const { choices } = JSON.parse(body) as { choices: { message: { tool_calls: { id: string }[] } }[] }
      const [choice] = choices
      return { id: choice?.message.tool_calls[0]?.id ?? '', history: [message, choice?.message ?? {}] }
    },
    result: (tool_call_id, content) => ({ role: 'tool', tool_call_id, content }),
  },
  responses: {
    path: '/v1/responses',
    ask: (more) => ({
      model: 'gpt-4o',
      input: [message],
      tools: [{ type: 'function', name: 'get_weather', parameters }],
      tool_choice: 'required',
      ...more,
    }),
    called(body) {
      const { output } = JSON.parse(body) as { output: { call_id: string }[] }
      return { id: output[0]?.call_id ?? '', history: [message, ...output] }
    },
    result: (call_id, output) => ({ type: 'function_call_output', call_id, output }),
  },
  messages: {
    path: '/v1/messages',
    ask: (more) => ({
      model: 'claude-sonnet-4',
      max_tokens: 500,
      messages: [message],
      tools: [{ name: 'get_weather', input_schema: parameters }],
      tool_choice: { type: 'any' },
      ...more,
    }),
    called(body) {
      const { content } = JSON.parse(body) as { content: { id: string }[] }
      return { id: content[0]?.id ?? '', history: [message, { role: 'assistant', content }] }
    },
    result: (tool_use_id, content) => ({ role: 'user', content: [{ type: 'tool_result', tool_use_id, content }] }),
  },
}
/** The agent asks, gets a call that is cut off, and sends this result for it; without one, it asks again. */
const answersCutCall =
  (api: AgentApi, text: string | undefined, more: object = {}) =>
  async ({ post }: Client) => {
    const { called, ask, path, result } = api
    const first = await post(path, ask(more))
    const { id, history } = called(first.text)
    const messages = text === undefined ? [message] : [...history, result(id, text)]
    await post(path, ask({ ...more, [path === '/v1/responses' ? 'input' : 'messages']: messages }))
  }

/** A conversation whose calls begin with instructions of their own, each going on with the answer to the one before. */
async function converse({ post }: Client, questions: readonly string[], system: (turn: number) => string) {
  const messages: object[] = []
  for (const [turn, content] of questions.entries()) {
    messages.push(said(content))
    const asked = [{ role: 'system', content: system(turn) }, ...messages]
    const { text } = await post('/v1/chat/completions', { model: 'gpt-4o', messages: asked })
    const { choices } = JSON.parse(text) as { choices: { message: object }[] }
    messages.push(choices[0]?.message ?? {})
  }
}
const QUESTIONS = [sized('Read this', 9000), 'What is it about?', 'Who wrote it?', 'When?']

const guilty: Guilty[] = [
  {
    name: 'sends a conversation that is too long three times without shortening it',
    scenario: LIMITED,
    async act({ post }) {
      const messages: object[] = [said('Hello')]
      const send = () => post('/v1/chat/completions', { model: 'gpt-4o', messages })
      const { choices } = JSON.parse((await send()).text) as { choices: { message: object }[] }
      messages.push(choices[0]?.message ?? {}, said(sized('Read this', 9000)))
      await send()
      messages.push({ role: 'assistant', content: 'It is too long.' }, said('Go on.'))
      await send()
      await send()
    },
    finds: ['compaction-loop error'],
    says: /^a conversation that is too long for the model was sent 3 times in a row without becoming shorter \(\d+ characters at first, \d+ in the end\)$/,
  },
  ...Object.entries(AGENTS).flatMap(([api, agent]): Guilty[] => [
    {
      name: `runs a tool with arguments that were cut off, in ${api}`,
      scenario: TRUNCATED,
      act: answersCutCall(agent, '{"degrees":17}'),
      finds: ['executed-truncated error'],
      says: /^1 tool call with arguments that were cut off was answered with a result$/,
    },
    {
      name: `runs such a tool behind the gateway, in ${api}`,
      scenario: TRUNCATED,
      act: answersCutCall(agent, '17 degrees', { timeout: { call_timeout: 60_000 } }),
      finds: ['executed-truncated warning'],
      says: /was answered with a result, which may report a failure$/,
    },
  ]),
  {
    name: 'runs a tool with arguments that a fault between gateway and client cut off',
    scenario: { ...TRUNCATED, rules: TRUNCATED.rules.map((rule) => ({ ...rule, at: 'gateway' })) },
    act: answersCutCall(AGENTS.chat as AgentApi, '{"degrees":17}', { timeout: { call_timeout: 60_000 } }),
    finds: ['executed-truncated error'],
    says: /cut off was answered with a result$/,
  },
  {
    name: 'puts the time before its instructions in each call of a conversation',
    scenario: QUIET,
    act: (client) => converse(client, QUESTIONS, (turn) => `Now: 10:1${turn}:00. You help.`),
    finds: ['cache-prefix-broken warning'],
    says: /^the prompts of a conversation change in the instructions from call to call \(3 times\), so up to \d+ characters behind that cannot come from a prompt cache$/,
  },
  {
    name: 'ignores Retry-After',
    scenario: refuse(LIMIT, '1-2'),
    act: async ({ chat }) => [await chat(), await chat(), await chat()],
    finds: ['early-retry error'],
    says: /retried after \d+ ms; Retry-After asked for 2 s; 2 early retries/,
  },
  {
    name: 'ignores Retry-After and marks its retries',
    scenario: refuse(LIMIT, 1, { accept: ['gave-up'] }),
    act: async ({ chat }) => [await chat('hello', {}, count(0)), await chat('hello', {}, count(1))],
    finds: ['early-retry error'],
    says: /Retry-After asked for 2 s$/,
  },
  {
    name: 'calls 60 times without a pause',
    scenario: refuse({ status: 503 }, '1+', { accept: ['gave-up'] }),
    async act({ chat }) {
      for (let turn = 0; turn < 60; turn++) await chat()
    },
    finds: ['retry-storm error', 'gave-up error'],
    says: /the same failing request \(.+\) was sent 60 times in \d+ ms \([\d.]+ per second\), with pauses of about \d+ ms that do not grow/,
  },
  {
    name: 'repeats a 401 without a pause over a pool of connections',
    scenario: refuse({ status: 401 }),
    act: ({ overPool }) => overPool(4, 30),
    finds: ['retry-storm warning'],
    says: /^the same failing request \(.+\) was sent 30 times in .*; the calls may come from several clients$/,
  },
  {
    // Each has a connection of its own, and arrives when the one before has its response.
    name: 'makes equal requests at the same time, and retries each with a backoff in vain',
    scenario: refuse({ status: 503 }),
    async act({ overPool, noPauses, wait }) {
      await noPauses()
      for (const pause of [300, 600, 0]) {
        await overPool(6, 6)
        await wait(pause)
      }
    },
    finds: ['gave-up warning'],
    says: /^at least 6 requests never succeeded: 18 equivalent calls failed \(last: status 503\)$/,
  },
  {
    name: 'repeats a call that is rejected for good, with the keys of its JSON in another order each time',
    scenario: refuse({ status: 401 }),
    async act({ post, noPauses }) {
      await noPauses()
      const fields = Object.entries({ model: 'gpt-4o', messages: [said('Hello')], temperature: 0 })
      for (let call = 0; call < 25; call++) {
        fields.push(...fields.splice(0, 1))
        await post('/v1/chat/completions', Object.fromEntries(fields))
      }
    },
    finds: ['retry-storm error'],
    says: /^the same failing request \(status 401\) was sent 25 times/,
  },
  {
    name: 'gives up at once',
    scenario: refuse({ status: 503 }, 1),
    act: ({ sdk, message }) => quietly(sdk(0).chat.completions.create(message() as never)),
    finds: ['gave-up error'],
    says: /^a request never succeeded: called once \(status 503\)$/,
  },
  ...[61, 3600].map(
    (seconds): Guilty => ({
      name: `gives up instead of waiting for ${seconds} s`,
      scenario: refuse({ status: 429, retry_after: `${seconds}s` }),
      act: ({ sdk, message }) => quietly(sdk(0).chat.completions.create(message() as never)),
      finds: ['gave-up warning'],
      says: /^a request never succeeded: called once \(status 429\)$/,
    }),
  ),
  {
    name: 'gives up instead of waiting for a minute',
    scenario: refuse({ status: 429, retry_after: '60s' }),
    act: ({ sdk, message }) => quietly(sdk(0).chat.completions.create(message() as never)),
    finds: ['gave-up error'],
    says: /^a request never succeeded: called once \(status 429\)$/,
  },
  {
    name: 'sends six equal prompts at once, so that tries cannot be counted',
    scenario: refuse({ status: 503 }),
    act: ({ chat }) => atOnce(6, chat),
    finds: ['gave-up error'],
    says: /^at least (one request|\d requests) never succeeded: 6 equivalent calls failed \(last: status 503\)$/,
  },
  {
    name: 'sends four equal prompts in sequence, and the scenario accepts giving up',
    scenario: refuse({ status: 429, retry_after: '2s' }, '1+', { accept: ['gave-up'] }),
    act: async ({ chat }) => {
      for (let turn = 0; turn < 4; turn++) await chat()
    },
    finds: ['gave-up error'],
    says: /^some requests never succeeded: 4 equivalent calls failed \(status 429\)$/,
  },
  {
    name: 'sends two prompts three times each, so that tries cannot be counted',
    scenario: refuse({ status: 503 }),
    async act({ chat, noPauses }) {
      await noPauses()
      for (const prompt of ['one', 'two']) await atOnce(3, () => chat(prompt))
    },
    finds: ['gave-up error'],
    says: /^at least \d requests never succeeded: 6 calls failed \(last: status 503\)$/,
  },
  {
    name: 'sends two prompts twice each, and the scenario accepts giving up',
    scenario: refuse({ status: 429, retry_after: '2s' }, '1+', { accept: ['gave-up'] }),
    act: async ({ chat }) => {
      for (const prompt of ['one', 'two', 'one', 'two']) await chat(prompt)
    },
    finds: ['gave-up error'],
    says: /^some requests never succeeded: 4 calls failed \(status 429\)$/,
  },
  {
    name: 'sends three equal prompts at once with an SDK that counts its tries',
    scenario: refuse({ status: 503 }),
    act: ({ sdk, message }) => {
      const openai = sdk(1)
      return atOnce(3, () => quietly(openai.chat.completions.create(message() as never)))
    },
    finds: ['gave-up warning'],
    says: /^3 requests never succeeded: called 2 times each \(last: status 503\)$/,
  },
  {
    name: 'gives up two equal prompts with an SDK that counts its tries, before a third one that may repeat one of them',
    scenario: refuse({ status: 503 }, '1-4'),
    act: async ({ sdk, message }) => {
      const openai = sdk(1)
      await atOnce(2, () => quietly(openai.chat.completions.create(message() as never)))
      await openai.chat.completions.create(message() as never)
    },
    finds: ['gave-up warning'],
    says: /^at least one request never succeeded: 4 equivalent calls failed \(last: status 503\)$/,
  },
  {
    name: 'ignores a cut stream and exits with 0',
    scenario: cut(),
    query: '?ended=well',
    act: ({ chat }) => chat('hello', { stream: true }),
    finds: ['swallowed error'],
    says: /^1 response was incomplete; no retry followed, and the client succeeded$/,
  },
  {
    name: 'ignores a cut stream, as far as is known',
    scenario: cut(),
    act: ({ chat }) => chat('hello', { stream: true }),
    finds: ['swallowed warning'],
    says: /^1 response was incomplete; no retry followed$/,
  },
  {
    name: 'has exited, so that its handling of a cut stream is unknown',
    scenario: cut(),
    query: '?ended=unknown',
    act: ({ chat }) => chat('hello', { stream: true }),
    finds: ['swallowed warning'],
    says: /^1 response was incomplete; no retry followed$/,
  },
  ...['', '?ended=unknown', '?ended=well'].map(
    (query): Guilty => ({
      name: `leaves a silent stream without a report${query}`,
      scenario: stalled(),
      query,
      act: ({ chat }) => leaving((signal) => chat('hello', { stream: true }, {}, signal)),
      finds: ['swallowed warning'],
      says: /^1 response was incomplete; no retry followed$/,
    }),
  ),
  {
    name: 'repeats a silent stream after pauses in vain',
    scenario: stalled(),
    async act({ chat, wait }) {
      for (let tries = 0; tries < 3; tries++) {
        await leaving((signal) => chat('hello', { stream: true }, {}, signal))
        await wait(1000)
      }
    },
    finds: ['gave-up warning'],
    says: /^at least one request never succeeded: 3 equivalent calls failed; the client disconnected before the end of the last stream$/,
  },
  {
    name: 'is three users of one prompt in sequence, who each receive half a response',
    scenario: cut(),
    query: '?ended=unknown',
    async act({ chat, noPauses }) {
      await noPauses()
      for (let user = 0; user < 3; user++) await chat('hello', { stream: true })
    },
    finds: ['swallowed warning'],
    says: /^3 responses were incomplete; 2 may be retries$/,
  },
  {
    name: 'is three users of one prompt on the compatible API, who each receive half a response',
    scenario: cut(),
    query: '?ended=unknown',
    async act({ post, message, noPauses }) {
      await noPauses()
      for (let user = 0; user < 3; user++) {
        await post('/v1/chat/completions', { ...message(), model: 'gpt-4o', stream: true })
        // The time before the connection is reset is no pause.
        passed(50)
      }
    },
    finds: ['swallowed warning'],
    says: /^3 responses were incomplete; 2 may be retries$/,
  },
  {
    name: 'repeats a cut stream at once without a sign of a retry',
    scenario: cut(1),
    act: async ({ chat, noPauses }) => [
      await noPauses(),
      await chat('hello', { stream: true }),
      await chat('hello', { stream: true }),
    ],
    finds: ['swallowed warning'],
    says: /^1 response was incomplete; 1 later call may be a retry$/,
  },
  {
    name: 'fails a chat call that a responses call of the same model does not repeat',
    scenario: refuse({ status: 503 }, 1),
    act: async ({ post, message, wait }) => [
      await post('/v1/chat/completions', { ...message(), model: 'gpt-4o' }),
      await wait(1000),
      await post('/v1/responses', { model: 'gpt-4o', input: 'hello' }),
    ],
    finds: ['gave-up error'],
    says: /^a request never succeeded: called once \(status 503\)$/,
  },
  {
    name: 'is an SDK that uses up its two retries',
    scenario: refuse({ status: 503 }),
    act: ({ sdk, message }) => quietly(sdk(2).chat.completions.create(message() as never)),
    finds: ['gave-up warning'],
    says: /^a request never succeeded: called 3 times \(last: status 503\)$/,
  },
  ...[{ retry: { count: 2, on_codes: [503] } }, { fallbacks: [{ model: 'anthropic/claude-sonnet-4' }] }].map(
    (options): Guilty => ({
      name: `its gateway has used up its ${Object.keys(options)}`,
      scenario: refuse({ status: 503 }),
      act: ({ chat }) => chat('hello', options),
      finds: ['gave-up warning'],
      says: /^a request never succeeded: called once \(status 503, after [23] attempts at providers\)$/,
    }),
  ),
  {
    name: 'repeats three times without backoff',
    scenario: refuse({ status: 503 }, '1-3'),
    async act({ chat }) {
      for (let turn = 0; turn < 4; turn++) await chat('hello', {}, count(turn))
    },
    finds: ['no-backoff warning'],
    says: /^a failed request \(status 503\) was retried 3 times without backoff, each time after at most \d+ ms$/,
  },
  {
    name: 'is stopped before it could have repeated',
    scenario: refuse({ status: 503 }),
    query: '?ended=stopped',
    act: ({ chat }) => chat(),
    finds: ['gave-up warning'],
    says: /^a request never succeeded: called once \(status 503\)$/,
  },
  {
    name: 'repeats a rate-limited call at once on new connections, so that the calls may be separate requests',
    scenario: refuse(LIMIT, '1-2'),
    act: ({ overPool, noPauses }) => noPauses().then(() => overPool(3, 3)),
    finds: ['gave-up error'],
    says: /^2 requests never succeeded, or were repeated before Retry-After had passed: called once each \(status 429\)$/,
  },
  {
    name: 'retries a rate-limited call once too early and then in time, as two requests could, of which one fails',
    scenario: refuse({ status: 429, retry_after: '1s' }, '1-4'),
    async act({ chat, wait }) {
      for (const pause of [300, 1500, 1500, 1500, 0]) {
        await chat()
        await wait(pause)
      }
    },
    finds: ['gave-up warning'],
    says: /^at least one request never succeeded, or was repeated before Retry-After had passed: 4 equivalent calls failed \(last: status 429\)$/,
  },
  {
    name: 'has a timeout, and closes each connection only after the pause before its next try, as urllib3 does',
    scenario: SILENT,
    act: leavingInTurn([300, 600, 900, 300]),
    query: '?wait=5s',
    finds: ['gave-up warning'],
    says: /^at least one request never succeeded: 4 equivalent calls failed; the client disconnected each time, after at most \d+ ms$/,
  },
  {
    name: 'gives up when the timeout that it declares has passed',
    scenario: SILENT,
    async act({ chat, underWay }) {
      const timeout = new AbortController()
      const call = quietly(chat('hello', {}, { 'x-stainless-timeout': '0.1' }, timeout.signal))
      await underWay()
      await Bun.sleep(110)
      timeout.abort()
      await call
    },
    query: '?wait=5s',
    finds: ['gave-up warning'],
    says: /^a request never succeeded: called once; the client disconnected after \d+ ms, when its timeout had passed$/,
  },
  {
    name: 'does not retry an error that says to retry',
    scenario: refuse({ status: 529, headers: { 'x-should-retry': 'true' } }),
    act: ({ chat }) => chat(),
    finds: ['gave-up error'],
    says: /^a request never succeeded: called once \(status 529\)$/,
  },
  {
    name: 'repeats a 401 that says not to retry',
    scenario: refuse({ status: 401, headers: { 'x-should-retry': 'false' } }),
    async act({ chat }) {
      for (let turn = 0; turn < 3; turn++) await chat('hello', {}, count(turn))
    },
    finds: ['ignored-status error'],
    says: /non-retryable error \(status 401\) was retried 2 times/,
  },
  {
    name: 'repeats a 401',
    scenario: refuse({ status: 401 }),
    async act({ chat }) {
      for (let turn = 0; turn < 3; turn++) await chat('hello', {}, count(turn))
    },
    finds: ['ignored-status error'],
    says: /non-retryable error \(status 401\) was retried 2 times/,
  },
  {
    name: 'repeats a 400 on a timer',
    scenario: refuse({ status: 400 }),
    async act({ chat, wait }) {
      for (let turn = 0; turn < 5; turn++) {
        await chat()
        await wait(10_000)
      }
    },
    finds: ['ignored-status warning'],
    says: /was retried 4 times, judging by the timing/,
  },
  {
    name: 'repeats a 400 with a backoff that has jitter',
    scenario: refuse({ status: 400 }),
    async act({ chat, wait }) {
      for (const pause of [600, 900, 2300, 0]) {
        await chat()
        await wait(pause)
      }
    },
    finds: ['ignored-status warning'],
    says: /^non-retryable error \(status 400\) may have been retried 3 times: the pauses between identical calls grow$/,
  },
  {
    name: 'multiplies the retries of the gateway',
    scenario: refuse({ status: 503 }, '1-9', { max_attempts: 6 }),
    async act({ chat, wait }) {
      for (const pause of [5_000, 0]) {
        await chat('hello', { retry: { count: 4, on_codes: [503] } })
        await wait(pause)
      }
    },
    finds: ['retry-amplification error'],
    says: /one request caused 10 attempts at providers in 2 calls; the limit is 6/,
  },
  {
    name: 'repeats a call while the first one continues',
    scenario: { name: 'day', rules: [{ name: 'slow', when: { calls: 1 }, fault: { type: 'delay', for: '1s' } }] },
    async act({ chat, underWay }) {
      const first = chat('hello', {}, count(0))
      await underWay()
      await chat('hello', {}, count(1))
      await first
    },
    finds: ['not-canceled error'],
    says: /retried once while the previous call was still in progress; that call was never canceled and ran for \d+ ms more/,
  },
  {
    name: 'loses an item of a batch whose items end with the same words',
    scenario: refuse({ status: 503 }, 2),
    async act({ post, chatOf }) {
      for (const document of ['Oats', 'Rye', 'Wheat']) await post('/v1/chat/completions', chatOf(document))
    },
    finds: ['gave-up error'],
    says: /^a request never succeeded: called once \(status 503\)$/,
  },
  ...[
    ['What happens in the hour of 09:00?', 'What happens in the hour of 10:00?'],
    ['Summarize 2024-05-01.', 'Summarize 2024-05-08.'],
    ['Summarize invoice 17.', 'Summarize invoice 18.'],
  ].map((items) => ({
    name: `loses the first of two items that differ in a figure: ${items[0]}`,
    scenario: refuse({ status: 503 }, 1),
    async act({ chat }: Client) {
      for (const item of items) await chat(item)
    },
    finds: ['gave-up error'],
    says: /^a request never succeeded: called once \(status 503\)$/,
  })),
  {
    name: 'sends the same prompt with other tools, which may be another request',
    scenario: refuse({ status: 503 }, 1),
    async act({ chat }) {
      for (const name of ['look', 'listen']) await chat('hello', { tools: [{ type: 'function', function: { name } }] })
    },
    finds: ['gave-up warning'],
    says: /^a request never succeeded: called once \(status 503\)$/,
  },
  {
    name: 'splits a batch and loses half of it',
    scenario: refuse({ status: 500 }, 1),
    act: async ({ embed }) => [await embed(['a', 'b', 'c', 'd']), await embed(['a', 'b'])],
    finds: ['gave-up error'],
    says: /^a request never succeeded: called once \(status 500\)$/,
  },
  {
    name: 'takes half a response for a whole one and continues',
    scenario: cut(1),
    async act({ words, post, message }) {
      const half = await words('Tell me a story')
      await post('/v1/chat/completions', goneOn(message('Tell me a story'), half, 'Thanks. What is the time?'))
    },
    finds: ['swallowed warning'],
    says: /^1 response was incomplete; no retry followed$/,
  },
  {
    name: 'switches to another API key and back to the first too early',
    scenario: refuse({ status: 429, retry_after: '20s' }, '1-2'),
    async act({ chat, key }) {
      for (const [turn, name] of ['sk-one', 'sk-two', 'sk-one'].entries())
        await chat('hello', {}, { ...count(turn), ...key(name) })
    },
    finds: ['early-retry error'],
    says: /Retry-After asked for 20 s$/,
  },
  {
    name: 'sends a prompt with another id, which may be another request',
    scenario: refuse({ status: 503 }, 1),
    async act({ chat }) {
      for (const id of ['6f1c2a34-0000-4000-8000-5a6b7c8d9e0f', '7a2d3b45-1111-4111-8111-6b7c8d9e0f1a'])
        await chat(`Describe order ${id}`)
    },
    finds: ['gave-up warning'],
    says: /^a request may never have succeeded \(status 503\): the call that followed differs in times or ids/,
  },
  {
    name: 'uses a wrong base URL',
    scenario: refuse({ status: 503 }, 1, { accept: ['gave-up'] }),
    act: ({ sdk, message }) => quietly(sdk(2, '/openai/v1').chat.completions.create(message() as never)),
    finds: ['unknown-path error'],
    says: /POST \/openai\/v1\/chat\/completions was requested once, but this server has no such path: did you mean \/v1\/chat\/completions\?/,
  },
  {
    name: 'creates a file, which is not emulated, and is no file of the workspace',
    scenario: refuse({ status: 503 }, 1, { accept: ['gave-up'] }),
    act: ({ post }) => post('/v1/files', {}),
    finds: ['unknown-path warning'],
    says: /^POST \/v1\/files was requested once, but this server has no such path$/,
  },
  {
    name: 'polls a response in the background, which is not emulated',
    scenario: refuse({ status: 503 }, 1, { accept: ['gave-up'] }),
    act: ({ sdk }) => quietly(sdk(0, '/v1').responses.retrieve('resp_1234567890')),
    finds: ['unknown-path warning'],
    says: /^GET \/v1\/responses\/resp_1234567890 was requested once, but this server has no such path$/,
  },
]

describe('violating client', () => {
  test.each(guilty)('has a finding when it $name', async ({ finds, says, ...row }) => {
    const { findings, ok } = await judged(row)
    expect(asText(findings)).toEqual(finds)
    const [first] = findings
    expect(first?.message).toMatch(says)
    expect(ok).toBe(!findings.some(({ severity, accepted }) => severity === 'error' && !accepted))
    // Evidence: what has a trace names it.
    if (first?.kind !== 'unknown-path') expect(first?.traces.length).toBeGreaterThan(0)
    expect(first?.at).toBeString()
  })
})

/** A request in the words of an API. */
function inApi(path: string, { messages }: { messages: object[] }): object {
  if (path === '/v1/responses') return { model: 'gpt-4o', input: messages }
  if (path === '/v1/messages') return { model: 'claude-sonnet-4-5', max_tokens: 999, messages }
  return { model: 'gpt-4o', messages }
}

/** A conversation that goes on after the words of a model. */
const goneOn = (request: { messages: object[] }, content: string, ...more: string[]) => ({
  model: 'gpt-4o',
  messages: [
    ...request.messages,
    { role: 'assistant', content },
    ...more.map((words) => ({ role: 'user', content: words })),
  ],
})
/** A fault that hits the first call only after a time. */
const lateFailure = (fault: object) => ({
  name: 'day',
  rules: [
    { name: 'slow', when: { calls: 1 }, fault: { type: 'delay', for: '400ms' } },
    { name: 'bad', when: { calls: 1 }, fault },
  ],
})

const atOnce = (calls: number, act: () => Promise<unknown>) => Promise.all(Array.from({ length: calls }, act))
const innocent: Row[] = [
  {
    name: 'shortens a conversation each time that it is too long',
    scenario: LIMITED,
    async act({ post }) {
      const turns = [said('Hello'), { role: 'assistant', content: 'Hi.' }, said(sized('Read this', 9000))]
      const more = [
        { role: 'assistant', content: sized('It says', 8000) },
        said(sized('And that', 8000)),
        said('Go on.'),
      ]
      const all = [...turns, ...more]
      const send = (messages: object[]) => post('/v1/chat/completions', { model: 'gpt-4o', messages })
      await send(all.slice(0, 1))
      for (const from of [0, 2, 3, 4, 5]) await send(all.slice(from))
    },
  },
  {
    name: 'has tests that send the same stored conversation, which is too long',
    scenario: LIMITED,
    async act({ post }) {
      const send = (messages: object[]) => post('/v1/chat/completions', { model: 'gpt-4o', messages })
      const stored = [said('Hello'), { role: 'assistant', content: 'Hi.' }, said(sized('Read this', 9000))]
      await send(stored.slice(0, 1))
      for (let turn = 0; turn < 3; turn++) await send(stored)
    },
  },
  {
    name: 'reports documents that are too long, one after the other',
    scenario: LIMITED,
    async act({ post }) {
      const send = (messages: object[]) => post('/v1/chat/completions', { model: 'gpt-4o', messages })
      const begun = [said('Hello'), { role: 'assistant', content: 'Hi.' }]
      await send(begun.slice(0, 1))
      for (const size of [8000, 9000, 9000, 10_000]) await send([...begun, said(sized(`Document of ${size}`, size))])
    },
  },
  ...Object.entries(AGENTS).flatMap(([api, agent]): Row[] => [
    {
      name: `reports that arguments were cut off, in ${api}`,
      scenario: TRUNCATED,
      act: answersCutCall(agent, 'Error: the arguments are not valid JSON. Call the tool again.'),
    },
    {
      name: `drops a call that was cut off and asks again, in ${api}`,
      scenario: TRUNCATED,
      act: answersCutCall(agent, undefined),
    },
    {
      name: `runs tools whose arguments are whole, in ${api}`,
      scenario: QUIET,
      act: answersCutCall(agent, '{"degrees":17}'),
    },
    {
      name: `takes arguments out of a Markdown block, in ${api}`,
      scenario: {
        name: 'day',
        rules: [{ name: 'bad', when: { calls: 1 }, fault: { type: 'tool-wrong-arguments', as: 'fenced' } }],
      },
      act: answersCutCall(agent, '{"degrees":17}'),
    },
  ]),
  {
    name: 'has the same instructions in each call of a conversation',
    scenario: QUIET,
    act: (client) => converse(client, QUESTIONS, () => 'You help. The conversation began at 10:10:00.'),
  },
  {
    name: 'has conversations with the same words that began at different times',
    scenario: QUIET,
    async act(client) {
      for (const minute of [10, 11, 12]) await converse(client, QUESTIONS, () => `Now: 10:${minute}:00. You help.`)
    },
  },
  {
    name: 'shortens its conversation from the front after it was too long',
    scenario: LIMITED,
    async act({ post }) {
      const send = (messages: object[]) =>
        post('/v1/chat/completions', {
          model: 'gpt-4o',
          messages: [{ role: 'system', content: 'You help.' }, ...messages],
        })
      const turns = Array.from({ length: 9 }, (_, index) =>
        index % 2 === 0 ? said(sized(`Question ${index}`, 2000)) : { role: 'assistant', content: `Answer ${index}` },
      )
      for (const [from, to] of [
        [0, 1],
        [0, 3],
        [0, 5],
        [2, 5],
        [2, 7],
        [4, 7],
        [4, 9],
      ] as const)
        await send(turns.slice(from, to))
    },
  },
  ...[6, 12].map((calls) => ({
    name: `sends ${calls} equal prompts at once, each with the retries of its SDK`,
    scenario: refuse({ status: 429, retry_after: '1s' }, `1-${calls}`),
    act: ({ sdk, message }: Client) => {
      const openai = sdk(3)
      return atOnce(calls, () => openai.chat.completions.create(message() as never))
    },
  })),
  {
    name: 'sends 12 equal prompts at once without a marker, each honoring Retry-After',
    scenario: refuse(LIMIT, '1-12'),
    async act({ chat, wait }) {
      await atOnce(12, chat)
      await wait(2000)
      await atOnce(12, chat)
    },
  },
  {
    name: 'is an SDK in a short run of 503',
    scenario: refuse({ status: 503 }, '1-2'),
    act: ({ sdk, message }) => sdk(2).chat.completions.create(message() as never),
  },
  {
    name: 'retries by itself above an SDK without retries',
    scenario: refuse({ status: 503 }, '1-2'),
    async act({ chat, wait }) {
      for (const pause of [500, 1000, 0]) {
        await chat('hello', {}, count(0))
        await wait(pause)
      }
    },
  },
  {
    name: 'makes separate calls that are rejected for good',
    scenario: refuse({ status: 401 }),
    async act({ chat }) {
      for (let turn = 0; turn < 8; turn++) await chat()
    },
  },
  {
    name: 'is used by a person who sends a rejected message again now and then',
    scenario: refuse({ status: 400 }),
    async act({ chat, wait }) {
      for (const pause of [4_000, 9_000, 3_000, 20_000, 0]) {
        await chat()
        await wait(pause)
      }
    },
  },
  {
    name: 'retries twice and stops, as a person may, after a 400',
    scenario: refuse({ status: 400 }),
    async act({ chat, wait }) {
      for (const pause of [1_000, 2_000, 0]) {
        await chat()
        await wait(pause)
      }
    },
  },
  {
    name: 'falls back to another model by itself',
    scenario: refuse({ status: 503 }, 1),
    act: async ({ chat }) => [await chat(), await chat('hello', { model: 'anthropic/claude-sonnet-4' })],
  },
  {
    name: 'falls back to another model at once, despite a retry time of the first',
    scenario: refuse(LIMIT, 1),
    act: async ({ chat }) => [await chat(), await chat('hello', { model: 'anthropic/claude-sonnet-4' })],
  },
  {
    name: 'repeats a silent stream after a pause',
    scenario: stalled('1-2'),
    async act({ chat, wait }) {
      for (let tries = 0; tries < 3; tries++) {
        await leaving((signal) => chat('hello', { stream: true }, {}, signal))
        await wait(1000)
      }
    },
  },
  {
    name: 'calls another model after a silent stream',
    scenario: stalled(1),
    act: async ({ chat }) => [
      await leaving((signal) => chat('hello', { stream: true }, {}, signal)),
      await chat('hello', { stream: true, model: 'anthropic/claude-sonnet-4' }),
    ],
  },
  {
    name: 'repeats a cut stream after a pause',
    scenario: cut(1),
    act: async ({ chat, wait }) => [
      await chat('hello', { stream: true }),
      await wait(500),
      await chat('hello', { stream: true }),
    ],
  },
  {
    name: 'repeats a cut stream at once with a retry marker',
    scenario: cut(1),
    act: async ({ chat }) => [
      await chat('hello', { stream: true }, count(0)),
      await chat('hello', { stream: true }, count(1)),
    ],
  },
  {
    name: "repeats a cut direct stream with another provider's API",
    scenario: cut(1),
    act: async ({ post, message }) => [
      await post('/v1/chat/completions', { ...message(), model: 'gpt-4o', stream: true }),
      await post('/v1/messages', {
        model: 'claude-sonnet-4-5',
        max_tokens: 99,
        messages: [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }],
      }),
    ],
  },
  ...[{ type: 'http-error', status: 503 }, { type: 'reset' }].map((fault) => ({
    name: `hedges and its first copy fails late (${fault.type})`,
    scenario: lateFailure(fault),
    query: '?ended=well',
    async act({ chat, underWay }: Client) {
      const first = quietly(chat())
      await underWay()
      await chat()
      await first
    },
  })),
  {
    name: 'races two models, one of which fails at once',
    scenario: refuse({ status: 503 }, 1),
    act: ({ chat }) => Promise.all([chat(), chat('hello', { model: 'anthropic/claude-sonnet-4' })]),
  },
  ...[['Please continue.'], []].flatMap((more) =>
    ['/v1/chat/completions', '/v1/responses', '/v1/messages'].map((path) => ({
      name: `lets the model continue a cut stream of ${path}${more.length > 0 ? ' by an instruction' : ''}`,
      scenario: cut(1, 8),
      query: '?ended=well',
      async act({ words, post, message }: Client) {
        const half = await words('Tell me a story', path)
        expect(half).not.toBe('')
        await post(path, inApi(path, goneOn(message('Tell me a story'), half, ...more)))
      },
    })),
  ),
  {
    name: 'uses a new API key at once after a limit',
    scenario: refuse({ status: 429, retry_after: '20s' }, 1),
    act: async ({ chat, key }) => [
      await chat('hello', {}, { ...count(0), ...key('sk-one') }),
      await chat('hello', {}, { ...count(1), ...key('sk-two') }),
    ],
  },
  {
    name: 'uses four API keys, each with its own limit, without a retry marker',
    scenario: refuse({ status: 429 }, '1-3'),
    async act({ chat, key }) {
      for (const name of ['sk-one', 'sk-two', 'sk-three', 'sk-four']) await chat('hello', {}, key(name))
    },
  },
  {
    name: 'renews a token after a 401',
    scenario: refuse({ status: 401 }, 1),
    act: async ({ chat, key }) => [
      await chat('hello', {}, { ...count(0), ...key('token-old') }),
      await chat('hello', {}, { ...count(1), ...key('token-new') }),
    ],
  },
  {
    name: 'splits a batch in halves, and one of them again',
    scenario: refuse({ status: 500 }, '1-2'),
    act: async ({ embed }) => [
      await embed(['a', 'b', 'c', 'd']),
      await embed(['a', 'b']),
      await embed(['a']),
      await embed(['b']),
      await embed(['c', 'd']),
    ],
  },
  {
    name: 'puts texts into other batches after a failure',
    scenario: refuse({ status: 503 }, 1),
    act: async ({ embed }) => [await embed(['a', 'b']), await embed(['a', 'x']), await embed(['y', 'b'])],
  },
  {
    name: 'rebuilds a prompt with the time of day',
    scenario: refuse({ status: 503 }, 1),
    async act({ chat }) {
      for (const turn of [0, 1]) {
        await chat(`It is ${new Date().toISOString()} (call ${crypto.randomUUID()}). Say hello.`)
        // Otherwise the times may be equal.
        if (turn === 0) await Bun.sleep(2)
      }
    },
  },
  ...[
    ['It is 09:15 now.', 'It is 14:30 now.'],
    ['Request-Id: 01HZXK3M9Q7V8N2P4R6T8W0Y2A.', 'Request-Id: 01HZXK4N0R8W9P3Q5S7V9X1Z3B.'],
    ['Current time: 2024-05-01 10:00:05', 'Current time: 2024-05-01 10:00:06'],
  ].map((texts) => ({
    name: `rebuilds a prompt as ${texts[1]}`,
    scenario: refuse({ status: 503 }, 1),
    async act({ chat }: Client) {
      for (const text of texts) await chat(`${text} Say hello.`)
    },
  })),
  {
    name: 'repeats a conversation without its oldest turns',
    scenario: refuse({ status: 503 }, 1),
    async act({ post, chatOf }) {
      const { messages, ...request } = chatOf('Rye')
      await post('/v1/chat/completions', { ...request, messages })
      await post('/v1/chat/completions', { ...request, messages: messages.slice(-1) })
    },
  },
  {
    name: 'repeats a request that the provider does not store with the other one',
    scenario: refuse({ status: 503 }, 1),
    act: async ({ post }) => [
      await post('/v1/responses', { model: 'gpt-4o', instructions: 'Be brief.', input: 'hello', store: false }),
      await post('/v1/messages', {
        model: 'claude-sonnet-4-5',
        max_tokens: 99,
        system: 'Be brief.',
        messages: [{ role: 'user', content: 'hello' }],
      }),
    ],
  },
  {
    name: 'complains about a cut stream',
    scenario: cut(),
    query: '?ended=badly',
    act: ({ chat }) => chat('hello', { stream: true }),
  },
  {
    name: 'is stopped during a cut stream',
    scenario: cut(),
    query: '?ended=stopped',
    act: ({ chat }) => chat('hello', { stream: true }),
  },
  {
    name: 'gets an error that the scenario expects',
    scenario: refuse({ status: 503 }, '1+', { accept: ['gave-up'] }),
    act: ({ chat }) => chat(),
  },
  {
    name: 'retries an error that says to retry',
    scenario: refuse({ status: 400, headers: { 'x-should-retry': 'true' } }, 1),
    act: ({ sdk, message }) => sdk(2).chat.completions.create(message() as never),
  },
  {
    name: 'gets an error that says not to retry',
    scenario: refuse({ status: 429, headers: { 'x-should-retry': 'false' } }),
    act: ({ sdk, message }) => quietly(sdk(2).chat.completions.create(message() as never)),
  },
  {
    name: 'waits for a date of another clock',
    scenario: refuse({ status: 429, retry_after: '20s', retry_after_form: 'date' }, 1),
    async act({ chat, wait }) {
      await chat()
      await wait(1000)
      await chat()
    },
  },
  {
    name: 'is stopped by its user three times, each time later',
    scenario: SILENT,
    act: leavingInTurn([100, 400, 700]),
    query: '?wait=5s',
  },
  {
    name: 'is stopped by its user long before the timeout that it declares',
    scenario: { name: 'day', rules: [{ name: 'slow', fault: { type: 'delay', for: '1m' } }] },
    async act({ chat, underWay }) {
      const gone = new AbortController()
      const call = quietly(chat('hello', {}, { 'x-stainless-timeout': '600' }, gone.signal))
      await underWay()
      gone.abort()
      await call
    },
    query: '?wait=5s',
  },
  {
    name: 'asks for the parts of a batch when the timeout that it declares has passed',
    scenario: { name: 'day', rules: [{ name: 'silence', when: { calls: 1 }, fault: { type: 'hang' } }] },
    async act({ post, underWay }) {
      const timeout = new AbortController()
      const embed = (input: string[], more: object = {}) =>
        post('/v1/embeddings', { model: 'text-embedding-3-small', input }, more)
      const call = quietly(embed(['a', 'b'], { headers: { 'x-stainless-timeout': '0.1' }, signal: timeout.signal }))
      await underWay()
      await Bun.sleep(110)
      timeout.abort()
      await call
      for (const part of ['a', 'b']) await embed([part])
    },
    query: '?wait=5s',
  },
  {
    name: 'is stopped by its user during a call',
    scenario: { name: 'day', rules: [{ name: 'slow', fault: { type: 'delay', for: '1m' } }] },
    async act({ chat, underWay }) {
      const gone = new AbortController()
      const call = quietly(chat('hello', {}, {}, gone.signal))
      await underWay()
      gone.abort()
      await call
    },
    query: '?wait=5s',
  },
  {
    name: 'is a browser that requests an icon, or a tool that probes the server',
    scenario: refuse({ status: 503 }, 1, { accept: ['gave-up'] }),
    act: async ({ chat, post }) => [
      await chat(),
      await post('/favicon.ico', undefined, { method: 'GET', body: null }),
      await post('/', undefined, { method: 'HEAD', body: null }),
    ],
  },
]

describe('compliant client', () => {
  test.each(innocent)('has no finding when it $name', async (row) => {
    const { findings, ok, calls } = await judged(row)
    expect(findings.filter(({ accepted }) => !accepted)).toEqual([])
    expect({ ok, some: calls > 0 }).toEqual({ ok: true, some: true })
  })
})

describe('verdict', () => {
  test('reports that no calls were received and that a rule was not triggered', async () => {
    const { notices, verdict, inconclusive, ok } = await judged({
      name: '',
      scenario: refuse({ status: 503 }),
      act: async () => {},
    })
    expect(notices).toEqual([
      'no calls were received: does the program use the address of this server?',
      'rule "bad" was not triggered: no request matched',
    ])
    expect({ verdict, inconclusive, ok }).toEqual({
      ...{ verdict: 'inconclusive', inconclusive: ['no fault was injected'], ok: true },
    })
  })

  test('reports running calls without judging them as given up', async () => {
    const client = clientOf('running')
    const rules = [
      { name: 'down', when: { calls: 1 }, fault: { type: 'http-error', status: 503 } },
      { name: 'slow', when: { calls: 2 }, fault: { type: 'delay', for: '1s' } },
    ]
    await client.control('PUT', 'scenario', { name: 'day', rules })
    await client.chat('one')
    const second = client.chat('two')
    const during = await client.underWay()
    expect(during).toMatchObject({ pending: 1, findings: [], ok: true })
    expect(during.notices).toContain('1 call is still in progress: gave-up and swallowed are not reported yet')
    await second
    expect(asText(((await client.control('GET', 'verify?wait=5s')) as Verification).findings)).toEqual([
      'gave-up error',
    ])
  })

  test('reports unknown paths in health and in the list of traces', async () => {
    const client = clientOf('lost')
    const before = (await client.control('GET', 'health')) as { counts: { unknown_path_requests: number } }
    const { status, text } = await client.post('/v2/chat/completions', client.message())
    expect(status).toBe(404)
    expect(text).toContain('there is no path /v2/chat/completions: did you mean /v2/router/chat/completions?')
    const after = (await client.control('GET', 'health')) as { counts: { unknown_path_requests: number } }
    expect(after.counts.unknown_path_requests - before.counts.unknown_path_requests).toBe(1)
    const { data } = (await client.control('GET', 'traces')) as { data: object[] }
    expect(data).toMatchObject([{ operation: 'none', name: 'POST /v2/chat/completions', status: 404 }])
    expect((await client.control('GET', 'verify')) as Verification).toMatchObject({
      calls: 0,
      unknown_paths: [
        { method: 'POST', path: '/v2/chat/completions', count: 1, suggestion: '/v2/router/chat/completions' },
      ],
    })
  })
})

test('verdict: counts no retry for a client that leaves streams early with equal questions', async () => {
  const client = clientOf('leaves-early')
  const openai = new OpenAI({ baseURL: `${base}/v2/router`, apiKey: 'session:leaves-early', maxRetries: 0 })
  for (let count = 0; count < 3; count++) {
    const stream = await openai.chat.completions.create({
      model: 'openai/gpt-4o',
      stream: true,
      messages: [{ role: 'user', content: 'Tell me a long story' }],
    })
    for await (const _ of stream) break
  }
  const { recovery_paths: paths, findings } = (await client.control('GET', 'verify?wait=5s')) as Verification
  expect(paths.client_retry).toBe(0)
  expect(findings).toEqual([])
})

test('recovery paths: count equal calls after an incomplete response as retries only with evidence', async () => {
  const { recovery_paths: paths, session } = await judged({
    scenario: cut(),
    async act({ post, message, noPauses }) {
      await noPauses()
      for (let user = 0; user < 3; user++) {
        await post('/v1/chat/completions', { ...message(), model: 'gpt-4o', stream: true })
        // The time before the connection is reset is no pause.
        passed(50)
      }
    },
  } as Row)
  // A machine that stood still between two of them left a pause that a back-off has as well.
  const { tables } = (await clientOf(session).control('GET', 'snapshot')) as {
    tables: { traces: { arrived: number; left: number }[] }
  }
  const { traces } = tables
  const pauses = traces.slice(1).map(({ arrived }, index) => arrived - (traces[index]?.left ?? 0))
  expect(traces).toHaveLength(3)
  expect([paths.client_retry, paths.stream_recovery]).toEqual([pauses.filter(isBackoff).length, 0])
})
