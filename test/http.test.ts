// The rules that every path of the HTTP surface shares: who may call, what is refused, and how a refusal reads.
import { afterAll, describe, expect, test } from 'bun:test'
import { createTestApp, type TestApp } from './support/app.ts'

const CHAT = '/v2/router/chat/completions'
const body = { model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'hello' }] }
const json = { 'content-type': 'application/json' }
const apps: TestApp[] = []
const appWith = (settings: Parameters<typeof createTestApp>[0] = {}) => {
  const app = createTestApp(settings)
  apps.push(app)
  return app
}
const app = appWith()
afterAll(async () => {
  await Promise.all(apps.map((one) => one.close()))
})

/** A request with exactly these headers: nothing is added. */
async function send(target: TestApp, path: string, init: RequestInit = {}) {
  const response = await target.understudy.app.fetch(new Request(`http://localhost${path}`, init))
  return { status: response.status, headers: response.headers, text: await response.text() }
}

/** Holds a body to the one shape of errors, and gives what is inside. */
function errorOf(text: string, status: number) {
  const value = JSON.parse(text)
  const message = expect.any(String)
  const param = value.error?.param === null ? null : expect.any(String)
  expect(value).toEqual({
    code: String(status),
    message,
    error: { message: value.message, type: expect.any(String), param, code: expect.any(String) },
  })
  return value.error as { message: string; type: string; param: string | null; code: string }
}

