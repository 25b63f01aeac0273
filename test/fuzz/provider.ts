// A provider that breaks every rule: what it sends is a function of the number in the name of the model, so that a call that was
// answered badly is answered badly again.
import { createServer, type Socket } from 'node:net'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Described } from './document.ts'
import { BROKEN_BYTES, BROKEN_TEXTS, hostileText, hostileValue } from './hostile.ts'
import { type Chance, chanceOf } from './random.ts'
import { changed, type FuzzRequest, makeRequest, type Source } from './requests.ts'

/** Names of the providers that are this one, and the API that each speaks. */
export const HOSTILE_PROVIDERS = { wild: 'openai-compatible', wildclaude: 'anthropic', wildgemini: 'google' } as const
/** What is read of one response, of which each endless one has more. */
export const MAX_RESPONSE = 2 ** 21
const ENDLESS = 2 * MAX_RESPONSE

/** The section `providers` of a settings file that leads to the provider at `url`. */
export const providersAt = (url: string) =>
  Object.fromEntries(
    Object.entries(HOSTILE_PROVIDERS).map(([name, kind]) => [
      name,
      { kind, base_url: `${url}/v1`, api_key: 'sk-hostile-provider', backend: 'forward' },
    ]),
  )

/** Calls that one server of this kind gets: of the router, of the compatible APIs, and a look at what they have left behind. */
const CALLED = /^\/(?:v2\/router|v1)\/|messages$/
const TALKS = /chat\/completions$|messages$/
const LOOKED = /^\/_understudy\/(?:traces|verify|stats|coverage|snapshot|metrics)/

/** Makes up a call that such a provider answers, or now and then a look at what such calls have left behind. */
export function makeForwardedRequest(source: Source): FuzzRequest {
  const { chance } = source
  const looked = chance.oneIn(12)
  const fits = ({ method, path, body }: Described) =>
    looked ? method === 'GET' && LOOKED.test(path) : method === 'POST' && CALLED.test(path) && body !== undefined
  const operations = source.operations.filter(fits)
  if (looked) return withoutFaults(makeRequest({ ...source, operations }))
  const talks = operations.filter(({ path }) => TALKS.test(path))
  const operation = chance.pick(chance.oneIn(2) ? talks : operations)
  const request = withoutFaults(makeRequest({ ...source, operations: [operation] }))
  const { method, path } = operation
  if (request.body && 'form' in request.body) {
    const form = request.body.form.filter(([name]) => name !== 'model')
    return { ...request, method, path, body: { form: [...form, ['model', hostileModel(chance, path)]] } }
  }
  const example =
    operation.body?.examples.length && !chance.oneIn(8)
      ? structuredClone(chance.pick(operation.body.examples))
      : undefined
  const made = example ?? (request.body && 'json' in request.body ? request.body.json : {})
  const json = called(typeof made === 'object' && made !== null ? { ...made } : {}, path, chance)
  return { ...request, method, path, body: { json } }
}

/** Not what makes Understudy itself wait, or send something else than it got. */
function withoutFaults(request: FuzzRequest): FuzzRequest {
  const { 'x-understudy-scenario': _, ...headers } = request.headers
  return { ...request, headers }
}

/** A model of one of them; what is no chat only those of OpenAI's kind answer. */
const hostileModel = (chance: Chance, path: string) => {
  const name = TALKS.test(path) ? chance.pick(Object.keys(HOSTILE_PROVIDERS)) : 'wild'
  return `${name}/hostile-${chance.below(1_000_000)}`
}

/** The body with models of this provider, and without waits between attempts. */
function called(body: Record<string, unknown>, path: string, chance: Chance): object {
  for (const name of ['retry', 'svc', 'load_balancer', 'cache']) delete body[name]
  body.model = hostileModel(chance, path)
  if (chance.oneIn(2)) body.stream = chance.oneIn(2)
  if (chance.oneIn(6)) body.fallbacks = [{ model: hostileModel(chance, path) }]
  else delete body.fallbacks
  return body
}

const CHAT = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'x',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: 'hi',
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
}
const CHUNK = {
  ...{ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'x' },
  choices: [{ index: 0, delta: { role: 'assistant', content: 'hi' }, finish_reason: null }],
}
const MESSAGE = {
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'x', stop_reason: 'end_turn', stop_sequence: null },
  content: [
    { type: 'text', text: 'hi' },
    { type: 'tool_use', id: 't', name: 'f', input: {} },
  ],
  usage: { input_tokens: 1, output_tokens: 1 },
}
const GEMINI = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'hi' }] }, finishReason: 'STOP', index: 0 }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
}
const ERROR = { error: { message: 'no', type: 'invalid_request_error', code: null, param: null } }
const WHOLES: readonly object[] = [
  CHAT,
  MESSAGE,
  GEMINI,
  ERROR,
  { object: 'list', data: [{ object: 'embedding', index: 0, embedding: [0.1, 0.2] }], usage: CHAT.usage, model: 'x' },
  { created: 1, data: [{ b64_json: 'AAAA' }, { url: 'https://example.com/a' }] },
  { results: [{ index: 0, relevance_score: 0.5 }] },
  { id: 'm', results: [{ flagged: true, categories: {}, category_scores: {} }] },
  { text: 'hi', segments: [], words: [] },
  {
    ...{ id: 'resp_1', object: 'response', created_at: 1, status: 'completed', model: 'x' },
    output: [{ type: 'message', id: 'm', role: 'assistant', content: [{ type: 'output_text', text: 'hi' }] }],
  },
]
const EVENTS: readonly object[] = [
  CHUNK,
  { ...CHUNK, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: CHAT.usage },
  GEMINI,
  { type: 'message_start', message: MESSAGE },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hi' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_stop' },
  { type: 'response.created', response: { id: 'resp_1', status: 'in_progress', output: [] } },
  { type: 'response.output_text.delta', delta: 'hi', item_id: 'm', output_index: 0 },
  ERROR,
]

