// Plays calls over raw sockets against an executable and prints every byte that the client receives. Two executables whose
// outputs are equal send the same bytes: `bun test/support/programs/transcripts.ts dist/understudy > file`.
//
// Printed as `*`, because it depends on the wall clock or on the machine: the `date` header, ports, what `MASKS` lists, the
// times and bytes in the metrics, and of calls that are forwarded, whose clock is real, also what `REAL_TIME` lists. The sizes
// of chunks are resolved, because events that are ready together may share a chunk. A body that is not UTF-8 text is printed as
// its length and SHA-256.
//
// A virtual clock follows a client that really waits after a failed call (src/cli/run/client-time.ts). On a machine so busy that this
// program is held up between two calls, times and ids can differ for that reason alone.
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

type Json = Record<string, unknown>
/** What a call sends besides its method and path. */
interface Sent {
  body?: unknown
  headers?: Record<string, string>
  session?: string
}
/** A response as it arrived. */
interface Received {
  head: string
  status: number
  headers: Map<string, string>
  body: Buffer
  /** How the framing and the connection ended. */
  end: string
}
/** A list of patterns and what is printed instead. */
type Masks = readonly (readonly [RegExp, string])[]

const EVERY_TRACE = 10
const SILENCE_MS = 8_000
const LONG_LINE = 1_500
const POLLS = 100
/** Long enough for a task of an agent on a virtual clock, also on a busy machine. */
const REST_MS = 500
const MASKS: Masks = [
  [/^(date: ).*$/gim, '$1*'],
  // Of a snapshot: when a call arrived and left by the machine's clock, and the client's port.
  [/"(arrived|left)":\d+/g, '"$1":*'],
  [/(connection\\":\\"127\.0\.0\.1:)\d+/g, '$1*'],
]
/** Sessions that forward have a real clock: ids begin with the time, and times are real. */
const REAL_TIME: Masks = [
  ...MASKS,
  [/\b01[0-9A-HJKMNP-TV-Z]{8}(?=[0-9A-HJKMNP-TV-Z]{16})/g, '**********'],
  [/"(\w*_ms|created|created_at|completed_at|expires_at)\\?":(?!1700000000)(\d+(?:\.\d+)?)/g, '"$1":*'],
  // Pieces of a body that the network has divided: in a stored exchange they are printed as one.
  [/"\},\{"at_ms":\*,"text":"/g, ''],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, '*'],
]

const [executable = ''] = Bun.argv.slice(2)
if (!executable) throw new Error('usage: bun test/support/programs/transcripts.ts EXECUTABLE')

let calls = 0
let withTrace = 0

/** One running server and the calls that are played against it. */
function player(port: number, masks: Masks) {
  const masked = (text: string) => masks.reduce((all, [pattern, instead]) => all.replace(pattern, instead), text)

  /** Sends bytes on a connection of its own and reads until it ends. */
  async function exchange(bytes: Buffer): Promise<Received> {
    const { promise, resolve: done } = Promise.withResolvers<string>()
    const pieces: Buffer[] = []
    const socket = connect(port, '127.0.0.1')
    socket.on('data', (piece: Buffer) => void pieces.push(piece))
    socket.on('end', () => done('FIN'))
    socket.on('error', () => done('RST'))
    socket.setTimeout(SILENCE_MS, () => done('silence'))
    socket.write(bytes)
    const end = await promise
    socket.destroy()
    return parse(Buffer.concat(pieces), end)
  }

  /** Makes one call without printing it. */
  function quiet(method: string, path: string, { body, headers = {}, session }: Sent = {}): Promise<Received> {
    const payload = body instanceof Form ? body.bytes : typeof body === 'string' ? body : JSON.stringify(body)
    const content = payload === undefined ? undefined : Buffer.from(payload as string)
    const lines = Object.entries({
      host: 'localhost:8633',
      authorization: 'Bearer any',
      connection: 'close',
      ...(session && { 'x-understudy-session': session }),
      ...(content && {
        'content-type': body instanceof Form ? `multipart/form-data; boundary=${BOUNDARY}` : 'application/json',
        'content-length': String(content.length),
      }),
      ...headers,
    }).map(([name, value]) => `${name}: ${value}\r\n`)
    return exchange(
      Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`), content ?? Buffer.alloc(0)]),
    )
  }

  /** Makes one call and prints its response; each tenth that has a trace is followed by that. */
  async function call(method: string, path: string, sent: Sent = {}): Promise<Json> {
    const received = await quiet(method, path, sent)
    calls += 1
    print(`=== ${calls} ${method} ${path}${sent.session ? ` (${sent.session})` : ''}`, received)
    const trace = received.headers.get('x-understudy-trace')
    if (trace && ++withTrace % EVERY_TRACE === 0) await showTrace(trace, sent)
    return asJson(received.body)
  }

  async function showTrace(trace: string, { session }: Sent) {
    for (const path of [`/_understudy/traces/${trace}`, `/_understudy/traces/${trace}/exchange`])
      print(`--- ${path}`, withoutLength(await quiet('GET', path, { session: session ?? 'default' })))
  }

  function print(title: string, { head, body, end }: Received) {
    const text = body.toString()
    const exact = !body.includes(0) && Buffer.from(text).equals(body)
    const shown = exact ? masked(text) : `${body.length} bytes, SHA-256 ${sha256(body)}`
    process.stdout.write(
      [masked(title), masked(head), '', ...shown.split('\n').flatMap(wrapped), `[${end}]`, '', ''].join('\n'),
    )
  }

  /**
   * Calls `path` unprinted until the text of its response matches, and then on to a fixed number of calls, since the ids of
   * later requests count all requests before them.
   */
  async function until(path: string, pattern: RegExp) {
    let matched = false
    for (let tries = 0; tries < POLLS; tries++) {
      const { body } = await quiet('GET', path)
      matched ||= pattern.test(body.toString())
      if (!matched) await Bun.sleep(10)
    }
    if (!matched) throw new Error(`${path} never matched ${pattern}`)
  }

  return { call, quiet, until, print }
}
type Player = ReturnType<typeof player>

/** A response without the length of its body, which masked figures of other lengths change. */
const withoutLength = ({ head, ...rest }: Received): Received => ({
  ...rest,
  head: head.replace(/^(content-length: ).*$/im, '$1*'),
})

/** The metrics without values that depend on time or the machine. */
function withoutTimes(received: Received): Received {
  const timed = /^((?:process_\w+|understudy_uptime_seconds|\w*(?:_seconds|_ms|_bytes|_workers)\w*)(?:\{.*\})? ).*$/gm
  return withoutLength({ ...received, body: Buffer.from(received.body.toString().replace(timed, '$1*')) })
}

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
const wrapped = (line: string) => (line.length > LONG_LINE ? line.split(/(?<=[,{[])(?=")/) : [line])

function asJson(body: Buffer): Json {
  try {
    return JSON.parse(body.toString()) as Json
  } catch {
    return {}
  }
}

/** The parts of a response, its chunks joined. */
function parse(bytes: Buffer, end: string): Received {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return { head: '', status: 0, headers: new Map(), body: bytes, end: `no response, ${end}` }
  const head = bytes.subarray(0, headEnd).toString('latin1').replaceAll('\r\n', '\n')
  const headers = new Map(
    head
      .split('\n')
      .slice(1)
      .map((line): [string, string] => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
  )
  const rest = bytes.subarray(headEnd + 4)
  const status = Number(head.split(' ')[1])
  if (headers.get('transfer-encoding') !== 'chunked') {
    const length = headers.get('content-length')
    const framing = length === undefined ? 'no length' : rest.length === Number(length) ? 'complete' : 'incomplete'
    return { head, status, headers, body: rest, end: `${framing}, ${end}` }
  }
  const { body, framing } = unchunked(rest)
  return { head, status, headers, body, end: `chunked, ${framing}, ${end}` }
}

function unchunked(bytes: Buffer): { body: Buffer; framing: string } {
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at)
    const line = lineEnd < 0 ? '' : bytes.subarray(at, lineEnd).toString()
    const size = /^[0-9a-f]+$/i.test(line) ? Number.parseInt(line, 16) : Number.NaN
    if (Number.isNaN(size) || lineEnd + 2 + size > bytes.length)
      return { body: Buffer.concat(chunks), framing: `broken at ${JSON.stringify(bytes.subarray(at).toString())}` }
    if (size === 0) {
      const after = bytes.subarray(lineEnd + 4).length
      return { body: Buffer.concat(chunks), framing: after === 0 ? 'complete' : `${after} bytes after the end` }
    }
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = lineEnd + 2 + size + 2
  }
}

const BOUNDARY = 'transcripts-boundary'
/** A multipart body with the same bytes every time. */
class Form {
  readonly bytes: Buffer
  constructor(fields: Json) {
    const parts = Object.entries(fields).flatMap(([name, value]) => {
      const file = Buffer.isBuffer(value)
      const filename = name === 'image' || name === 'mask' ? 'sea.png' : fields.text === true ? 'a.txt' : 'talk.wav'
      const text = typeof value === 'string' ? value : JSON.stringify(value)
      return [
        Buffer.from(
          `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"${file ? `; filename="${filename}"` : ''}\r\n\r\n`,
        ),
        file ? value : Buffer.from(text),
        Buffer.from('\r\n'),
      ]
    })
    this.bytes = Buffer.concat([...parts, Buffer.from(`--${BOUNDARY}--\r\n`)])
  }
}