describe('refusals', () => {
  const huge = JSON.stringify({ ...body, extra: 'x'.repeat(2_000) })
  const stream = (text: string) => new Response(text).body
  const auth = { authorization: 'Bearer any' }
  const small = appWith({ max_body: 1_000 })
  const rows: [string, TestApp, string, RequestInit, number, string, string[]][] = [
    ['no token', app, CHAT, { method: 'POST', body: '{}', headers: json }, 401, 'invalid_token', ['Bearer <token>']],
    [
      'an empty Basic password',
      app,
      CHAT,
      { headers: { authorization: `Basic ${btoa('me:')}` } },
      401,
      'invalid_token',
      [],
    ],
    [
      'a strange host',
      app,
      '/_understudy/health',
      { headers: { host: 'evil.example:4010' } },
      403,
      'host_not_allowed',
      ['"evil.example"', 'loopback'],
    ],
    [
      'a host that begins like loopback',
      app,
      '/swagger',
      { headers: { host: '127.0.0.1.evil.example' } },
      403,
      'host_not_allowed',
      [],
    ],
    ['a host with a space', app, '/s/x/swagger', { headers: { host: 'a b' } }, 403, 'host_not_allowed', ['"a b"']],
    ['an unknown path', app, '/v2/nothing', { headers: auth }, 404, 'unknown_path', ['/v2/nothing', '/swagger']],
    ['the root', app, '/', {}, 404, 'unknown_path', ['/swagger']],
    ['a session without a path', app, '/s/x', {}, 404, 'unknown_path', []],
    ['GET of a POST path', app, CHAT, { headers: auth }, 405, 'method_not_allowed', ['POST', 'GET']],
    [
      'DELETE of a GET path',
      app,
      '/_understudy/health',
      { method: 'DELETE' },
      405,
      'method_not_allowed',
      ['GET, HEAD', 'DELETE'],
    ],
    [
      'POST of a path with a parameter',
      app,
      '/_understudy/traces/x',
      { method: 'POST' },
      405,
      'method_not_allowed',
      [],
    ],
    ['POST of the docs', app, '/swagger/json', { method: 'POST' }, 405, 'method_not_allowed', []],
    [
      'a large body of known length',
      small,
      CHAT,
      { method: 'POST', body: huge, headers: { ...auth, ...json, 'content-length': String(huge.length) } },
      413,
      'request_too_large',
      ['1000 bytes', '--max-body'],
    ],
    [
      'a large body of unknown length',
      small,
      CHAT,
      { method: 'POST', body: stream(huge), headers: { ...auth, ...json } },
      413,
      'request_too_large',
      ['1000 bytes'],
    ],
    [
      'plain text',
      app,
      CHAT,
      { method: 'POST', body: '{}', headers: { ...auth, 'content-type': 'text/plain' } },
      415,
      'unsupported_media_type',
      ['"text/plain"', 'application/json'],
    ],
    [
      'a form',
      app,
      CHAT,
      { method: 'POST', body: new FormData(), headers: auth },
      415,
      'unsupported_media_type',
      ['multipart/form-data'],
    ],
    [
      'broken JSON',
      app,
      CHAT,
      { method: 'POST', body: '{"model":', headers: { ...auth, ...json } },
      400,
      'invalid_json',
      ['not valid JSON'],
    ],
    ['no body', app, CHAT, { method: 'POST', headers: { ...auth, ...json } }, 400, 'invalid_json', []],
    [
      'a list as body',
      app,
      CHAT,
      { method: 'POST', body: '[]', headers: { ...auth, ...json } },
      400,
      'invalid_value',
      ['the body must be an object', '[]'],
    ],
    ['a session name that is none', app, '/s/a%20b/_understudy/traces', {}, 400, 'invalid_session', ['64 letters']],
    [
      'a session header that is none',
      app,
      '/_understudy/traces',
      { headers: { 'x-understudy-session': '../x' } },
      400,
      'invalid_session',
      ['"../x"'],
    ],
    ['an unknown trace', app, '/_understudy/traces/nope', {}, 404, 'trace_not_found', ['"nope"']],
    [
      'a page after an unknown trace',
      app,
      '/_understudy/traces?starting_after=nope',
      {},
      404,
      'trace_not_found',
      ['"nope"'],
    ],
    ['traces of an unknown session', app, '/_understudy/traces?session=nope', {}, 404, 'session_not_found', ['"nope"']],
    ['an unknown query key', app, '/_understudy/traces?foo=1', {}, 400, 'invalid_value', ['the query', '"foo"']],
    [
      'a page that is too long',
      app,
      '/_understudy/traces?limit=999',
      {},
      400,
      'invalid_value',
      ["'limit'", 'at most 200', '999'],
    ],
    ['a page that is no number', app, '/_understudy/traces?limit=many', {}, 400, 'invalid_value', ["'limit'", 'many']],
    [
      'a time that is none',
      app,
      '/_understudy/traces?since=yesterday',
      {},
      400,
      'invalid_value',
      ["'since'", 'yesterday', 'ISO 8601'],
    ],
  ]
  test.each(rows)('%s', async (_, target, path, init, status, code, said) => {
    const answer = await send(target, path, init)
    expect(answer.status).toBe(status)
    expect(answer.headers.get('content-type')).toStartWith('application/json')
    const error = errorOf(answer.text, status)
    expect(error.code).toBe(code)
    for (const part of said) expect(error.message).toContain(part)
  })

  test('the type of an error is the one OpenAI clients know', async () => {
    const type = async (path: string, init: RequestInit = {}) => {
      const { status, text } = await send(app, path, init)
      return errorOf(text, status).type
    }
    expect(await type(CHAT)).toBe('authentication_error')
    expect(await type('/', { headers: { host: 'evil.example' } })).toBe('permission_error')
    expect(await type('/nothing')).toBe('not_found_error')
    expect(await type('/swagger', { method: 'PUT' })).toBe('invalid_request_error')
  })

  test('a 401 says how to authenticate', async () => {
    expect((await send(app, CHAT)).headers.get('www-authenticate')).toContain('Bearer')
  })
})

