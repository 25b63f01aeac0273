// What is rejected on any path, and the error for it; and the methods of a path.
import { afterAll, describe, expect, test } from 'bun:test'
import { send, type TestApp, testApps } from '../support/app.ts'
import { errorOf } from '../support/errors.ts'

const CHAT = '/v2/router/chat/completions'
const body = { model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'hello' }] }
const json = { 'content-type': 'application/json' }
const { appWith, close } = testApps()
const app = appWith()
afterAll(close)

test.each([
  ['Gemini', '/v1beta/models/gemini-3-pro:generateContent'],
  ['Gemini', '/v1/models/gemini-3-pro:streamGenerateContent'],
  ['Azure OpenAI', '/openai/deployments/my-gpt/chat/completions'],
  ['Azure OpenAI', '/v1/deployments/my-gpt/chat/completions'],
  ['Amazon Bedrock Runtime', '/model/anthropic.claude-sonnet-4-v1%3A0/converse-stream'],
  ['Ollama', '/api/chat'],
])('a path of the %s API: its 404 says that the API is not emulated (%s)', async (api, path) => {
  const response = await send(app, path, {
    method: 'POST',
    body: '{}',
    headers: { ...json, authorization: 'Bearer any' },
  })
  const { error } = JSON.parse(response.text)
  expect(error).toMatchObject({
    code: 'unknown_path',
    message: `${path} looks like a path of the ${api} API, which is not emulated; what is: OpenAI's API (/v1) and Anthropic's API (/v1/messages)`,
  })
  expect(response.status).toBe(404)
})

test('an unknown path: is named without the key in it', async () => {
  const headers = { ...json, authorization: 'Bearer any' }
  const key = `ghp_${'Ab1'.repeat(12)}`
  const { text } = await app.fetch(`/v1/${key}/chat`, { method: 'POST', body: '{}', headers })
  expect(text).toContain('/v1/(masked)/chat')
  const verdict = await app.fetch('/_understudy/verify', { headers })
  expect(verdict.text).toContain('(masked)')
  expect(verdict.text).not.toContain(key)
})

test.each(['/api/chat/completions', '/openai/v1/chat/completions', '/models'])(
  'a mistyped base URL is no other API: %s',
  async (path) => {
    const response = await send(app, path, {
      method: 'POST',
      body: '{}',
      headers: { ...json, authorization: 'Bearer any' },
    })
    expect(response.text).not.toContain('not emulated')
  },
)