/** One second of a tone as WAV. */
function tone(): Buffer {
  const rate = 8_000
  const bytes = Buffer.alloc(44 + rate * 2)
  bytes.write('RIFF', 0)
  bytes.writeUInt32LE(36 + rate * 2, 4)
  bytes.write('WAVEfmt ', 8)
  bytes.writeUInt32LE(16, 16)
  bytes.writeUInt16LE(1, 20)
  bytes.writeUInt16LE(1, 22)
  bytes.writeUInt32LE(rate, 24)
  bytes.writeUInt32LE(rate * 2, 28)
  bytes.writeUInt16LE(2, 32)
  bytes.writeUInt16LE(16, 34)
  bytes.write('data', 36)
  bytes.writeUInt32LE(rate * 2, 40)
  for (let at = 0; at < rate; at++) bytes.writeInt16LE(((at * 440) % rate) * 2 - rate, 44 + at * 2)
  return bytes
}
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

/** An operation of the server's OpenAPI document. */
interface Operation {
  method: string
  path: string
  examples: Json[]
  form: boolean
}

function operationsIn(document: Json): Map<string, Operation> {
  const found = new Map<string, Operation>()
  for (const [path, methods] of Object.entries(document.paths as Record<string, Record<string, Json>>))
    for (const [method, operation] of Object.entries(methods)) {
      const content = (operation.requestBody as { content?: Record<string, Json> } | undefined)?.content ?? {}
      const [type = '', body] = Object.entries(content)[0] ?? []
      const examples = Object.values((body?.examples ?? {}) as Record<string, { value: Json }>).map(
        ({ value }) => value,
      )
      const entry = { method: method.toUpperCase(), path, examples, form: type.startsWith('multipart') }
      found.set(String(operation.operationId), entry)
    }
  return found
}

const chat = (text: string, more: Json = {}): Json => ({
  model: 'openai/gpt-4o',
  messages: [{ role: 'user', content: text }],
  ...more,
})
const claude = (text: string, more: Json = {}): Json => ({
  model: 'claude-sonnet-4',
  max_tokens: 200,
  messages: [{ role: 'user', content: text }],
  ...more,
})
const WEATHER = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 1 } },
  required: ['city', 'days'],
}
const FUNCTION = { type: 'function', function: { name: 'get_weather', parameters: WEATHER } }
const CHAT = '/v2/router/chat/completions'
const STREAM = { stream: true, stream_options: { include_usage: true } }

