// A provider on a bare socket that misbehaves in many ways: the way is named in the request.
import { createServer, type Socket } from 'node:net'

/** A step of a response: bytes, a pause in ms, or how the connection ends. */
type Step = string | Buffer | number | 'FIN' | 'RST'

/** What a provider does: once for each request of the same way, the last one for all further ones. */
type Way = (api: 'openai' | 'anthropic', stream: boolean) => Step[][]

const head = (status: number, headers: Record<string, string | number> = {}): string =>
  `HTTP/1.1 ${status} X\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`
const chunk = (text: string | Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n`), Buffer.from(text), Buffer.from('\r\n')])
const LAST = '0\r\n\r\n'
const SSE = { 'content-type': 'text/event-stream', 'transfer-encoding': 'chunked' }
const whole = (status: number, text: string, headers: Record<string, string> = {}): Step[] => [
  head(status, { 'content-type': 'application/json', ...headers, 'content-length': Buffer.byteLength(text) }) + text,
]

const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 }
const answers = {
  openai: (text: string) =>
    JSON.stringify({
      ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'gpt-4o', usage },
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: text }, logprobs: null }],
    }),
  anthropic: (text: string) =>
    JSON.stringify({
      ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', stop_reason: 'end_turn' },
      ...{ stop_sequence: null, content: [{ type: 'text', text }], usage: { input_tokens: 3, output_tokens: 4 } },
    }),
}
const openaiChunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({
    ...{ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o' },
    choices: [{ index: 0, delta, finish_reason: finish }],
  })}\n\n`
const anthropicEvent = (data: { type: string } & Record<string, unknown>) =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
const frames = {
  openai: (texts: readonly string[]) => [
    ...texts.map((content) => openaiChunk({ role: 'assistant', content })),
    openaiChunk({}, 'stop'),
    'data: [DONE]\n\n',
  ],
  anthropic: (texts: readonly string[]) => [
    anthropicEvent({
      type: 'message_start',
      message: { ...JSON.parse(answers.anthropic('')), content: [], stop_reason: null },
    }) + anthropicEvent({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    ...texts.map((text) =>
      anthropicEvent({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } }),
    ),
    anthropicEvent({ type: 'content_block_stop', index: 0 }) +
      anthropicEvent({
        type: 'message_delta',
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: 4 },
      }),
    anthropicEvent({ type: 'message_stop' }),
  ],
}
const TEXTS = ['Hel', 'lo, ', 'wörld']
const errors = {
  openai: (type: string, message: string) => JSON.stringify({ error: { message, type, param: null, code: type } }),
  anthropic: (type: string, message: string) => JSON.stringify({ type: 'error', error: { type, message } }),
}
/** A stream with a pause before each frame; a whole answer where none was requested. */
const streamed =
  (change: (frames: readonly string[]) => Step[], after: Step[] = [LAST]): Way =>
  (api, stream) => [
    stream ? [head(200, SSE), ...change(frames[api](TEXTS)), ...after] : whole(200, answers[api]('Hello')),
  ]
const paced = (texts: readonly string[], ms = 25): Step[] => texts.flatMap((text) => [ms, chunk(text)])
const failing =
  (status: number, type: string, headers: Record<string, string> = {}): Way =>
  (api) => [whole(status, errors[api](type, `the ${type} of the test`), headers)]

/** The ways, by name. */
export const WAYS: Readonly<Record<string, Way>> = {
  ordinary: streamed((all) => paced(all)),
  'one piece': streamed((all) => [chunk(all.join(''))]),
  'rate limit, then an answer': (api) => [
    whole(429, errors[api]('rate_limit_error', 'too many'), {
      'retry-after-ms': '50',
      'x-ratelimit-remaining-requests': '0',
    }),
    whole(200, answers[api]('after the limit')),
  ],
  'server error': failing(500, 'server_error'),
  'bad request': failing(400, 'invalid_request_error'),
  overloaded: failing(529, 'overloaded_error', { 'retry-after': '0' }),
  'HTML error': () => [whole(503, '<html>down</html>', { 'content-type': 'text/html' })],
  'cut by FIN': streamed((all) => [...paced(all.slice(0, 2)), 25], ['FIN']),
  'cut by RST': streamed((all) => [...paced(all.slice(0, 2)), 25], ['RST']),
  'body cut short': (api) => [
    [
      head(200, { 'content-type': 'application/json', 'content-length': 1_000 }) + answers[api]('x').slice(0, 40),
      25,
      'FIN',
    ],
  ],
  'closed without a byte': () => [['FIN']],
  'reset without a byte': () => [['RST']],
  'not HTTP': () => [['hello there\r\n\r\n', 'FIN']],
  'empty body': () => [[head(200, { 'content-type': 'application/json', 'content-length': 0 })]],
  'empty stream': (_, stream) => [stream ? [head(200, SSE), 20, LAST] : whole(200, '')],
  'CRLF lines': streamed((all) => paced(all.map((text) => text.replaceAll('\n', '\r\n')))),
  'no end mark': streamed((all) => paced(all.slice(0, -1))),
  'no blank line at the end': streamed((all) => paced([...all.slice(0, -1), (all.at(-1) ?? '').trimEnd()])),
  'invalid UTF-8': streamed((all) => [
    ...paced(all.slice(0, 1)),
    chunk(Buffer.concat([Buffer.from(': '), Buffer.from([0xff, 0xfe, 0xc3]), Buffer.from('\n\n')])),
    ...paced(all.slice(1)),
  ]),
  'split characters': streamed((all) => {
    const bytes = Buffer.from(all.join(''))
    const at = bytes.indexOf(Buffer.from('ö')) + 1
    return [chunk(bytes.subarray(0, at)), 30, chunk(bytes.subarray(at, at + 3)), 30, chunk(bytes.subarray(at + 3))]
  }),
  'error in the stream': (api, stream) => [
    stream
      ? [
          head(200, SSE),
          ...paced(frames[api](TEXTS).slice(0, 2)),
          ...paced([`event: error\ndata: ${errors[api]('overloaded_error', 'broke off')}\n\n`]),
          LAST,
        ]
      : whole(200, errors[api]('overloaded_error', 'broke off')),
  ],
  'invalid JSON': () => [whole(200, '{"id": "x", "choices": [')],
  'wrong type': (api) => [whole(200, answers[api]('x'), { 'content-type': 'text/html' })],
  'slow start': (api, stream) => [
    [300, ...(stream ? [head(200, SSE), ...paced(frames[api](TEXTS)), LAST] : whole(200, answers[api]('late')))],
  ],
  'invalid chunk': streamed((all) => [...paced(all.slice(0, 2)), 25, 'zz\r\n'], ['FIN']),
  redirect: () => [[head(302, { location: 'http://127.0.0.1:9/elsewhere', 'content-length': 0 })]],
  'comments and retry lines': streamed((all) => paced([': keep-alive\n\n', 'retry: 100\n\n', ...all])),
  silence: () => [[60_000]],
  'silence in the stream': streamed((all) => [...paced(all.slice(0, 2)), 60_000]),
}

/** A provider that does what a request names as `way: NAME`, in the API of its path. */
export async function startMisbehaving() {
  const counts = new Map<string, number>()
  const sockets = new Set<Socket>()
  let requests = 0
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    let request = Buffer.alloc(0)
    socket.on('data', (piece: Buffer) => {
      request = Buffer.concat([request, piece])
      const end = request.indexOf('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(request.toString('latin1'))?.[1] ?? 0)
      if (end < 0 || request.length < end + 4 + length) return
      const text = request.toString()
      request = Buffer.alloc(0)
      requests++
      const name = /way: ([^"/]+)/.exec(text)?.[1] ?? 'ordinary'
      const id = /way: ([^"]+)/.exec(text)?.[1] ?? ''
      const count = counts.get(id) ?? 0
      counts.set(id, count + 1)
      const api = text.split(' ', 2)[1]?.includes('messages') ? 'anthropic' : 'openai'
      const responses = (WAYS[name] ?? WAYS.ordinary)?.(api, /"stream":\s*true/.test(text)) ?? []
      void respond(socket, responses[Math.min(count, responses.length - 1)] ?? [])
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}/v1`,
    requests: () => requests,
    stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

async function respond(socket: Socket, steps: readonly Step[]): Promise<void> {
  for (const step of steps) {
    if (socket.destroyed) return
    if (typeof step === 'number') await Bun.sleep(step)
    else if (step === 'FIN') socket.end()
    else if (step === 'RST') socket.resetAndDestroy()
    else await new Promise<void>((resolve) => socket.write(step, () => resolve()))
  }
}