describe('methods', () => {
  const auth = { authorization: 'Bearer any' }
  const rows: [string, string, number, string | null][] = [
    ['OPTIONS', CHAT, 204, 'POST, OPTIONS'],
    ['OPTIONS', '/_understudy/health', 204, 'GET, HEAD, OPTIONS'],
    ['OPTIONS', '/_understudy/traces/x', 204, 'GET, HEAD, OPTIONS'],
    ['OPTIONS', '/nothing', 404, null],
    ['PUT', CHAT, 405, 'POST, OPTIONS'],
    ['HEAD', CHAT, 405, 'POST, OPTIONS'],
    ['PATCH', '/swagger/assets/swagger-ui.css', 405, 'GET, HEAD, OPTIONS'],
    ['PATCH', '/swagger/assets/swagger-uixcss', 404, null],
  ]
  test.each(rows)('%s %s is %d and allows %s', async (method, path, status, allow) => {
    const answer = await send(app, path, { method, headers: auth })
    expect(answer.status).toBe(status)
    expect(answer.headers.get('allow')).toBe(allow)
  })

  test.each(['/_understudy/health', '/swagger', '/swagger/json'])(
    'HEAD of %s is like GET without the body',
    async (path) => {
      const [head, get] = [await send(app, path, { method: 'HEAD' }), await send(app, path)]
      expect(head.status).toBe(200)
      expect(head.headers.get('content-type')).toBe(get.headers.get('content-type'))
      expect(head.text).toBe('')
    },
  )
})