/** Every example of every operation that calls a model, whole and, where it can be, streamed. */
async function examples({ call }: Player, operations: Map<string, Operation>) {
  for (const [id, { method, path, examples: bodies, form }] of operations) {
    if (method !== 'POST' || !/^\/v(2\/router|1)\//.test(path)) continue
    const streams = /(chat\/completions|responses|completions|messages)$/.test(path)
    for (const body of bodies) {
      const { file, image, ...fields } = body
      const send = (one: Json) =>
        call('POST', path, {
          body: form
            ? new Form({
                ...fields,
                ...(file !== undefined && { file: tone() }),
                ...(image !== undefined && { image: PNG }),
              })
            : one,
          session: `examples-${id}`,
        })
      await send(body)
      if (streams)
        await send(
          body.stream === true ? { ...body, stream: false, stream_options: undefined } : { ...body, stream: true },
        )
    }
  }
}

/** Fields of chat completions, responses, completions and messages, whole and streamed. */
async function fields({ call }: Player) {
  const chats: Json[] = [
    chat('Grüße 👋', { n: 3, seed: 7 }),
    chat('Hello!', { logprobs: true, top_logprobs: 3, max_tokens: 5 }),
    chat('Hello!', { stop: ['a', 'e'] }),
    chat('Weather?', { tools: [FUNCTION], tool_choice: 'required' }),
    chat('Weather?', { tools: [FUNCTION], tool_choice: { type: 'function', function: { name: 'get_weather' } } }),
    chat('A city', { response_format: { type: 'json_object' } }),
    chat('A city', { response_format: { type: 'json_schema', json_schema: { name: 'w', schema: WEATHER } } }),
    chat('Think', { model: 'openai/o3', reasoning_effort: 'high' }),
    chat('Think', { model: 'anthropic/claude-sonnet-4', thinking: { type: 'enabled', budget_tokens: 1024 } }),
    chat('Speak', {
      model: 'openai/gpt-4o-audio-preview',
      modalities: ['text', 'audio'],
      audio: { voice: 'alloy', format: 'wav' },
    }),
    chat('Hello {{name}}', { variables: { name: 'Ada' } }),
    chat('{{#names}}Hello {{.}}. {{/names}}', { template_engine: 'mustache', variables: { names: ['Ada', 'Bob'] } }),
    chat('{% for n in names %}Hello {{ n|upper }}. {% endfor %}', {
      template_engine: 'jinja',
      variables: { names: ['Ada', 'Bob'] },
    }),
    chat('{% if %}', { template_engine: 'jinja', variables: { a: 1 } }),
    chat('Hello!', {
      identity: { id: 'user-1', display_name: 'Ada', email: 'ada@example.com' },
      thread: { id: 't-1', tags: ['a'] },
    }),
    chat('Hello!', { metadata: { tier: 'gold' }, name: 'greeting' }),
    chat('Look', {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is it?' },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG.toString('base64')}` } },
          ],
        },
      ],
    }),
    ...[1, 2, 3, 4].map((number) =>
      chat(`Balance ${number}`, {
        load_balancer: {
          type: 'weight_based',
          models: [
            { model: 'openai/gpt-4o', weight: 0.3 },
            { model: 'anthropic/claude-sonnet-4', weight: 0.7 },
          ],
        },
      }),
    ),
  ]
  for (const path of [CHAT, '/v1/chat/completions'])
    for (const body of chats)
      for (const more of [{}, STREAM]) await call('POST', path, { body: { ...body, ...more }, session: 'fields' })
  const responses: Json[] = [
    { model: 'openai/o3', input: 'Think', reasoning: { effort: 'high', summary: 'auto' } },
    { model: 'openai/gpt-4o', input: 'Hello {{name}}', variables: { name: 'Ada' }, instructions: 'Be brief.' },
    { model: 'openai/gpt-4o', input: 'Hello!', max_output_tokens: 16 },
    {
      model: 'openai/gpt-4o',
      input: 'Hello!',
      store: false,
      top_logprobs: 2,
      include: ['message.output_text.logprobs'],
    },
  ]
  for (const path of ['/v2/router/responses', '/v1/responses'])
    for (const body of responses) {
      const { id } = await call('POST', path, { body, session: 'fields' })
      await call('POST', path, { body: { ...body, stream: true }, session: 'fields' })
      await call('POST', path, { body: { ...body, input: 'Go on', previous_response_id: id }, session: 'fields' })
    }
  for (const path of ['/v2/router/completions', '/v1/completions'])
    for (const more of [
      { n: 2, seed: 3 },
      { logprobs: 2, max_tokens: 6 },
      { suffix: 'end', stop: 'a' },
      { echo: true },
    ])
      for (const stream of [{}, STREAM])
        await call('POST', path, {
          body: { model: 'openai/gpt-3.5-turbo-instruct', prompt: 'Once', ...more, ...stream },
          session: 'fields',
        })
  const messages: Json[] = [
    claude('Hello!', { stop_sequences: ['a'] }),
    claude('Hello!', { max_tokens: 3 }),
    claude('Weather?', { tools: [{ name: 'get_weather', input_schema: WEATHER }], tool_choice: { type: 'any' } }),
    claude('Think', { max_tokens: 2000, thinking: { type: 'enabled', budget_tokens: 1024 } }),
    claude('Cache', {
      system: [{ type: 'text', text: 'Be brief. '.repeat(900), cache_control: { type: 'ephemeral' } }],
    }),
    claude('Cache again', {
      system: [{ type: 'text', text: 'Be brief. '.repeat(900), cache_control: { type: 'ephemeral' } }],
    }),
    claude('A city', {
      output_config: { format: { type: 'json_schema', schema: { ...WEATHER, additionalProperties: false } } },
    }),
    claude('Retry', { retry: { count: 2, on_codes: [529] }, fallbacks: [{ model: 'openai/gpt-4o' }] }),
    claude('Kept', { cache: { type: 'exact_match', ttl: 60 } }),
    claude('Kept', { cache: { type: 'exact_match', ttl: 60 } }),
  ]
  const version = { 'anthropic-version': '2023-06-01' }
  for (const body of messages)
    for (const stream of [false, true])
      await call('POST', '/v1/messages', { body: { ...body, stream }, headers: version, session: 'messages' })
  await call('POST', '/v1/messages/count_tokens', {
    body: { ...messages[2], max_tokens: undefined },
    headers: version,
    session: 'messages',
  })
  for (const path of ['/v1/models?limit=3', '/v1/models/claude-sonnet-4']) await call('GET', path, { headers: version })
  for (const path of ['/v1/models', '/v1/models/gpt-4o', '/v1/models/nothing']) await call('GET', path)
}