const wrongly = (value: unknown, chance: Chance): unknown => {
  let made = value
  for (let count = chance.below(4); count > 0; count--) made = changed(made, { chance, known: [] })
  return made
}

function bodyOf(chance: Chance): Buffer {
  return Buffer.from(
    chance.pick<() => string | Buffer>([
      () => JSON.stringify(wrongly(chance.pick(WHOLES), chance)) ?? '',
      () => JSON.stringify(wrongly(chance.pick(WHOLES), chance)) ?? '',
      () => events(chance),
      () => events(chance),
      () => chance.pick(BROKEN_TEXTS),
      () => JSON.stringify(hostileValue(chance)) ?? '',
      () => Buffer.from(chance.pick(BROKEN_BYTES), 'base64'),
      () => `<!doctype html><title>${hostileText(chance)}</title>`,
      () => JSON.stringify(CHAT).slice(0, chance.below(300)),
    ])(),
  )
}

function events(chance: Chance): string {
  const line = () => {
    const event = wrongly(chance.pick(EVENTS), chance)
    const data = chance.oneIn(12) ? hostileText(chance) : (JSON.stringify(event) ?? '')
    const { type: named = undefined } = { ...(event as { type?: unknown } | null) }
    const type = typeof named === 'string' ? `event: ${named}\n` : ''
    return chance.pick([
      `${type}data: ${data}\n\n`,
      `data: ${data}\n\n`,
      `data:${data}\r\n\r\n`,
      `data: ${data}\r\r`,
      `data: ${data}\ndata: ${data}\n\n`,
      `: ${data}\n\n`,
      `id: 1\nretry: -1\n\n`,
      `data: ${data}`,
      '\n',
    ])
  }
  const lines = Array.from({ length: chance.pick([0, 1, 3, 40]) }, line)
  return `${chance.oneIn(12) ? '\ufeff' : ''}${lines.join('')}${chance.pick(['', 'data: [DONE]\n\n', 'data: [DONE]', 'data: [DONE]\n\ndata: {}\n\n'])}`
}

const STATUSES = [
  200, 200, 200, 200, 200, 201, 204, 206, 301, 304, 400, 401, 404, 408, 418, 429, 500, 502, 503, 504, 529, 599, 999, 0,
]
const TYPES = [
  ...[
    'application/json',
    'application/json',
    'application/json',
    'text/event-stream',
    'text/event-stream',
    'text/html',
  ],
  ...[
    '',
    'application/json; charset=utf-16',
    'text/event-stream;charset=x',
    'audio/mpeg',
    'x'.repeat(3_000),
    'a/b, c/d',
  ],
]
const SPACES = Buffer.alloc(20_000_000, ' ')
const QUICKLY = { params: { [constants.BROTLI_PARAM_QUALITY]: 3 } }
let bombs: Buffer[] | undefined
/** Bodies that unpack to far more than is read, once and twice packed. */
const bomb = (chance: Chance): [string, Buffer] => {
  bombs ??= [gzipSync(SPACES), gzipSync(gzipSync(SPACES)), brotliCompressSync(SPACES, QUICKLY)]
  const index = chance.below(bombs.length)
  return [['gzip', 'gzip, gzip', 'br'][index] ?? '', bombs[index] ?? Buffer.alloc(0)]
}

const header = (name: string, value: string) => `${name}: ${value}\r\n`
function headersOf(chance: Chance): string {
  return chance.pick<() => string>([
    () => '',
    () => '',
    () => '',
    () => header('x-big', 'x'.repeat(chance.pick([2_000, 200_000]))),
    () => Array.from({ length: 300 }, (_, index) => header(`x-${index}`, 'y')).join(''),
    () => header('retry-after', chance.pick(['-1', 'never', '0', '1e999', 'Thu, 01 Jan 1970 00:00:00 GMT', ''])),
    () => header('x-ratelimit-remaining-requests', chance.pick(['x'.repeat(3_000), '\xe9\xff', '-1'])),
    () => header('request-id', chance.pick(['\x01', '', 'a b', 'x'.repeat(900), '\u00fc'])),
    () => header('set-cookie', 'a=b').repeat(3),
    () => header('content-encoding', chance.pick(['gzip', 'br', 'zstd', 'nope', 'gzip, gzip, gzip, gzip, gzip, gzip'])),
    () => header('location', chance.pick(['/', 'http://127.0.0.1:1/', '//x', 'javascript:0'])),
    () => header('x-understudy-session', 'other') + header('x-request-id', 'theirs'),
    () => 'no colon here\r\n',
    () => ' folded: line\r\n',
    () => header('content-type', 'application/json').repeat(2),
    () => header('date', 'never') + header('connection', 'upgrade') + header('upgrade', 'x'),
  ])()
}