describe('wrong fields of a chat request', () => {
  const user = (content: unknown) => ({ messages: [{ role: 'user', content }] })
  const deep = (messages: unknown[]) => ({ messages: [...body.messages, ...messages] })
  const rows: [string, object, string | null, string[]][] = [
    ['no model', { model: undefined }, 'model', ['is required', 'a string']],
    ['a model without a provider', { model: 'gpt-4o' }, 'model', ['<provider>/<model>', '"gpt-4o"']],
    ['a model that is a number', { model: 4 }, 'model', ['must be a string', '4']],
    ['no messages', { messages: undefined }, 'messages', ['is required', 'an array']],
    ['an empty conversation', { messages: [] }, 'messages', ['at least 1', '[]']],
    ['messages as text', { messages: 'hello' }, 'messages', ['an array', '"hello"']],
    [
      'an unknown role',
      { messages: [{ role: 'robot', content: 'x' }] },
      'messages[0].role',
      ['"robot"', '"system"', '"developer"', '"user"', '"assistant"', '"tool"'],
    ],
    ['a message without a role', { messages: [{ content: 'x' }] }, 'messages[0].role', ['"user"']],
    ['a message that is text', { messages: ['hello'] }, 'messages[0]', ['an object', '"hello"']],
    [
      'a user message without content',
      deep([{ role: 'user' }]),
      'messages[1].content',
      ['is required', 'a string', 'an array'],
    ],
    ['content that is a number', user(5), 'messages[0].content', ['a string', 'an array', '5']],
    [
      'a part of an unknown type',
      user([{ type: 'video' }]),
      'messages[0].content[0].type',
      ['"video"', '"image_url"', '"text"'],
    ],
    [
      'a text part without its text',
      user([{ type: 'text' }]),
      'messages[0].content[0].text',
      ['is required', 'a string'],
    ],
    [
      'an image detail that is none',
      user([{ type: 'image_url', image_url: { url: 'x', detail: 'huge' } }]),
      'messages[0].content[0].image_url.detail',
      ['"huge"', '"low"', '"high"', '"auto"'],
    ],
    [
      'an audio format that is none',
      user([{ type: 'input_audio', input_audio: { data: 'x', format: 'ogg' } }]),
      'messages[0].content[0].input_audio.format',
      ['"ogg"', '"mp3"', '"wav"'],
    ],
    [
      'a tool message without its call',
      deep([{ role: 'tool', content: 'x' }]),
      'messages[1].tool_call_id',
      ['is required'],
    ],
    [
      'a tool call without an id',
      deep([{ role: 'assistant', tool_calls: [{ function: {} }] }]),
      'messages[1].tool_calls[0].id',
      ['is required'],
    ],
    [
      'a cache lifetime that is none',
      user([{ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '2h' } }]),
      'messages[0].content[0].cache_control.ttl',
      ['"2h"', '"5m"', '"1h"'],
    ],
    ['a hot temperature', { temperature: 3 }, 'temperature', ['at most 2', '3']],
    ['a temperature as text', { temperature: 'warm' }, 'temperature', ['a number', '"warm"']],
    ['a negative top_p', { top_p: -0.1 }, 'top_p', ['at least 0', '-0.1']],
    ['a top_p above 1', { top_p: 1.5 }, 'top_p', ['at most 1', '1.5']],
    ['a top_k below 0', { top_k: -1 }, 'top_k', ['at least 0', '-1']],
    ['a frequency penalty', { frequency_penalty: 2.1 }, 'frequency_penalty', ['at most 2', '2.1']],
    ['a presence penalty', { presence_penalty: -3 }, 'presence_penalty', ['at least -2', '-3']],
    ['no tokens', { max_tokens: 0 }, 'max_tokens', ['at least 1', '0']],
    ['half a token', { max_completion_tokens: 1.5 }, 'max_completion_tokens', ['an integer', '1.5']],
    ['no choices', { n: 0 }, 'n', ['at least 1', '0']],
    ['a seed as text', { seed: 'x' }, 'seed', ['an integer', '"x"']],
    ['a stream flag as text', { stream: 'yes' }, 'stream', ['a boolean', '"yes"']],
    ['stream options without a stream', { stream_options: { include_usage: true } }, 'stream_options', ["'stream'"]],
    ['top_logprobs without logprobs', { top_logprobs: 3 }, 'top_logprobs', ["'logprobs'"]],
    ['too many top_logprobs', { logprobs: true, top_logprobs: 21 }, 'top_logprobs', ['at most 20', '21']],
    ['five stop sequences', { stop: ['a', 'b', 'c', 'd', 'e'] }, 'stop', ['at most 4']],
    ['a stop sequence that is a number', { stop: [1] }, 'stop[0]', ['a string', '1']],
    [
      'a response format that is none',
      { response_format: { type: 'xml' } },
      'response_format.type',
      ['"xml"', '"text"', '"json_object"', '"json_schema"'],
    ],
    [
      'a schema without a name',
      { response_format: { type: 'json_schema', json_schema: {} } },
      'response_format.json_schema.name',
      ['is required'],
    ],
    [
      'a reasoning effort that is none',
      { reasoning_effort: 'max' },
      'reasoning_effort',
      ['"max"', '"none"', '"xhigh"'],
    ],
    [
      'a thinking type that is none',
      { thinking: { type: 'on' } },
      'thinking.type',
      ['"on"', '"disabled"', '"adaptive"', '"enabled"'],
    ],
    ['thinking without a budget', { thinking: { type: 'enabled' } }, 'thinking.budget_tokens', ['is required']],
    ['a tool without a function', { tools: [{ type: 'function' }] }, 'tools[0].function', ['is required', 'an object']],
    [
      'a tool name with a space',
      { tools: [{ type: 'function', function: { name: 'a b' } }] },
      'tools[0].function.name',
      ['"a b"'],
    ],
    [
      'a tool choice that is none',
      { tool_choice: 'maybe' },
      'tool_choice',
      ['"maybe"', '"none"', '"auto"', '"required"'],
    ],
    ['a modality that is none', { modalities: ['video'] }, 'modalities[0]', ['"video"', '"text"', '"audio"']],
    ['audio without its options', { modalities: ['audio'] }, 'audio', ['is required']],
    ['a voice that is none', { audio: { voice: 'bob', format: 'mp3' } }, 'audio.voice', ['"bob"', '"alloy"']],
    ['metadata that is a list', { metadata: [] }, 'metadata', ['an object', '[]']],
    ['metadata that is a number', { metadata: { a: 1 } }, 'metadata.a', ['a string', '1']],
    [
      'too much metadata',
      { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`k${index}`, ''])) },
      'metadata',
      ['at most 16'],
    ],
    ['a long metadata value', { metadata: { a: 'x'.repeat(513) } }, 'metadata.a', ['at most 512']],
    ['a long metadata key', { metadata: { ['k'.repeat(65)]: 'x' } }, `metadata.${'k'.repeat(65)}`, ['at most 64']],
    ['too many retries', { retry: { count: 6 } }, 'retry.count', ['at most 5', '6']],
    ['a status that is none', { retry: { on_codes: [99] } }, 'retry.on_codes[0]', ['at least 100', '99']],
    ['a fallback without a model', { fallbacks: [{}] }, 'fallbacks[0].model', ['is required']],
    ['a cache type that is none', { cache: { type: 'fuzzy' } }, 'cache.type', ['"exact_match"', '"fuzzy"']],
    [
      'a cache lifetime that is too long',
      { cache: { type: 'exact_match', ttl: 259_201 } },
      'cache.ttl',
      ['at most 259200', '259201'],
    ],
    [
      'a weight of 0',
      { load_balancer: { type: 'weight_based', models: [{ model: 'openai/a', weight: 0 }] } },
      'load_balancer.models[0].weight',
      ['at least 0.001', '0'],
    ],
    ['no time', { timeout: { call_timeout: 0 } }, 'timeout.call_timeout', ['at least 1', '0']],
    ['a guardrail without a place', { guardrails: [{ id: 'x' }] }, 'guardrails[0].execute_on', ['"input"', '"output"']],
    ['a service option', { svc: { retry: { count: 9 } } }, 'svc.retry.count', ['at most 5', '9']],
    ['variables that are a list', { variables: [] }, 'variables', ['an object', '[]']],
  ]
  test.each(rows)('%s', async (_, patch, param, said) => {
    const answer = await app.post(CHAT, { ...body, ...patch })
    expect(answer.status).toBe(400)
    const error = errorOf(answer.text, 400)
    expect(error.param).toBe(param)
    expect(error.message).toStartWith(`'${param}' `)
    for (const part of said) expect(error.message).toContain(part)
  })

  test('a long value is cut in the message', async () => {
    const answer = await app.post(CHAT, { ...body, reasoning_effort: 'x'.repeat(5_000) })
    expect(errorOf(answer.text, 400).message.length).toBeLessThan(400)
  })

  test('an unknown provider is 404 and names the known ones', async () => {
    const answer = await app.post(CHAT, { ...body, model: 'nobody/gpt' })
    const error = errorOf(answer.text, 404)
    expect(error).toMatchObject({ code: 'model_not_found', param: 'model' })
    expect(error.message).toContain('"nobody/gpt"')
    expect(error.message).toContain('openai')
  })
})