/** The cache, retries, fallbacks, timeouts and guardrails of the gateway. */
async function gateway({ call }: Player) {
  const kept = { cache: { type: 'exact_match', ttl: 60 } }
  for (const path of [CHAT, '/v1/chat/completions'])
    for (const more of [{}, {}, STREAM, STREAM, {}])
      await call('POST', path, { body: chat('Kept', { ...kept, ...more }), session: 'cache' })
  for (const stream of [false, false, true, true]) {
    await call('POST', '/v2/router/responses', {
      body: { model: 'openai/gpt-4o', input: 'Kept', stream, ...kept },
      session: 'cache',
    })
    await call('POST', '/v2/router/completions', {
      body: { model: 'openai/gpt-4o', prompt: 'Kept', stream, ...kept },
      session: 'cache',
    })
  }
  for (const _ of [1, 2])
    await call('POST', '/v2/router/embeddings', {
      body: { model: 'openai/text-embedding-3-small', input: 'Kept', dimensions: 8, ...kept },
      session: 'cache',
    })
  await call('POST', '/_understudy/sessions/cache/clock', { body: { advance: '2m' } })
  await call('POST', CHAT, { body: chat('Kept', kept), session: 'cache' })

  const options = {
    retry: { count: 2, on_codes: [429, 500, 502, 503] },
    fallbacks: [{ model: 'anthropic/claude-sonnet-4' }],
  }
  for (const scenario of SHIPPED) {
    const session = `scenario-${scenario}`
    await call('POST', '/_understudy/sessions', { body: { name: session, clock: 'virtual', scenario, seed: 5 } })
    for (const more of [{}, options, { ...options, ...STREAM }, { ...options, timeout: { call_timeout: 900 } }])
      await call('POST', CHAT, { body: chat('Hello!', more), session })
    await call('POST', `/s/${session}/v1/chat/completions`, { body: chat('Hello!') })
    await call('POST', `/s/${session}/v1/messages`, { body: claude('Hello!', { stream: true }) })
    await call('POST', `/s/${session}/v2/router/responses`, {
      body: { model: 'openai/gpt-4o', input: 'Hello!', ...options, stream: true },
    })
    await call('GET', '/_understudy/scenario', { session })
    await call('GET', '/_understudy/verify?ended=well', { session })
  }

  const friendly = {
    type: 'llm_eval',
    mode: 'single',
    key: 'friendly',
    path: 'Default',
    model: 'openai/gpt-4o',
    prompt: 'Is this friendly? {{log.output}}',
    output_type: 'boolean',
    guardrail_config: { enabled: true, type: 'boolean', value: true, alert_on_failure: false },
  }
  const session = 'guardrails'
  await call('POST', '/v2/evaluators', { body: friendly, session })
  await call('PUT', '/_understudy/fixtures', {
    body: [
      {
        name: 'unfriendly',
        match: { operation: 'chat.completions', user: { regex: 'friendly\\?.*rude' } },
        reply: { content: 'false' },
      },
      { name: 'rude', match: { operation: 'chat.completions', user: 'Be rude' }, reply: { content: 'How rude.' } },
      { name: 'mail', match: { operation: 'chat.completions', user: 'Mail?' }, reply: { content: 'ada@example.com' } },
    ],
    session,
  })
  for (const [text, id, execute_on] of [
    ['I am ada@example.com', 'svc_pii_detection', 'input'],
    ['Hello!', 'svc_pii_detection', 'input'],
    ['Mail?', 'svc_pii_detection', 'output'],
    ['I will kill him', 'svc_harmful_moderation', 'input'],
    ['Hello!', 'svc_sexual_moderation', 'output'],
    ['Be rude', 'friendly', 'output'],
    ['Hello!', 'friendly', 'output'],
    ['Hello!', 'friendly', 'input'],
    ['Hello!', 'nothing', 'input'],
  ])
    for (const [path, body] of [
      [CHAT, chat(text ?? '')],
      [CHAT, chat(text ?? '', STREAM)],
      ['/v2/router/responses', { model: 'openai/gpt-4o', input: text }],
      ['/v1/chat/completions', chat(text ?? '')],
      ['/v1/messages', claude(text ?? '', { stream: true })],
    ] as const)
      await call('POST', path, { body: { ...body, guardrails: [{ id, execute_on }] }, session })
}
const SHIPPED = [
  'rate-limit-burst',
  'rate-limit-forever',
  'token-quota',
  'flapping',
  'overloaded',
  'unavailable-burst',
  'outage',
  'fallback-down',
  'brown-out',
  'bad-key',
  'content-filter',
  'context-length',
  'empty-response',
  'stream-cut',
  'stream-error',
  'stream-malformed',
  'stream-plain-error',
  'stream-missing-done',
  'client-reset',
  'timeout-then-fallback',
  'slow-first-token',
  'regional-outage',
]

const FAULTS: Json[] = [
  { type: 'http-error', status: 503 },
  { type: 'http-error', status: 'overloaded' },
  { type: 'http-error', status: 429, retry_after: '2s' },
  { type: 'rate-limit', requests: 1, per: '1m' },
  { type: 'auth-failure' },
  { type: 'quota-exceeded' },
  { type: 'context-length' },
  { type: 'content-filter' },
  { type: 'content-filter', as: 'finish' },
  { type: 'content-filter', as: 'error' },
  { type: 'model-not-found' },
  { type: 'delay', for: '2s' },
  { type: 'hang', for: '5s' },
  { type: 'slow-stream', tokens_per_second: 50 },
  { type: 'stall-stream', after_chunks: 4, for: '3s' },
  { type: 'connection-refused' },
  { type: 'reset' },
  { type: 'empty-reply' },
  { type: 'dns-failure' },
  { type: 'tls-failure' },
  { type: 'broken-framing', after_chunks: 4 },
  { type: 'cut-stream', after_chunks: 4 },
  { type: 'stream-error', after_chunks: 4, status: 503 },
  { type: 'malformed-chunk', after_chunks: 4 },
  { type: 'missing-done' },
  { type: 'missing-finish' },
  { type: 'missing-usage' },
  { type: 'duplicate-chunk', chunk: 2 },
  { type: 'reorder-chunks', chunk: 2 },
  { type: 'split-bytes', inside: 'any' },
  { type: 'keep-alive-comments', text: 'ping', every: 2 },
  { type: 'malformed-json' },
  { type: 'malformed-content' },
  { type: 'empty-body' },
  { type: 'truncate-body' },
  { type: 'wrong-content-type', content_type: 'text/html' },
  { type: 'tool-wrong-arguments' },
  { type: 'unknown-tool' },
  { type: 'runaway' },
]

/** Every fault type on each API, whole and streamed, where the gateway and where the client receives it. */
async function faults({ call }: Player, all: readonly Json[]) {
  const tools = { tools: [FUNCTION], tool_choice: 'required' }
  for (const [index, fault] of all.entries()) {
    const more = /tool|runaway/.test(String(fault.type)) ? tools : {}
    const claudeTools =
      'tools' in more ? { tools: [{ name: 'get_weather', input_schema: WEATHER }], tool_choice: { type: 'any' } } : {}
    for (const at of ['provider', 'gateway']) {
      const session = `fault-${index}-${at}`
      const rules = [{ name: 'rule', at, fault }]
      const played = await call('PUT', '/_understudy/scenario', { body: { name: 'faults', rules }, session })
      if ('error' in played || 'code' in played) continue
      for (const stream of [false, true]) {
        const options = stream ? STREAM : {}
        await call('POST', CHAT, { body: chat('Grüße 👋', { ...more, ...options }), session })
        await call('POST', '/v2/router/responses', {
          body: { model: 'openai/gpt-4o', input: 'Grüße 👋', stream },
          session,
        })
        await call('POST', '/v2/router/completions', {
          body: { model: 'openai/gpt-4o', prompt: 'Grüße 👋', max_tokens: 20, ...options },
          session,
        })
        if (at === 'gateway') continue
        await call('POST', '/v1/chat/completions', { body: chat('Grüße 👋', { ...more, ...options }), session })
        await call('POST', '/v1/responses', { body: { model: 'gpt-4o', input: 'Grüße 👋', stream }, session })
        await call('POST', '/v1/messages', { body: claude('Grüße 👋', { ...claudeTools, stream }), session })
        await call('POST', '/v1/messages', {
          body: claude('Grüße 👋', { stream, retry: { count: 1, on_codes: [503] } }),
          session,
        })
      }
      await call('POST', '/v2/router/embeddings', {
        body: { model: 'openai/text-embedding-3-small', input: 'Grüße', dimensions: 4 },
        session,
      })
      await call('POST', '/v2/router/audio/speech', {
        body: { model: 'openai/tts-1', input: 'Hi', voice: 'nova', response_format: 'wav' },
        session,
      })
      await call('GET', '/_understudy/scenario', { session })
    }
  }
}