/** What is sent for a call with this number; `pause` waits for so many milliseconds, and tells whether anybody is still there. */
async function* answerOf(chance: Chance, pause: (ms: number) => Promise<boolean>): AsyncGenerator<Buffer> {
  const type = chance.pick(TYPES)
  const status = chance.pick(STATUSES)
  const start = `HTTP/1.1 ${status} ${chance.pick(['OK', '', 'x'.repeat(500)])}\r\n${type && header('content-type', type)}${headersOf(chance)}`
  const sized = (bytes: Buffer, length = bytes.length) => [
    Buffer.from(`${start}content-length: ${length}\r\n\r\n`, 'latin1'),
    bytes,
  ]
  const chunked = Buffer.from(`${start}transfer-encoding: chunked\r\n\r\n`, 'latin1')
  const asChunk = (bytes: Buffer) =>
    Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
  const last = Buffer.from('0\r\n\r\n')
  const body = bodyOf(chance)
  switch (chance.below(16)) {
    // Until who reads has had enough.
    case 0: {
      yield chunked
      const piece = asChunk(
        Buffer.from(chance.pick(['x', 'data: x', ': \n\n', `data: ${JSON.stringify(CHUNK)}\n\n`, '[']).repeat(2_000)),
      )
      for (let sent = 0; sent < ENDLESS && (await pause(0)); sent += piece.length) yield piece
      return
    }
    case 1: {
      const [encoding, bytes] = bomb(chance)
      yield Buffer.from(
        `HTTP/1.1 200 OK\r\ncontent-type: ${chance.oneIn(2) ? 'application/json' : 'text/event-stream'}\r\n`,
      )
      yield Buffer.from(`content-encoding: ${encoding}\r\ncontent-length: ${bytes.length}\r\n\r\n`)
      yield bytes
      return
    }
    case 2:
      // More is announced than comes.
      yield* sized(body, body.length + 100)
      return
    case 3:
      yield* sized(body, Math.max(0, body.length - 10))
      return
    case 4:
      yield* [chunked, Buffer.from('zz\r\nnonsense\r\n')]
      return
    case 5:
      yield* [chunked, asChunk(body)]
      return
    case 6:
      // In pieces that cut characters in two.
      yield chunked
      for (let at = 0; at < Math.min(body.length, 60) && (await pause(1)); at++)
        yield asChunk(body.subarray(at, at + 1))
      yield* [asChunk(body.subarray(60)), last]
      return
    case 7:
      await pause(200)
      return
    case 8:
      yield chunked
      await pause(200)
      return
    case 9:
      yield Buffer.from(
        chance.pick([
          '',
          'HTTP/1.1',
          'nonsense\r\n\r\n',
          'HTTP/2 200\r\n\r\n',
          'HTTP/1.1 100 Continue\r\n\r\n'.repeat(200),
          '\0\0',
        ]),
      )
      return
    case 10: {
      const packed = gzipSync(body)
      yield Buffer.from(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\n\r\n`)
      yield packed.subarray(0, chance.below(packed.length + 1))
      return
    }
    default:
      yield* chance.oneIn(2) ? sized(body) : [chunked, asChunk(body), last]
  }
}

/** Starts the provider on loopback. */
export async function startHostileProvider(): Promise<{ url: string; stop(): void }> {
  const open = new Set<Socket>()
  const answer = async (socket: Socket, number: number) => {
    const pause = async (ms: number) => {
      await (ms === 0 ? new Promise(setImmediate) : Bun.sleep(ms))
      return !socket.destroyed
    }
    const chance = chanceOf(number)
    const endsBadly = chance.oneIn(6)
    for await (const bytes of answerOf(chance, pause)) {
      if (socket.destroyed) return
      // Who does not read is waited for.
      if (!socket.write(bytes))
        await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), Bun.sleep(1_000)])
    }
    if (endsBadly) socket.resetAndDestroy()
    else socket.end()
  }
  const server = createServer((socket) => {
    let asked = ''
    open.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => open.delete(socket))
    socket.on('data', (bytes: Buffer) => {
      asked = `${asked}${bytes.toString('latin1')}`.slice(-2_000_000)
      const [, number] = /hostile-(\d+)/.exec(asked) ?? []
      if (number === undefined) return
      asked = ''
      socket.removeAllListeners('data')
      socket.on('data', () => {})
      void answer(socket, Number(number))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return {
    url: `http://127.0.0.1:${port}`,
    stop() {
      server.close()
      for (const socket of open) socket.destroy()
    },
  }
}