describe('accepted', () => {
  const rows: [string, object, Record<string, string>][] = [
    ['fields nobody knows', { ...body, user: 'u', extra: { deep: [1] } }, {}],
    ['fields nobody knows in a message', { ...body, messages: [{ role: 'user', content: 'hello', extra: 1 }] }, {}],
    [
      'null for everything optional',
      { ...body, temperature: null, tools: null, stop: null, metadata: null, svc: null },
      {},
    ],
    ['a charset', body, { 'content-type': 'application/json; charset=utf-8' }],
    ['a structured JSON type', body, { 'content-type': 'application/vnd.api+json' }],
    ['a strict client', body, { accept: 'application/json;q=1, text/event-stream;q=0', cookie: '' }],
    ['a loopback name', body, { host: 'app.localhost:4010' }],
    ['the loopback of v6', body, { host: '[::1]:4010' }],
    ['capitals in the host', body, { host: 'LOCALHOST:4010' }],
    ['capitals in the scheme', body, { authorization: 'bearer any' }],
    ['a Basic password', body, { authorization: `Basic ${btoa('me:secret')}` }],
  ]
  test.each(rows)('%s', async (_, request, headers) => {
    const answer = await app.post(CHAT, request, headers)
    expect(answer.text).toContain('"object":"chat.completion"')
    expect(answer.status).toBe(200)
    expect((await app.traceOf(answer)).request).toEqual(request)
  })
})