/** Requests that are refused. */
async function errors({ call }: Player) {
  const headers = { authorization: '' }
  for (const path of [CHAT, '/v1/chat/completions', '/v1/messages', '/v2/router/responses', '/v2/datasets']) {
    const body = path.includes('messages') ? claude('Hello!') : chat('Hello!')
    await call('POST', path, { body, headers })
    await call('POST', path, { body: '{' })
    await call('POST', path, { body: '[[]]' })
    await call('POST', path, { body: { ...body, temperature: 9, n: 0, stream: 'yes', messages: 3 } })
    await call('POST', path, { body: { ...body, model: 'nobody/nothing' } })
    await call('POST', path, { body: { ...body, fallbacks: [{ model: 'x' }], retry: { count: 9 } } })
    await call('POST', path, { body: { ...body, messages: [] } })
    await call('POST', path, { body, headers: { host: 'example.com' } })
    await call('POST', path, { body, headers: { 'x-understudy-session': 'no name' } })
    await call('POST', path, { body, headers: { 'content-type': 'text/plain' } })
    await call('POST', path, { body, headers: { origin: 'http://example.com' } })
    await call('GET', path)
    await call('DELETE', path)
  }
  await call('POST', CHAT, { body: chat('x'.repeat(3_000_000)) })
  await call('POST', CHAT, { body: `${'['.repeat(600)}${']'.repeat(600)}` })
  await call('POST', '/v2/router/audio/speech', { body: { model: 'openai/tts-1', input: '', voice: 'nobody' } })
  await call('POST', '/v2/router/embeddings', { body: { model: 'openai/gpt-4o', input: [] } })
  await call('POST', '/v2/router/images/edits', { body: new Form({ prompt: 'x', model: 'openai/dall-e-2' }) })
  for (const path of [
    '/',
    '/nothing',
    '/v1/files',
    '/v2/nothing',
    '/_understudy/nothing',
    '/_understudy/traces/nothing',
    '/favicon.ico',
  ])
    await call('GET', path)
}

/** The workspace: each record is created, listed, read, updated and deleted with the examples of the document. */
async function workspace(player: Player, operations: Map<string, Operation>) {
  const { call } = player
  const session = 'workspace'
  const kept: Record<string, string> = {}
  async function play(id: string, sent: { body?: unknown; keep?: Record<string, string>; query?: string } = {}) {
    const operation = operations.get(id)
    if (!operation) throw new Error(`the document has no operation ${id}`)
    const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(kept[name] ?? 'nothing'))
    const body =
      sent.body ?? (operation.form ? new Form({ file: Buffer.from('You may return it.') }) : operation.examples[0])
    const answer = await call(operation.method, `${path}${sent.query ?? ''}`, {
      ...(body !== undefined && { body }),
      session,
    })
    const one = Array.isArray(answer.data) ? ((answer.data[0] ?? {}) as Json) : answer
    for (const [name, field] of Object.entries(sent.keep ?? {})) kept[name] = String(one[field])
    return answer
  }
  /** Waits for what happens after a response: events, documents, and tasks that nobody waits for. */
  const settled = async () => {
    await Bun.sleep(REST_MS)
    await player.until('/_understudy/metrics', /^understudy_events_waiting 0$/m)
    await player.until('/_understudy/metrics', /^understudy_worker_jobs 0$/m)
  }
  const id = (name: string) => ({ keep: { [name]: '_id' } })
  const all = async (...ids: string[]) => {
    for (const one of ids) await play(one)
  }

  await play('createProject', id('project_id'))
  await all('listProjects', 'getProject', 'updateProject', 'deleteProject', 'getProject')
  await play('createDataset', id('dataset_id'))
  await play('createDatapoint', id('datapoint_id'))
  await play('createDatapoint', { body: operations.get('createDatapoint')?.examples[1] })
  await all('listDatasets', 'getDataset', 'updateDataset', 'listDatapoints', 'getDatapoint', 'updateDatapoint')
  await play('listDatapoints', { query: '?limit=1' })
  await play('listDatasetVersions', id('version_id'))
  await all('getDatasetVersion', 'deleteDatapoint', 'clearDataset', 'deleteDataset')
  await play('createFile', id('file_id'))
  await play('createKnowledgeBase', id('knowledge_id'))
  await play('createDatasource', { body: { display_name: 'Returns', file_id: kept.file_id }, ...id('datasource_id') })
  await settled()
  await all('getDatasource', 'listFiles', 'getFile', 'updateFile', 'getFileContent', 'listKnowledgeBases')
  await all('getKnowledgeBase', 'updateKnowledgeBase', 'listDatasources', 'updateDatasource', 'createChunks')
  await settled()
  await play('listChunks', id('chunk_id'))
  await all('getChunk', 'searchKnowledgeBase', 'updateChunk', 'findChunks', 'countChunks')
  const knowledge = (search_type: string) => ({
    knowledge_bases: [{ knowledge_id: kept.knowledge_id, search_type, top_k: 2 }],
  })
  for (const type of ['hybrid_search', 'vector_search', 'keyword_search'])
    for (const more of [{}, STREAM])
      await call('POST', CHAT, { body: chat('Can I return it?', { ...more, svc: knowledge(type) }), session })
  await all('deleteChunk')
  await play('deleteChunks', { body: { chunk_ids: [kept.chunk_id] } })
  await all('deleteDatasource', 'deleteKnowledgeBase', 'deleteFile')
  await play('createEvaluator', id('id'))
  await all('listEvaluators', 'getEvaluator', 'updateEvaluator', 'runEvaluator', 'invokeEvaluator')
  await play('listEvaluatorVersions', id('version_id'))
  await all('getEvaluatorVersion', 'deleteEvaluator')
  await play('createHumanReviewSet', id('human_eval_set_id'))
  await all('listHumanReviewSets', 'getHumanReviewSet', 'updateHumanReviewSet', 'deleteHumanReviewSet')
  await play('createTool', id('tool_id'))
  await all('listTools', 'getTool', 'updateTool')
  await play('listToolVersions', id('version_id'))
  await all('getToolVersion', 'deleteTool', 'createTool', 'createTool')
  await play('createContact', id('contact_id'))
  await all('listContacts', 'getContact', 'updateContact', 'deleteContact')
  await play('createMemoryStore', { keep: { memory_store_key: 'key' } })
  await play('createMemory', id('entity_id'))
  await play('createMemoryDocument', id('document_id'))
  await all('listMemoryStores', 'getMemoryStore', 'updateMemoryStore', 'listMemories', 'getMemory', 'updateMemory')
  await all('listMemoryDocuments', 'getMemoryDocument', 'updateMemoryDocument', 'deleteMemoryDocument')
  await all('deleteMemory', 'deleteMemoryStore')
  await play('submitFeedback')
  await settled()
  await play('listFeedback', id('feedback_id'))
  await play('listEvents', id('event_id'))
  await all('getFeedback', 'getEvent', 'removeFeedback')
  await settled()
  await all('listFeedback')

  await play('createAgent', { keep: { key: 'key' } })
  await all('listAgents', 'getAgent', 'updateAgent')
  await play('listAgentVersions', id('version_id'))
  await all('getAgentVersion', 'deleteAgent')
  const clerk = {
    key: 'clerk',
    role: 'Clerk',
    description: 'Helps.',
    instructions: 'Help {{customer}}.',
    path: 'Default',
    model: 'openai/gpt-4o',
  }
  const message = { role: 'user', parts: [{ kind: 'text', text: 'What day is it?' }] }
  const blocking = { message, configuration: { blocking: true }, variables: { customer: 'Ada' } }
  const calling = { tool_calls: [{ name: 'current_date', arguments: {} }] }
  const turns = {
    name: 'turns',
    match: { operation: 'chat.completions', tools: ['current_date'] },
    replies: [calling, { content: 'Today.' }],
  }
  await play('createAgent', {
    body: { ...clerk, settings: { tools: [{ type: 'current_date' }] } },
    keep: { key: 'key' },
  })
  await play('putFixtures', { body: turns })
  await play('submitAgentTask', { body: blocking, keep: { task_id: 'id' } })
  await play('submitAgentTask', { body: { ...blocking, task_id: kept.task_id } })
  await all('getAgentTask', 'listAgentTasks')
  await play('streamAgentTask', { body: { message } })
  await settled()
  await all('runAgent')
  await settled()
  await play('createAgentResponse', { ...id('task_id') })
  await settled()
  await all('getAgentResponse', 'getAgentCard', 'callAgent')
  await settled()
  const rpc = (method: string, params: unknown) => ({ jsonrpc: '2.0', id: 7, method, params })
  const v1 = { 'a2a-version': '1.0' }
  const said = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'Hello' }] }
  const sent = await call('POST', '/a2a/clerk', { body: rpc('SendMessage', { message: said }), headers: v1, session })
  await call('POST', '/a2a/clerk', { body: rpc('SendStreamingMessage', { message: said }), headers: v1, session })
  const sentId = ((sent.result as Json | undefined)?.task as Json | undefined)?.id
  for (const [method, params] of [
    ['GetTask', { id: sentId }],
    ['ListTasks', {}],
    ['CancelTask', { id: sentId }],
    ['Nothing', {}],
  ] as const)
    await call('POST', '/a2a/clerk', { body: rpc(method, params), headers: v1, session })
  const old = { kind: 'message', messageId: 'm-2', role: 'user', parts: [{ kind: 'text', text: 'Hello' }] }
  await call('POST', '/a2a/clerk', { body: rpc('message/stream', { message: old }), session })
  await play('createAgent', {
    body: { ...clerk, key: 'careful', settings: { tool_approval_required: 'all', tools: [{ type: 'current_date' }] } },
    keep: { key: 'key' },
  })
  for (const decision of ['approveTaskCalls', 'rejectTaskCalls', 'cancelAgentTask']) {
    await play('submitAgentTask', { body: blocking, keep: { task_id: 'id' } })
    await play(decision)
    await settled()
    await play('getAgentTask')
  }
  await play('createAgent', {
    body: { ...clerk, key: 'caller', settings: { tools: [{ type: 'function', key: 'look_up_parcel' }] } },
    keep: { key: 'key' },
  })
  await play('putFixtures', {
    body: {
      name: 'f',
      match: { operation: 'chat.completions', tools: ['look_up_parcel'] },
      replies: [{ tool_calls: [{ name: 'look_up_parcel', arguments: { number: '7' } }] }, { content: 'Done.' }],
    },
  })
  const open = await play('submitAgentTask', { body: blocking, keep: { task_id: 'id' } })
  const callId = /"tool_call_id":"([^"]+)"/.exec(JSON.stringify(open))?.[1]
  await play('submitAgentTask', {
    body: {
      task_id: kept.task_id,
      message: { role: 'tool', parts: [{ kind: 'tool_result', tool_call_id: callId, result: { sun: true } }] },
      configuration: { blocking: true },
    },
  })
  const at = 'workspace'
  await call('PUT', '/_understudy/scenario', {
    body: {
      name: 'w',
      rules: [
        {
          name: 'w',
          at,
          match: { operation: '*' },
          when: { calls: '1-2' },
          fault: { type: 'http-error', status: 503 },
        },
      ],
    },
    session,
  })
  await all('listContacts', 'createContact', 'listContacts', 'getScenario', 'deactivateScenario')
  await all('saveSnapshot')
  await call('GET', '/_understudy/traces?limit=3', { session })
}