describe('HTTP error', () => {
  const huge = JSON.stringify({ ...body, extra: 'x'.repeat(2_000) })
  const stream = (text: string) => new Response(text).body
  const auth = { authorization: 'Bearer any' }
  const small = appWith({ max_body: 1_000 })
  const rows: [string, TestApp, string, RequestInit, number, string, string[]][] = [
    ['no token', app, CHAT, { method: 'POST', body: '{}', headers: json }, 401, 'invalid_token', ['Bearer <token>']],
    [
      'a Basic password',
      app,
      CHAT,
      { headers: { authorization: `Basic ${btoa('me:secret')}` } },
      401,
      'invalid_token',
      ['is not a bearer token', 'Bearer <token>'],
    ],
    [
      'a token with a space',
      app,
      '/_understudy/traces',
      { headers: { authorization: 'Bearer session:my tests' } },
      401,
      'invalid_token',
      ['a space', 'Bearer <token>'],
    ],
    [
      'an invalid host',
      app,
      '/_understudy/health',
      { headers: { host: 'evil.example:8633' } },
      403,
      'host_not_allowed',
      ['"evil.example"', 'loopback'],
    ],
    [
      'a host that begins like a loopback address',
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
      'a large body with two content lengths',
      small,
      CHAT,
      {
        method: 'POST',
        body: huge,
        headers: { ...auth, ...json, 'content-length': `${huge.length}, ${huge.length}` },
      },
      413,
      'request_too_large',
      [],
    ],
    [
      'a compressed body',
      app,
      CHAT,
      {
        method: 'POST',
        body: Bun.gzipSync(JSON.stringify(body)),
        headers: { ...auth, ...json, 'content-encoding': 'gzip' },
      },
      415,
      'unsupported_encoding',
      ['"gzip"', 'uncompressed'],
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
    ['an invalid session name', app, '/s/a%20b/_understudy/traces', {}, 400, 'invalid_session', ['110 letters']],
    [
      'an invalid session header',
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
    ['an unknown query key', app, '/_understudy/traces?foo=1', {}, 400, 'invalid_value', ["'foo'", 'starting_after']],
    [
      'a limit that is too high',
      app,
      '/_understudy/traces?limit=999',
      {},
      400,
      'invalid_value',
      ["'limit'", 'at most 200', '999'],
    ],
    [
      'a limit that is not a number',
      app,
      '/_understudy/traces?limit=many',
      {},
      400,
      'invalid_value',
      ["'limit'", 'many'],
    ],
    [
      'an invalid time',
      app,
      '/_understudy/traces?since=yesterday',
      {},
      400,
      'invalid_value',
      ["'since'", 'yesterday', 'ISO 8601'],
    ],
  ]
  test.each(rows)('is right for %s', async (_, target, path, init, status, code, said) => {
    const answer = await send(target, path, init)
    expect(answer.status).toBe(status)
    expect(answer.headers.get('content-type')).toStartWith('application/json')
    const error = errorOf(answer.text, status)
    expect(error.code).toBe(code)
    for (const part of said) expect(error.message).toContain(part)
  })

  test('shows a long client value shortened in the message', async () => {
    const long = 'x'.repeat(15_000)
    const all: [string, Record<string, string>][] = [
      [`/v2/${long}`, auth],
      [CHAT, { ...auth, host: long }],
      [CHAT, { ...auth, 'x-understudy-session': long }],
      [`/s/${long}${CHAT}`, auth],
    ]
    for (const [path, headers] of all) {
      const { status, text } = await send(app, path, { method: 'POST', headers, body: '{}' })
      expect(errorOf(text, status).message.length).toBeLessThan(400)
    }
  })

  test('has the type that OpenAI clients know', async () => {
    const type = async (path: string, init: RequestInit = {}) => {
      const { status, text } = await send(app, path, init)
      return errorOf(text, status).type
    }
    expect(await type(CHAT)).toBe('authentication_error')
    expect(await type('/', { headers: { host: 'evil.example' } })).toBe('permission_error')
    expect(await type('/nothing')).toBe('not_found_error')
    expect(await type('/swagger', { method: 'PUT' })).toBe('invalid_request_error')
  })

  test('describes authentication for a 401 without making browsers ask for a password', async () => {
    for (const authorization of ['', 'Bearer', 'Basic eDp5', 'Bearer a b', 'any']) {
      const { status, headers } = await send(app, CHAT, { headers: { authorization } })
      expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="understudy"'])
    }
  })
})

describe('HTTP method', () => {
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
  test.each(rows)('%s on %s returns %d and allows %s', async (method, path, status, allow) => {
    const answer = await send(app, path, { method, headers: auth })
    expect(answer.status).toBe(status)
    expect(answer.headers.get('allow')).toBe(allow)
  })

  test.each(['/_understudy/health', '/swagger', '/swagger/json'])(
    'HEAD on %s is like GET without the body',
    async (path) => {
      const [head, get] = [await send(app, path, { method: 'HEAD' }), await send(app, path)]
      expect(head.status).toBe(200)
      expect(head.headers.get('content-type')).toBe(get.headers.get('content-type'))
      expect(head.headers.get('content-length')).toBe(String(Buffer.byteLength(get.text)))
      expect(head.text).toBe('')
    },
  )

  test('HEAD on an endless stream is answered at once', async () => {
    const head = await send(app, '/_understudy/live', { method: 'HEAD' })
    expect([head.status, head.headers.get('content-type'), head.text]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
      '',
    ])
  })
})