describe('--token', () => {
  const closed = appWith({ token: ['secret', 'other'] })
  const basic = (password: string) => `Basic ${btoa(`anyone:${password}`)}`
  const paths = [
    CHAT,
    '/_understudy/traces',
    '/_understudy/traces/x',
    '/swagger',
    '/swagger/json',
    '/swagger/assets/swagger-ui.css',
    '/nothing',
    '/s/x/_understudy/traces',
  ]
  test.each(paths)('%s asks for it', async (path) => {
    expect((await send(closed, path)).status).toBe(401)
    const refused = await send(closed, path, { headers: { authorization: 'Bearer wrong' } })
    expect(errorOf(refused.text, 401).message).toContain('--token')
    const admitted = await send(closed, path, { headers: { authorization: 'Bearer secret' } })
    expect(admitted.status).not.toBe(401)
  })

  test.each(['/_understudy/health', '/s/x/_understudy/health'])('%s does not', async (path) => {
    expect((await send(closed, path)).status).toBe(200)
  })

  const rows: [string, number, string | null][] = [
    ['Bearer secret', 200, 'default'],
    ['Bearer other', 200, 'default'],
    ['Bearer secret#mine', 200, 'mine'],
    ['Bearer secret#session:mine', 200, 'mine'],
    [basic('secret'), 200, 'default'],
    [basic('secret#mine'), 200, 'mine'],
    ['Bearer session:mine', 401, null],
    ['Bearer wrong#secret', 401, null],
    ['Bearer secretx', 401, null],
    ['Bearer', 401, null],
    ['secret', 401, null],
    [basic('wrong'), 401, null],
    ['Basic %%%', 401, null],
  ]
  test.each(rows)('authorization %j gives %d in session %s', async (authorization, status, session) => {
    const answer = await closed.post(CHAT, body, { authorization })
    expect(answer.status).toBe(status)
    expect(answer.headers.get('x-understudy-session')).toBe(session)
  })
})

describe('CORS', () => {
  const origin = 'http://localhost:3000'
  const preflight = {
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization, x-mine',
  }
  const names = (headers: Headers) => [...headers.keys()].filter((name) => name.startsWith('access-control-'))

  test('is off unless asked for', async () => {
    const answer = await app.post(CHAT, body, { origin })
    expect(answer.status).toBe(200)
    expect(names(answer.headers)).toEqual([])
    expect(names((await send(app, CHAT, { method: 'OPTIONS', headers: { origin, ...preflight } })).headers)).toEqual([])
  })

  test.each([[[origin]], [['*']], [['http://other.example', origin]]])(
    '%j lets the origin read answers',
    async (cors) => {
      const answer = await appWith({ cors }).post(CHAT, body, { origin })
      expect(answer.status).toBe(200)
      expect(answer.headers.get('access-control-allow-origin')).toBe(origin)
      expect(answer.headers.get('vary')).toContain('Origin')
      expect(answer.headers.get('access-control-expose-headers')).toBe('*')
    },
  )

  const open = appWith({ cors: [origin], token: ['secret'] })
  test('answers a preflight, which has no token', async () => {
    const { status, headers } = await send(open, CHAT, { method: 'OPTIONS', headers: { origin, ...preflight } })
    expect(status).toBe(204)
    expect(headers.get('access-control-allow-origin')).toBe(origin)
    expect(headers.get('access-control-allow-methods')).toContain('POST')
    expect(headers.get('access-control-allow-headers')).toBe('authorization, x-mine')
  })

  test('errors can be read by the page too', async () => {
    const { status, headers } = await send(open, CHAT, { method: 'POST', headers: { origin } })
    expect(status).toBe(401)
    expect(headers.get('access-control-allow-origin')).toBe(origin)
  })

  test('another origin gets nothing', async () => {
    const headers = { origin: 'http://evil.example', ...preflight }
    expect(names((await send(open, CHAT, { method: 'OPTIONS', headers })).headers)).toEqual([])
  })
})

test('a host listened on may be called by its name, and no other', async () => {
  const named = appWith({ host: 'Build.Example', token: ['secret'] })
  const status = async (host: string) => (await send(named, '/_understudy/health', { headers: { host } })).status
  expect(await status('build.example:4010')).toBe(200)
  expect(await status('localhost:4010')).toBe(200)
  expect(await status('other.example:4010')).toBe(403)
})