/** Sessions, clock, seeds and fixtures. */
async function control({ call }: Player) {
  await call('POST', '/_understudy/sessions', {
    body: { name: 'mine', clock: 'virtual', seed: 9, scenario: 'rate-limit-burst' },
  })
  for (const path of ['/s/mine/v2/router/chat/completions', '/s/mine/v1/chat/completions', '/s/mine/v1/messages'])
    await call('POST', path, { body: path.includes('messages') ? claude('Hello!') : chat('Hello!') })
  await call('POST', CHAT, { body: chat('Hello!'), headers: { authorization: 'Bearer session:mine' } })
  await call('POST', CHAT, { body: chat('Hello!'), headers: { authorization: 'Bearer key#mine' } })
  for (const body of [{ advance: '10m' }, { freeze: true }, { resume: true }, { set: '2025-06-01T00:00:00Z' }, {}])
    await call('POST', '/_understudy/sessions/mine/clock', { body })
  await call('POST', CHAT, { body: chat('Hello!'), session: 'mine' })
  for (const path of ['/_understudy/sessions/mine', '/_understudy/sessions/nothing']) await call('GET', path)
  await call('PUT', '/_understudy/sessions/mine', { body: { clock: 'virtual', seed: 10 } })
  await call('POST', CHAT, { body: chat('Hello!'), session: 'mine' })
  await call('POST', '/_understudy/sessions/mine/reset')
  // Until it is answered: the clock would follow a client that waits after a failure.
  for (const _ of [1, 2, 3]) await call('POST', CHAT, { body: chat('Hello!'), session: 'mine' })
  const traces = (await call('GET', '/_understudy/traces', { session: 'mine' })).data as { id: string }[]
  for (const end of ['', '/waterfall', '/exchange', '/made'])
    await call('GET', `/_understudy/traces/${traces[0]?.id}${end}`, { session: 'mine' })
  await call('POST', '/_understudy/verify', {
    body: { expect: [{ provider: 'openai', attempts: '2+' }] },
    session: 'mine',
  })
  await call('DELETE', '/_understudy/scenario', { session: 'mine' })
  await call('PUT', '/_understudy/fixtures', {
    body: [
      {
        name: 'greeting',
        match: { operation: 'chat.completions', user: { regex: '^Hello (?<who>\\w+)' } },
        reply: { content: 'Hi {{captures.who}}!' },
      },
      {
        name: 'error',
        match: { operation: 'chat.completions', user: 'Fail' },
        reply: {
          error: { status: 429, type: 'rate_limit_error', message: 'Slow down.', headers: { 'retry-after': 7 } },
        },
      },
      {
        name: 'tool',
        match: { operation: 'chat.completions', user: 'Tool' },
        replies: [
          { tool_calls: [{ name: 'get_weather', arguments: { city: 'Rome', days: 2 } }] },
          { content: 'Sunny.', reasoning: 'It is.' },
          { refusal: 'No.' },
        ],
      },
    ],
    session: 'mine',
  })
  for (const text of ['Hello Ada', 'Fail', 'Tool', 'Tool', 'Tool'])
    for (const path of [CHAT, '/v1/chat/completions', '/v1/messages'])
      for (const stream of [false, true])
        await call('POST', path, {
          body: path.includes('messages')
            ? claude(text, { stream, tools: [{ name: 'get_weather', input_schema: WEATHER }] })
            : chat(text, { stream, tools: [FUNCTION] }),
          session: 'mine',
        })
  await call('GET', '/_understudy/fixtures', { session: 'mine' })
  await call('DELETE', '/_understudy/fixtures', { session: 'mine' })
  await call('GET', '/_understudy/scenarios')
  await call('POST', '/_understudy/scenario/check', {
    body: { text: 'name: busy\nrules:\n  - name: often\n    fault: { type: http-errr }\n' },
  })
  await call('DELETE', '/_understudy/sessions/mine')
  await call('POST', '/_understudy/seed', {
    body: { yaml: 'contacts: [{ external_id: ada, display_name: Ada }]' },
    session: 'seeded',
  })
  await call('GET', '/_understudy/calls?limit=2')
  for (const path of ['/_understudy/livez', '/_understudy/readyz']) await call('GET', path)
}

/** A provider that answers by the model's name and by the form that is asked for. */
function startProvider() {
  const encoder = new TextEncoder()
  const event = (data: unknown, name?: string) =>
    `${name ? `event: ${name}\n` : ''}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`
  const pieces = ['Grü', 'ße ', '👋', ' there.']
  const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1700000000, model: 'm' }
  const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 }
  const chunk = (delta: Json, finish_reason: string | null = null) => ({
    ...head,
    choices: [{ index: 0, delta, finish_reason }],
  })
  const chatStream = () => [
    event(chunk({ role: 'assistant', content: '' })),
    ': a comment\n\n',
    ...pieces.map((content) => event(chunk({ content }))),
    event(chunk({}, 'stop')),
    event({ ...head, choices: [], usage }),
    event('[DONE]'),
  ]
  const claudeMessage = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [] as Json[],
    stop_reason: null as string | null,
    stop_sequence: null,
    usage: { input_tokens: 3, output_tokens: 1 },
  }
  const claudeStream = () => [
    event({ type: 'message_start', message: claudeMessage }, 'message_start'),
    event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }, 'content_block_start'),
    event({ type: 'ping' }, 'ping'),
    ...pieces.map((text) =>
      event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }, 'content_block_delta'),
    ),
    event({ type: 'content_block_stop', index: 0 }, 'content_block_stop'),
    event(
      { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 4 } },
      'message_delta',
    ),
    event({ type: 'message_stop' }, 'message_stop'),
  ]
  const response = (status: string, output: Json[]) => ({
    id: 'resp_1',
    object: 'response',
    created_at: 1700000000,
    model: 'm',
    status,
    output,
    usage: { input_tokens: 3, output_tokens: 4, total_tokens: 7 },
  })
  const said = {
    type: 'message',
    id: 'msg_1',
    status: 'completed',
    role: 'assistant',
    content: [{ type: 'output_text', text: pieces.join(''), annotations: [] }],
  }
  const responseStream = () => {
    const where = { item_id: 'msg_1', output_index: 0, content_index: 0 }
    const events: Json[] = [
      { type: 'response.created', response: response('in_progress', []) },
      { type: 'response.output_item.added', output_index: 0, item: { ...said, status: 'in_progress', content: [] } },
      { type: 'response.content_part.added', ...where, part: { type: 'output_text', text: '', annotations: [] } },
      ...pieces.map((delta) => ({ type: 'response.output_text.delta', ...where, delta })),
      { type: 'response.output_text.done', ...where, text: pieces.join('') },
      { type: 'response.content_part.done', ...where, part: said.content[0] },
      { type: 'response.output_item.done', output_index: 0, item: said },
      { type: 'response.completed', response: response('completed', [said]) },
    ]
    return events.map((data, sequence_number) => event({ ...data, sequence_number }, String(data.type)))
  }
  const whole = (path: string): Json => {
    if (path.endsWith('/messages'))
      return { ...claudeMessage, content: [{ type: 'text', text: pieces.join('') }], stop_reason: 'end_turn' }
    if (path.endsWith('/count_tokens')) return { input_tokens: 3 }
    if (path.endsWith('/responses')) return response('completed', [said])
    if (path.endsWith('/embeddings'))
      return {
        object: 'list',
        model: 'm',
        data: [{ object: 'embedding', index: 0, embedding: [0.1, 0.2] }],
        usage: { prompt_tokens: 3, total_tokens: 3 },
      }
    if (path.endsWith('/moderations')) return { id: 'modr-1', model: 'm', results: [] }
    if (path.endsWith('/chat/completions'))
      return {
        ...head,
        object: 'chat.completion',
        choices: [
          { index: 0, message: { role: 'assistant', content: pieces.join(''), extra: 1 }, finish_reason: 'stop' },
        ],
        usage,
      }
    return {
      ...head,
      object: 'text_completion',
      choices: [{ index: 0, text: pieces.join(''), logprobs: null, finish_reason: 'stop' }],
      usage,
    }
  }
  const streamed = (path: string) =>
    path.endsWith('/messages')
      ? claudeStream()
      : path.endsWith('/responses')
        ? responseStream()
        : path.endsWith('/chat/completions')
          ? chatStream()
          : [
              ...pieces.map((text) =>
                event({ ...head, object: 'text_completion', choices: [{ index: 0, text, finish_reason: null }] }),
              ),
              event({ ...head, object: 'text_completion', choices: [{ index: 0, text: '', finish_reason: 'stop' }] }),
              event('[DONE]'),
            ]

  return Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url)
      const body = asJson(Buffer.from(await request.arrayBuffer()))
      const model = String(body.model)
      const headers: Record<string, string> = {
        'x-request-id': 'req_1',
        date: 'Wed, 01 Jan 2025 00:00:00 GMT',
        'x-custom': 'kept',
      }
      const status = Number(/^s(\d+)$/.exec(model)?.[1])
      if (status) {
        const error = {
          message: `status ${status}, key ${request.headers.get('authorization')}`,
          type: 'server_error',
          param: null,
          code: 'odd',
        }
        return Response.json({ error }, { status, headers: { ...headers, 'retry-after': '0' } })
      }
      if (model === 'html')
        return new Response('<h1>Bad gateway</h1>', {
          status: 502,
          headers: { ...headers, 'content-type': 'text/html' },
        })
      if (model === 'not-json')
        return new Response('{"id":', { headers: { ...headers, 'content-type': 'application/json' } })
      if (model === 'empty') return new Response('', { headers: { ...headers, 'content-type': 'application/json' } })
      if (model === 'redirect')
        return new Response(null, { status: 302, headers: { ...headers, location: '/elsewhere' } })
      if (body.stream !== true) return Response.json(whole(pathname), { headers })
      const all = streamed(pathname)
      const sent =
        model === 'cut'
          ? all.slice(0, 4)
          : model === 'odd'
            ? all.toSpliced(4, 0, 'data: {"half\n\n')
            : model === 'in-band'
              ? [...all.slice(0, 4), event({ error: { message: 'overloaded', type: 'server_error' } })]
              : all
      const stream = new ReadableStream({
        async start(controller) {
          // Each piece is cut in two, inside of a line.
          for (const piece of sent) {
            const bytes = encoder.encode(piece)
            controller.enqueue(bytes.subarray(0, bytes.length >> 1))
            await Bun.sleep(2)
            controller.enqueue(bytes.subarray(bytes.length >> 1))
            await Bun.sleep(2)
          }
          controller.close()
        },
      })
      return new Response(stream, { headers: { ...headers, 'content-type': 'text/event-stream' } })
    },
  })
}

const ODD_MODELS = [
  'm',
  's400',
  's401',
  's404',
  's429',
  's500',
  's529',
  'html',
  'not-json',
  'empty',
  'redirect',
  'cut',
  'odd',
  'in-band',
]

/** Calls that are forwarded, through the gateway and direct. */
async function forwarded(player: Player) {
  const { call } = player
  for (const model of ODD_MODELS)
    for (const stream of [false, true]) {
      const options = stream ? STREAM : {}
      for (const [path, body] of [
        [CHAT, chat('Hello!', { model: `openai/${model}`, ...options })],
        [CHAT, chat('Hello!', { model: `anthropic/${model}`, ...options })],
        [CHAT, chat('Hello!', { model: `openai/${model}`, ...options, fallbacks: [{ model: 'openai/m' }] })],
        ['/v1/chat/completions', chat('Hello!', { model: `openai/${model}`, unknown_field: 1, ...options })],
        ['/v1/messages', claude('Hello!', { model, stream })],
        ['/v1/messages', claude('Hello!', { model: `openai/${model}`, stream })],
        ['/v2/router/responses', { model: `openai/${model}`, input: 'Hello!', stream }],
        ['/v1/responses', { model, input: 'Hello!', stream }],
        ['/v2/router/completions', { model: `openai/${model}`, prompt: 'Hello!', stream }],
      ] as const)
        await call('POST', path, { body, session: `forward-${model}` })
      if (!stream) {
        await call('POST', '/v2/router/embeddings', {
          body: { model: `openai/${model}`, input: 'Hello!' },
          session: `forward-${model}`,
        })
        await call('POST', '/v1/messages/count_tokens', {
          body: claude('Hello!', { model, max_tokens: undefined }),
          session: `forward-${model}`,
        })
      }
    }
  await call('POST', CHAT, {
    body: chat('Hi', { model: 'openai/m', cache: { type: 'exact_match', ttl: 60 } }),
    session: 'forward-cache',
  })
  await call('POST', CHAT, {
    body: chat('Hi', { model: 'openai/m', cache: { type: 'exact_match', ttl: 60 } }),
    session: 'forward-cache',
  })
  const some = [
    'http-error',
    'cut-stream',
    'stream-error',
    'malformed-chunk',
    'missing-done',
    'missing-finish',
    'duplicate-chunk',
    'reorder-chunks',
    'broken-framing',
    'truncate-body',
    'malformed-json',
    'empty-body',
    'reset',
  ]
  for (const fault of FAULTS.filter(({ type }) => some.includes(String(type)))) {
    const session = `forward-fault-${FAULTS.indexOf(fault)}`
    await call('PUT', '/_understudy/scenario', {
      body: { name: 'f', clock: 'real', rules: [{ name: 'rule', fault }] },
      session,
    })
    for (const stream of [false, true])
      for (const [path, body] of [
        [CHAT, chat('Hello!', { model: 'openai/m', stream })],
        ['/v1/chat/completions', chat('Hello!', { model: 'm', stream })],
        ['/v1/messages', claude('Hello!', { model: 'm', stream })],
      ] as const)
        await call('POST', path, { body, session })
  }
}

/** Starts `understudy serve` in a folder; resolves to its port and what stops it. */
async function start(folder: string) {
  const child = Bun.spawn(
    [
      resolve(executable),
      'serve',
      '--db',
      ':memory:',
      '--port',
      '0',
      '--clock',
      'virtual',
      '--skip-latency',
      '--max-body',
      '2MiB',
      '--json',
    ],
    {
      cwd: folder,
      env: { PATH: process.env.PATH ?? '', UNDERSTUDY_PARENT: String(process.pid) },
      stdout: 'pipe',
      stderr: 'ignore',
    },
  )
  const reader = child.stdout.getReader()
  let text = ''
  while (!text.includes('\n')) {
    const { done, value } = await reader.read()
    if (done) throw new Error('the server did not start')
    text += new TextDecoder().decode(value)
  }
  void (async () => {
    while (!(await reader.read()).done);
  })()
  const { url } = JSON.parse(text.slice(0, text.indexOf('\n'))) as { url: string }
  return {
    port: Number(new URL(url).port),
    async stop() {
      child.kill()
      await child.exited
    },
  }
}

const folder = mkdtempSync(join(tmpdir(), 'transcripts-'))
const provider = startProvider()
try {
  // A server keeps the headers of its first 1,000 calls, then of 25 a second: so each part has a server of its own.
  const parts: ((one: Player, operations: Map<string, Operation>) => Promise<void>)[] = [
    examples,
    fields,
    gateway,
    (one) => faults(one, FAULTS),
    errors,
    workspace,
    control,
  ]
  for (const part of parts) {
    const server = await start(folder)
    const one = player(server.port, [...MASKS, [new RegExp(`\\b${server.port}\\b`, 'g'), '*****']])
    const document = (await one.quiet('GET', '/swagger/json')).body
    await part(one, operationsIn(asJson(document)))
    if (part === control) await one.call('GET', '/swagger/json')
    one.print('metrics', withoutTimes(await one.quiet('GET', '/_understudy/metrics')))
    await server.stop()
  }

  const at = `http://127.0.0.1:${provider.port}`
  const entry = (kind: string) => ({
    kind,
    base_url: at,
    api_key: 'sk-a-secret-of-the-transcripts',
    backend: 'forward',
  })
  writeFileSync(
    join(folder, 'understudy.yaml'),
    JSON.stringify({ providers: { openai: entry('openai-compatible'), anthropic: entry('anthropic') } }),
  )
  const forwarding = await start(folder)
  await forwarded(
    player(forwarding.port, [
      ...REAL_TIME,
      [new RegExp(`\\b(?:${provider.port}|${forwarding.port})\\b`, 'g'), '*****'],
    ]),
  )
  await forwarding.stop()
  process.stdout.write(`${calls} calls\n`)
} finally {
  provider.stop(true)
  rmSync(folder, { recursive: true, force: true })
}
