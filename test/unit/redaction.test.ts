// What is recorded holds no secret, wherever it stood, and replay still finds it.
import { describe, expect } from 'bun:test'
import { recordedHeaders } from '../../src/cassettes/headers.ts'
import { presetSecretsIn } from '../../src/cassettes/preset.ts'
import { createRedactor, type Redactor } from '../../src/cassettes/redact.ts'
import type { RecordedAttempt, UpstreamBody, UpstreamRequest } from '../../src/contract/core/cassette.ts'
import { cassetteKey } from '../../src/contract/core/cassette-key.ts'
import { PLANTED, secretPart } from '../support/planted-secrets.ts'
import { property, runs, test } from '../support/property.ts'

const KEY = 'provider-key/with+odd=chars-0123456789'
const redactor = (paths: string[] = [], personalNames = false) => createRedactor({ paths, personalNames, keys: [KEY] })

const requestWith = (body: UpstreamBody, more: Partial<UpstreamRequest> = {}): UpstreamRequest => ({
  provider: 'openai',
  operation: 'chat.completions',
  model: 'gpt-4o',
  path: '/v1/chat/completions',
  headers: {},
  body,
  ...more,
})
const chat = (content: unknown, more: object = {}) =>
  requestWith({ kind: 'json', value: { model: 'gpt-4o', messages: [{ role: 'user', content }], ...more } })

const attemptWith = (
  pieces: readonly (string | Uint8Array)[],
  type = 'application/json',
  headers: [string, string][] = [],
): RecordedAttempt => ({
  end: 'complete',
  endedAt: pieces.length,
  response: {
    status: 200,
    headers: [['content-type', type], ...headers],
    at: 1,
    frames: pieces.map((piece, at) => ({
      at,
      bytes: typeof piece === 'string' ? new TextEncoder().encode(piece) : piece,
    })),
  },
})
const bytesOf = ({ response }: RecordedAttempt) => Buffer.concat((response?.frames ?? []).map(({ bytes }) => bytes))
const textOf = (attempt: RecordedAttempt) => bytesOf(attempt).toString('utf8')
const sse = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`
const delta = (content: object) => sse({ id: 'c1', choices: [{ index: 0, delta: content, finish_reason: null }] })
const eventsOf = (text: string) =>
  text
    .split('\n\n')
    .filter((block) => block !== '')
    .map((block) => JSON.parse(block.replace(/^(?:event: .*\n)?data: /, '')))

/** Every offset in the full run, some of them in the quick one. */
const stepOf = (text: string) => Math.ceil(text.length / runs(100))

/** All forms in which a secret could still be read. */
const formsOf = (secret: string) => {
  const json = JSON.stringify(secret).slice(1, -1)
  return [
    ...new Set([secret, json, JSON.stringify(json).slice(1, -1), encodeURIComponent(secret), formEncoded(secret)]),
  ]
}
const formEncoded = (text: string) => new URLSearchParams({ '': text }).toString().slice(1)
function expectGone(text: string, planted: string) {
  for (const form of formsOf(secretPart(planted))) expect(text).not.toContain(form)
}

/** Where a secret is planted in a request, and what must be gone from the redacted one. */
const REQUEST_PLACES: Record<string, (secret: string) => UpstreamRequest> = {
  'a header': (secret) => requestWith({ kind: 'text', text: '' }, { headers: { 'anthropic-beta': `a ${secret}` } }),
  'the query': (secret) =>
    requestWith({ kind: 'text', text: '' }, { path: `/v1/x?a=1&q=${encodeURIComponent(secret)}` }),
  'the query, with plus signs': (secret) =>
    requestWith({ kind: 'text', text: '' }, { path: `/v1/x?a=1&q=${formEncoded(secret)}` }),
  'a text': (secret) => chat(`first ${secret} then`),
  'JSON in a text': (secret) => chat(JSON.stringify({ note: secret, list: [1, secret] })),
  'JSON in JSON in a text': (secret) => chat(JSON.stringify({ note: JSON.stringify({ inner: [`a ${secret}`] }) })),
  'tool arguments': (secret) =>
    chat('x', { tools: [], last: { function: { arguments: JSON.stringify({ value: secret }) } } }),
  'a URL in a text': (secret) => chat(`see https://example.test/a?b=1&note=${encodeURIComponent(secret)}#x`),
  'a URL in a text, with plus signs': (secret) => chat(`see https://example.test/a?note=${formEncoded(secret)}&b=1`),
  'the path of a URL in a text': (secret) =>
    chat(`see https://example.test/of/${encodeURIComponent(`is ${secret} now`)}/x?a=1`),
  'an encoded text': (secret) => chat(encodeURIComponent(`mail ${secret} now`)),
  'JSON in a URL': (secret) => chat(`https://example.test/?q=${encodeURIComponent(JSON.stringify({ a: secret }))}`),
  'the name of a field': (secret) => chat('x', { metadata: { [secret]: 'y' } }),
  'a form': (secret) =>
    requestWith({
      kind: 'form',
      fields: [
        { name: 'prompt', value: secret },
        { name: 'f', file: `${secret}.txt`, type: 'text/plain', size: 1, sha256: '' },
      ],
    }),
  'a text body': (secret) => requestWith({ kind: 'text', text: `hello\n${secret}\n` }),
  'an encoded form': (secret) => requestWith({ kind: 'text', text: `a=1&b=${encodeURIComponent(secret)}&c=2` }),
}
const RESPONSE_PLACES: Record<string, (secret: string) => RecordedAttempt> = {
  JSON: (secret) => attemptWith([JSON.stringify({ choices: [{ message: { content: `It is ${secret}, yes` } }] })]),
  'tool arguments': (secret) =>
    attemptWith([
      JSON.stringify({
        choices: [{ message: { tool_calls: [{ function: { arguments: JSON.stringify({ a: secret }) } }] } }],
      }),
    ]),
  'an error of a proxy': (secret) => attemptWith([`<html><body>failed: ${secret}</body></html>`], 'text/html'),
  'an error': (secret) =>
    attemptWith([JSON.stringify({ error: { message: `Incorrect value provided: ${secret}.` } }, null, 2)]),
  'a comment of a stream': (secret) =>
    attemptWith([`: note ${secret.replaceAll('\n', ' ')}\n\n`, delta({ content: 'x' })], 'text/event-stream'),
  'lines of JSON': (secret) =>
    attemptWith(
      [
        ...(`${JSON.stringify({ message: { content: `a ${secret.slice(0, 9)}` } })}\n${JSON.stringify({ message: { content: `${secret.slice(9)} b` } })}\n`.match(
          /[\s\S]{1,7}/g,
        ) ?? []),
      ],
      'application/x-ndjson',
    ),
}

describe('redaction of every kind', () => {
  test('planted secrets: are of 40 kinds or more', () => {
    expect(Object.keys(PLANTED).length).toBeGreaterThanOrEqual(40)
  })

  test.each(Object.keys(PLANTED))('request: contains no %s in any place', (kind) => {
    const secret = PLANTED[kind] ?? ''
    for (const [place, request] of Object.entries(REQUEST_PLACES)) {
      if (secret.includes('\n') && place === 'a header') continue
      const redacted = redactor().request(request(secret))
      const found = JSON.stringify(redacted)
      expect({ place, found: found.includes('secret:') || found.includes('secret%3A') }).toEqual({ place, found: true })
      expectGone(found, secret)
    }
  })

  test.each(Object.keys(PLANTED))('response: contains no %s in any place', (kind) => {
    const secret = PLANTED[kind] ?? ''
    for (const attempt of Object.values(RESPONSE_PLACES)) {
      const redacted = redactor().attempt(attempt(secret))
      expect(textOf(redacted)).toContain('<secret:')
      // What a stream sent in pieces is one text again.
      const whole = textOf(redacted).replace(/"\}\}\n\{"message":\{"content":"/, '')
      expectGone(whole, secret)
      if (attempt(secret).response?.headers[0]?.[1] === 'application/json') JSON.parse(textOf(redacted))
    }
  })

  property.each(Object.keys(PLANTED))('stream: contains no %s when its text is split at every offset', (kind) => {
    const secret = PLANTED[kind] ?? ''
    const args = JSON.stringify({ value: secret })
    const text = `is ${secret}. So`
    for (let at = 1; at < text.length; at += stepOf(text)) {
      const stream = [
        delta({ content: text.slice(0, at) }),
        delta({ content: text.slice(at) }),
        sse({ choices: [], usage: { total_tokens: 5 } }),
      ]
      const redacted = redactor().attempt(attemptWith(stream, 'text/event-stream'))
      const events = eventsOf(textOf(redacted))
      const joined = events.map((event) => event.choices[0]?.delta.content ?? '').join('')
      expectGone(`${textOf(redacted)}\n${joined}`, secret)
      expect(joined).toContain('<secret:')
      expect(redacted.response?.frames.length).toBe(3)
    }
    for (let at = 1; at < args.length; at += stepOf(args)) {
      const call = (part: string) => delta({ tool_calls: [{ index: 0, function: { arguments: part } }] })
      const redacted = redactor().attempt(
        attemptWith([call(args.slice(0, at)), call(args.slice(at))], 'text/event-stream'),
      )
      const joined = eventsOf(textOf(redacted))
        .map((event) => event.choices[0].delta.tool_calls[0].function.arguments)
        .join('')
      expectGone(`${textOf(redacted)}\n${joined}`, secret)
      expect(Object.keys(JSON.parse(joined))).toEqual(['value'])
    }
  })
})

describe('redaction across frames', () => {
  const whole = Buffer.from(
    [delta({ content: 'é mail jane@' }), delta({ content: 'mail.test 😀 ok' }), delta({ content: '!' })].join(''),
  )

  test('frames: give the same bytes at every border', () => {
    const once = textOf(redactor().attempt(attemptWith([whole], 'text/event-stream')))
    expect(once).toContain('é mail <secret:email:1>')
    expect(once).toContain(' 😀 ok')
    for (let at = 1; at < whole.length; at++) {
      const redacted = redactor().attempt(attemptWith([whole.subarray(0, at), whole.subarray(at)], 'text/event-stream'))
      expect(textOf(redacted)).toBe(once)
    }
    expect(
      textOf(
        redactor().attempt(
          attemptWith(
            [...whole].map((byte) => Uint8Array.of(byte)),
            'text/event-stream',
          ),
        ),
      ),
    ).toBe(once)
  })

  test('frames: keep invalid UTF-8, CRLF and what is not redacted', () => {
    const bytes = Buffer.concat([
      Buffer.from('data: {"a":"jane@mail.test \\u00e9"}\r\n\r\n: '),
      Buffer.from([0xff, 0xc3, 0x28, 0x80]),
      Buffer.from('\r\ndata: [DONE]'),
    ])
    const redacted = bytesOf(redactor().attempt(attemptWith([bytes], 'text/event-stream')))
    expect(redacted.toString('latin1')).toBe(bytes.toString('latin1').replace('jane@mail.test', '<secret:email:1>'))
  })

  test('frames: stay the same objects when nothing is redacted', () => {
    const attempt = attemptWith([delta({ content: 'Hello' })], 'text/event-stream')
    expect(redactor().attempt(attempt).response?.frames).toBe(attempt.response?.frames ?? [])
  })

  test('streams of other APIs: are searched as one text', () => {
    const anthropic = ['j', 'ane@mail', '.test'].map(
      (text) =>
        `event: content_block_delta\n${sse({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })}`,
    )
    const partial = ['{"card": 41111', '11111', '111111', '}'].map((partial_json) =>
      sse({ type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json } }),
    )
    const responses = ['jane@', 'mail.test'].map((text) =>
      sse({ type: 'response.output_text.delta', item_id: 'm', output_index: 0, content_index: 0, delta: text }),
    )
    const google = ['jane@', 'mail.test'].map((text) =>
      sse({ candidates: [{ content: { parts: [{ text }], role: 'model' } }] }),
    )
    const interleaved = [0, 1, 0, 1].map((index, turn) =>
      sse({ choices: [{ index, delta: { content: ['jane@', 'joe@', 'mail.test', 'post.test'][turn] } }] }),
    )
    for (const stream of [anthropic, responses, google]) {
      const text = textOf(redactor().attempt(attemptWith(stream, 'text/event-stream')))
      expect(text).toContain('"<secret:email:1>"')
      expect(text).not.toContain('mail.test')
    }
    const json = textOf(redactor().attempt(attemptWith(partial, 'text/event-stream')))
    expect(
      eventsOf(json)
        .map(({ delta: { partial_json } }) => partial_json)
        .join(''),
    ).toBe('{"card": -1111111111110001}')
    const two = textOf(redactor().attempt(attemptWith(interleaved, 'text/event-stream')))
    expect(two).toContain('<secret:email:1>')
    expect(two).toContain('<secret:email:2>')
    expect(two).not.toContain('.test')
  })

  test('probabilities: lose the tokens of a secret, their bytes and alternatives', () => {
    const token = (text: string) => ({
      token: text,
      logprob: -0.1,
      bytes: [...Buffer.from(text)],
      top_logprobs: [{ token: text, logprob: -0.1, bytes: null }],
    })
    const response = {
      choices: [
        {
          message: { content: 'ok jane@mail.test' },
          logprobs: { content: ['ok', ' jane', '@mail', '.test'].map(token) },
        },
      ],
    }
    const redacted = JSON.parse(textOf(redactor().attempt(attemptWith([JSON.stringify(response)]))))
    expect(redacted.choices[0].logprobs.content).toEqual([
      token('ok'),
      { token: ' <secret:email:1>', logprob: -0.1, bytes: null, top_logprobs: [] },
      { token: '', logprob: -0.1, bytes: null, top_logprobs: [] },
      { token: '', logprob: -0.1, bytes: null, top_logprobs: [] },
    ])
  })

  test('truncated streams: are searched to their end', () => {
    const cut = `${delta({ tool_calls: [{ index: 0, function: { arguments: '{"password":"hunt' } }] })}data: {"choices":[{"delta":{"content":"jane@mail.test`
    const text = textOf(redactor().attempt(attemptWith([cut], 'text/event-stream')))
    expect(text).not.toContain('hunt')
    expect(text).toContain('"content":"<secret:email')
  })

  test('content-length: is that of the redacted body', () => {
    const body = JSON.stringify({ text: 'jane@mail.test' })
    const redacted = redactor().attempt(
      attemptWith([body], 'application/json', [['content-length', String(body.length)]]),
    )
    expect(redacted.response?.headers[1]).toEqual(['content-length', String(bytesOf(redacted).length)])
  })
})

describe('keys of providers', () => {
  const forms = {
    plain: KEY,
    'JSON with slashes': KEY.replaceAll('/', '\\/'),
    'a URL': encodeURIComponent(KEY),
    escaped: [...KEY].map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
    hexadecimal: Buffer.from(KEY).toString('hex'),
    base64: Buffer.from(KEY).toString('base64'),
    'basic authentication': Buffer.from(`user:${KEY}`).toString('base64'),
    'base64 inside of a text': Buffer.from(`ab${KEY}cd`).toString('base64'),
    base64url: Buffer.from(KEY).toString('base64url'),
  }
  test.each(Object.entries(forms))('key: is replaced as %s', (_, form) => {
    const gone = form.slice(4, -6)
    const texts = [`{"error":"bad ${form}"}`, `key ${form} is bad`, `data: x\n: ${form}\n\n`]
    for (const text of texts) {
      expect(textOf(redactor().attempt(attemptWith([text], 'text/plain')))).not.toContain(gone)
      expect(redactor().text(text)).not.toContain(gone)
    }
    expect(JSON.stringify(redactor().request(chat(`it is ${form}`)))).not.toContain(gone)
    const binary = redactor().attempt(
      attemptWith([Buffer.concat([Buffer.from([0, 255]), Buffer.from(form)])], 'audio/mpeg'),
    )
    expect(bytesOf(binary).toString('latin1')).not.toContain(gone)
  })
})

describe('redaction of fields', () => {
  test('redact: replaces the values at a path in requests and responses', () => {
    const own = redactor(['messages[*].content', 'metadata.user', 'choices[*].message.content'])
    const request = chat([{ type: 'text', text: 'Tell me' }], {
      metadata: { user: 12345, plan: 'free', ok: true },
      seed: 4,
    })
    expect(own.request(request).body).toEqual({
      kind: 'json',
      value: {
        model: 'gpt-4o',
        messages: [{ role: 'user', content: [{ type: 'text', text: '<secret:field:1>' }] }],
        metadata: { user: -1111111111100002, plan: 'free', ok: true },
        seed: 4,
      },
    })
    const stream = own.attempt(
      attemptWith([delta({ role: 'assistant', content: 'Once' }), delta({ content: ' upon' })], 'text/event-stream'),
    )
    expect(eventsOf(textOf(stream)).map((event) => event.choices[0].delta.content)).toEqual(['<secret:field:3>', ''])
    const json = own.attempt(
      attemptWith([JSON.stringify({ choices: [{ message: { role: 'assistant', content: 'Once upon' } }] })]),
    )
    expect(JSON.parse(textOf(json)).choices[0].message).toEqual({ role: 'assistant', content: '<secret:field:3>' })
  })

  test('redact: replaces what streams of Responses and Messages send at a path of the whole response', () => {
    const place = { item_id: 'm', output_index: 0, content_index: 0 }
    const redacted = (paths: string[], events: readonly object[]) =>
      eventsOf(textOf(redactor(paths).attempt(attemptWith(events.map(sse), 'text/event-stream'))))
    const content = [{ type: 'output_text', text: 'Once upon' }]
    const item = { id: 'm', type: 'message', content }
    const call = { id: 'f', type: 'function_call', arguments: '{"a":"Bern"}' }
    const responses = [
      { type: 'response.output_item.added', output_index: 0, item: { ...item, content: [] } },
      { type: 'response.output_text.delta', ...place, delta: 'Once' },
      { type: 'response.output_text.delta', ...place, delta: ' upon' },
      { type: 'response.output_text.done', ...place, text: 'Once upon' },
      { type: 'response.content_part.done', ...place, part: content[0] },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.function_call_arguments.delta', item_id: 'f', output_index: 1, delta: '{"a":' },
      { type: 'response.function_call_arguments.delta', item_id: 'f', output_index: 1, delta: '"Bern"}' },
      { type: 'response.completed', response: { id: 'r', text: 'kept', output: [item, call] } },
    ]
    const texts = JSON.stringify(redacted(['output[*].content[*].text'], responses))
    expect(texts).not.toMatch(/Once|upon/)
    expect(texts).toContain('Bern')
    expect(texts).toContain('"text":"kept"')
    const calls = JSON.stringify(redacted(['output[*].arguments'], responses))
    expect(calls).not.toContain('Bern')
    expect(calls).toContain('Once')
    const messages = [
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Once' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: ' upon' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"who":"J' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: 'ane","at":"home"}' } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
    ]
    expect(JSON.stringify(redacted(['content[*].text'], messages))).not.toMatch(/Once|upon/)
    const inputs = JSON.stringify(redacted(['content[*].input.who'], messages))
    expect(inputs).not.toMatch(/"J|ane/)
    expect(inputs).toContain('home')
  })

  test('redact: replaces booleans and keeps null', () => {
    const request = redactor(['metadata']).request(chat('x', { metadata: { a: true, b: null, c: 1.5, d: ['x y'] } }))
    expect((request.body as { value: { metadata: unknown } }).value.metadata).toEqual({
      a: false,
      b: null,
      c: -1111111111100001,
      d: ['<secret:field:2>'],
    })
  })

  test('redact: counts a boolean as replaced, so that its path is not taken for a mistyped one', () => {
    const one = redactor(['store'])
    one.request(chat('x', { store: true }))
    expect(one.report().replaced).toEqual([{ rule: 'redact: store', kind: 'field', count: 1, values: 1 }])
  })

  test.each([
    ['a\n"b" password: <secret:password:1> and <secret:email:2>', 'a\n"b" password: hunter22xyz and a@example.org'],
    ['tab\t<secret:openai-key:1>', 'tab\tsk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD'],
    ['"a\\t<secret:email:1>"', '"a\\tb@example.org"'],
    [-1111111111110001, 4111111111111111],
    [12, 12],
  ])('root: a body that is one value is redacted as %j', (redacted, value) => {
    const body = { kind: 'json' as const, value }
    expect(redactor().request({ ...chat(''), body }).body).toEqual({ kind: 'json', value: redacted })
    const text = redactor().text(JSON.stringify(value))
    expect(text).not.toMatch(/hunter22xyz|sk-proj|example\.org|4111111111111111/)
  })

  test.each(['078-05-1120', '4111-1111-1111-1111', '4111111111111111'])(
    'root: a text of digits is redacted, %s',
    (text) => {
      const body = { kind: 'text' as const, text }
      expect(JSON.stringify(redactor().request({ ...chat(''), body }).body)).not.toContain(text)
      expect(redactor().text(text)).not.toContain(text)
    },
  )

  test('names of people: are replaced only when that is set', () => {
    const text = 'My name is Jane Miller and I am here.'
    expect(JSON.stringify(redactor().request(chat(text)))).toContain('Jane Miller')
    expect(JSON.stringify(redactor([], true).request(chat(text)))).not.toContain('Jane Miller')
  })
})

describe('secrets by their context', () => {
  const SECRET = 'q7Zp-44xWm'
  const CONTEXTS = [
    `Cookie: theme=dark; sid=${SECRET}; other=1`,
    `Authorization: Token ${SECRET}`,
    `curl -u admin:${SECRET} https://example.test`,
    `mysql --password ${SECRET} shop`,
    `my password is ${SECRET}.`,
    `The API key was "${SECRET}"`,
    `<Error><SecretAccessKey>${SECRET}</SecretAccessKey></Error>`,
    `SECRET_KEY_BASE=${SECRET}`,
    `Server=db;User Id=sa;Password=${SECRET};`,
    `export DB_PASSWORD='${SECRET}'`,
    `{"auths": {"hub": {"auth": "${Buffer.from(`joe:${SECRET}`).toString('base64')}"}}} and more`,
    `config: {\\"password\\": \\"${SECRET}\\"} in a log`,
    `redis://:${SECRET}@cache:6379/0`,
    `https://${SECRET}${SECRET}@example.test/`,
    `https://example.test/callback?code=1&access_token=${SECRET}`,
    `key: ${SECRET}a1b2c3d4e5f6`,
    `password="${SECRET}"`,
    `password:${SECRET}`,
    `SMTP_PASS=${SECRET}`,
    `auth: { user: 'joe', db_pass: '${SECRET}' }`,
    `nodemailer: pass: "${SECRET}a1b2c3d4e5f6"`,
    `**Password:** \`${SECRET}\``,
    `- **api_key:** ${SECRET}`,
    `**Password**: ${SECRET}`,
    `\u001b[31mghp_${SECRET.replace('-', '')}0123456789\u001b[0m`,
    `\u001b[1mpassword\u001b[0m: ${SECRET}`,
    `os.environ["DB_PASSWORD"] = "${SECRET}"`,
    `config['password'] = '${SECRET}'`,
    `PGPASSWORD=${SECRET} psql`,
    `PASSWORD_2=${SECRET}`,
    `"password2": "${SECRET}"`,
    `api-key-1: ${SECRET}`,
    `token_2=${SECRET}a1b2c3d4e5f6`,
    `{'clientSecret10': '${SECRET}'}`,
    `CREATE USER 'joe'@'%' IDENTIFIED BY '${SECRET}';`,
    `create user if not exists joe identified by '${SECRET}'`,
    `create user 'ann'@'%' identified by 'x', 'joe'@'%' identified by '${SECRET}'`,
    `grant all on shop.* to joe identified by "${SECRET}"`,
    `ALTER USER joe IDENTIFIED WITH caching_sha2_password BY '${SECRET}'`,
    `ALTER USER joe\n  IDENTIFIED BY PASSWORD '${SECRET}'`,
    `CREATE USER joe IDENTIFIED BY ${SECRET} DEFAULT TABLESPACE users`,
    `run("CREATE USER joe IDENTIFIED BY \\"${SECRET}\\"")`,
    `CREATE USER joe IDENTIFIED BY 'it''s-${SECRET}'`,
    `CREATE ROLE joe WITH LOGIN PASSWORD '${SECRET}' VALID UNTIL 'infinity'`,
    `alter user joe with encrypted password '${SECRET}'`,
    `ALTER ROLE "joe" PASSWORD '${SECRET}';`,
    `create user joe password '${SECRET}' connection limit 5`,
    `CREATE USER joe VALID UNTIL '2027-01-01' CONNECTION LIMIT 3 PASSWORD '${SECRET}'`,
    `... WITH\n  PASSWORD '${SECRET}'`,
    `run("ALTER USER joe WITH PASSWORD '${SECRET}'")`,
    `run("ALTER USER joe WITH PASSWORD \\"${SECRET}\\"")`,
    `ALTER USER joe IDENTIFIED BY 'abcdef12' REPLACE '${SECRET}' RETAIN CURRENT PASSWORD`,
    `alter user joe identified by "abcdef12" replace "${SECRET}"`,
    `ALTER USER joe IDENTIFIED BY abcdef12 REPLACE ${SECRET}`,
    `run("ALTER USER joe IDENTIFIED BY \\"abcdef12\\" REPLACE \\"${SECRET}\\"")`,
    `mysql --password2 ${SECRET} shop`,
    `mysql --password ab12cd34 --password-3 "${SECRET}"`,
    `my password2 is ${SECRET}.`,
    `api key_1 was "${SECRET}"`,
    `newpassword: ${SECRET}`,
    `openaiapikey=${SECRET}`,
    `The password is: ${SECRET}`,
    `{'stdout': 'user: joe\\npassword: ${SECRET}'}`,
    `Result: {"stdout":"a\\r\\nCookie: sid=${SECRET}\\r\\n"}`,
    `lines: "one\\tghp_${SECRET.replace('-', '')}0123456789"`,
    `double: \\\\nDB_PASSWORD=${SECRET}`,
    `C:\\keys\\npm_${SECRET.replace('-', '')}0123456789`,
  ]
  test.each(CONTEXTS)('text: has no secret in %s', (text) => {
    const part = SECRET.slice(5)
    expect(JSON.stringify(redactor().request(chat(text)))).not.toContain(part)
    expect(redactor().text(text)).not.toContain(part)
    expect(textOf(redactor().attempt(attemptWith([`failed: ${text}`], 'text/plain')))).not.toContain(part)
  })

  const GAPS = ['\u00a0', '\u2009', '\u202f', '\u2013', '\u2011']
  test.each([
    ['', '+31 20 624 1111'],
    ['call ', '020 7946 0958'],
    ['', '415 555-2671'],
    ['', 'NL91 ABNA 0417 1643 00'],
    ['ssn ', '536 90 4399'],
  ])('personal data: is found whatever separates its groups: %s%s', (word, value) => {
    for (const gap of GAPS) {
      const text = `see ${word}${value.replaceAll(/[ -]/g, gap)} there`
      expect(redactor().text(text)).toMatch(new RegExp(`^see ${word}<secret:[\\w-]+:10001> there$`))
      expect(JSON.stringify(redactor().request(chat(text)))).not.toContain(value.slice(-4))
    }
  })

  const DATA = ['jane@mail.test', '4111 1111 1111 1111', '536-90-4399', '+31 20 624 1111', 'NL91 ABNA 0417 1643 00']
  const AROUND = ["'", '"', '`', '**', '()', '[]', '{}', '<>', '| |', ', ', ' .', '#', '~', '=']
  test.each(DATA)('personal data: is found between any punctuation: %s', (value) => {
    for (const around of AROUND) {
      const half = Math.ceil(around.length / 2)
      const text = `${around.slice(0, half)}${value}${around.slice(around.length === 1 ? 0 : half)}`
      for (const sent of [text, `see ${text} there`]) expect(redactor().text(sent)).toMatch(/<secret:[\w-]+:10001>/)
      expect(JSON.stringify(redactor().request(chat(text)))).not.toContain(value.slice(1, -1))
    }
  })

  test.each(['(212)555-0187', '(212) 555-0187', '212.555.0187'])(
    'telephone number: is found in a text, %s',
    (number) => {
      expect(redactor().text(`at ${number}, please`)).toBe('at <secret:phone:10001>, please')
    },
  )

  test.each(['phone', 'mobileNumber', 'fax_no'])(
    'telephone number: is found in a field %s without a country code',
    (name) => {
      const sent = redactor().request(chat('x', { args: { [name]: '06 12345678', list: [{ [name]: 31612345678 }] } }))
      expect((sent.body as { value: { args: object } }).value.args).toEqual({
        [name]: '<secret:phone:1>',
        list: [{ [name]: -1111111111150002 }],
      })
      const other = chat('x', {
        args: { [name]: 'ask at the desk, room 1234567', other: '06 12345678', age: 61234567 },
      })
      expect(redactor().request(other).body).toEqual(other.body)
    },
  )

  test('text: keeps escaped white space beside a secret', () => {
    expect(redactor().text("{'out': 'mail\\njane@mail.test\\npassword is q7Zp-44xWm\\nbye'}")).toBe(
      "{'out': 'mail\\n<secret:email:10001>\\npassword is <secret:password:10002>\\nbye'}",
    )
  })

  test.each([
    ['password: Tr0ub4dor&3', 'password: <secret:password:10001>'],
    ['DB_PASSWORD=Xk9)mP2&qL]w7 and more', 'DB_PASSWORD=<secret:password:10001> and more'],
    ['f(password=Tr0ub4dor)', 'f(password=<secret:password:10001>)'],
    ['f({password: Tr0ub4dor3}).then', 'f({password: <secret:password:10001>}).then'],
    ['[password=Tr0ub4dor3][user=joe]', '[password=<secret:password:10001>][user=joe]'],
    ['PASSWORD=Tr0ub4dor3&& make', 'PASSWORD=<secret:password:10001>&& make'],
  ])('text: replaces a password without quotation marks up to its end: %s', (text, expected) => {
    expect(redactor().text(text)).toBe(expected)
  })

  test.each([1, 2, 3])('text: keeps what surrounds a secret in JSON, %d levels deep', (levels) => {
    const nested = (secret: string) => {
      let json = JSON.stringify({ password: secret, next: 'value' })
      for (let level = 0; level < levels; level++) json = JSON.stringify({ inner: json })
      return `You sent ${json}`
    }
    for (const secret of [SECRET, 'a"b"cd-44x', 'back\\slash-44'])
      expect(redactor().text(nested(secret))).toBe(nested('<secret:password:10001>'))
  })

  const FIELDS = [
    'password',
    'apiKey',
    'api_key',
    'x-api-key',
    'Authorization',
    'clientSecret',
    'access_token',
    'set-cookie',
    'private_key',
    'smtpPass',
    'PGPASSWORD',
    'newpassword',
    'password_confirmation',
    'passwordAgain',
    'myapikey',
    'apiSecret',
    'password2',
    'PASSWORD_2',
    'apiKey1',
    'api_key_1',
    'client-secret-12',
  ]
  test.each(FIELDS)('field: has no secret as %s', (name) => {
    for (const value of ['swordfish', 'correct horse battery', 'a"b\\c'])
      expect(
        JSON.stringify(redactor().request(chat('x', { args: { [name]: value, list: { [name]: [value] } } }))),
      ).not.toContain(JSON.stringify(value).slice(1, -1))
  })
})

describe('harmless texts', () => {
  const HARMLESS = [
    'The password must be at least 12 characters: letters and digits. Token limits apply.',
    'Author: Tolkien. Key: value. total_tokens: 35, max_tokens=100, code: 404, session: morning',
    'npm install react@18.2.0 next@15.0.0-rc.1, hf_hub_download(), npm_config_registry, pplx-7b-online, xai-grok-2-vision',
    'Bearer of good news, basic usage, sk-learn and task-oriented dialogue, risk-adjusted',
    'Version 1.2.3.4 of 2026-11-26T04:34:50Z, order 12345678, epoch 1764131690, 3.14159265358979',
    'Use `Authorization: Bearer $TOKEN` or password=<your password> or api_key: "{{key}}"',
    'const apiKey = process.env.OPENAI_API_KEY',
    'The secret is to start early, and the token is valid. The password is required, the key is lost.',
    'git commit -u origin:main --token-limit 100; cookie: delicious; <title>Key</title><key>name</key>',
    'Keyboard: 104 keys; primary key: user_id; monkey: banana1; key: enter; keys: 12',
    'chatcmpl-AbC123dEf456 fp_1234567890 call_abcdEFGH1234 toolu_01A09q90qw90lq917835lq9 msg_0123abc req_011CSHoEeqs5C35K2UUqR7Fy',
    'pass: 12, fail: 3; first_pass: quick1; boarding pass: ABC123; **Password:** required, **Key:** value, **Token:** `user_id`',
    'Pin 13: LED, pin2: HIGH; Secret 1: Start early. key1: value1, key_2=enter, token3: 42, tokens_1: 12, password2: must differ, md5_key: 12',
    'Each record is identified by \'user_id\', and each user is identified by "email"; witnesses identified by name.',
    "IDENTIFIED BY <password>, IDENTIFIED BY RANDOM PASSWORD, ids of users identified by 'id'",
    'from 4\u202f111\u202f111\u202f111\u202f111\u202f111 to 12\u00a0345\u00a0678 bytes, 2010\u20132011\u20132012\u20132013, 1\u20092345',
    "With password 'required' in the form, create user accounts; the password 'field' is empty, and alter user roles 'now'",
    'Pin2 is HIGH3V, pin 13 was 3.30V, secret 1 is 2026-11-26, token 3 is 4096 long; --pass2 through, --token2-limit 1000',
    "Identified by 'user_id', replace 'user_id' by 'id'; ALTER TABLE users REPLACE 'a1b2' PASSWORD NULL",
    'auth0: dev-1a2b3c4d5e6f.us.auth0.com, sha256_key: v1, api_version_2: 2024',
    'git@github.com:user/repo.git and https://example.test/path?page=2&limit=10#top',
  ]
  test.each(HARMLESS)('text: stays as it is: %s', (text) => {
    expect((redactor().request(chat(text)).body as { value: unknown }).value).toEqual(
      (chat(text).body as { value: unknown }).value,
    )
  })

  test('fields of APIs: stay as they are', () => {
    const value = {
      id: 'chatcmpl-AbC123dEf456GhI789',
      usage: {
        prompt_tokens: 9,
        completion_tokens: 12,
        total_tokens: 21,
        completion_tokens_details: { reasoning_tokens: 0 },
      },
      choices: [
        { finish_reason: 'stop', message: { tool_calls: [{ id: 'call_9pVxyz123456789abc', type: 'function' }] } },
      ],
      error: { code: 'rate_limit_exceeded', type: 'tokens', param: null },
      content: [
        { type: 'thinking', thinking: 'Hm', signature: 'EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds' },
      ],
      prompt_cache_key: 'user-4f5a6b7c8d9e',
      tools: [
        {
          function: {
            parameters: {
              properties: { password: { type: 'string', description: 'The password' } },
              required: ['password'],
            },
          },
        },
      ],
    }
    const text = JSON.stringify(value)
    expect(textOf(redactor().attempt(attemptWith([text])))).toBe(text)
  })
})

describe('keys of redacted requests', () => {
  const keyOf = (own: Redactor, request: UpstreamRequest) => cassetteKey(own.request(request), [])

  test('key: does not depend on the calls before', () => {
    const request = chat(`send it to jane@mail.test and joe@mail.test with ${PLANTED.github}`, {
      card: 4_111_111_111_111_111,
    })
    const fresh = keyOf(redactor(), request)
    const late = redactor()
    for (const secret of Object.values(PLANTED)) late.request(chat(`before: ${secret}, joe@mail.test`))
    late.attempt(attemptWith([JSON.stringify({ text: 'ask ann@mail.test, password: secret77' })]))
    expect(keyOf(late, request)).toBe(fresh)
    expect(keyOf(late, structuredClone(request))).toBe(fresh)
  })

  test('key: is that of other values of the same kinds, and not of other kinds', () => {
    const key = keyOf(redactor(), chat('send it to jane@mail.test'))
    expect(keyOf(redactor(), chat('send it to joe@post.test'))).toBe(key)
    expect(keyOf(redactor(), chat(`send it to ${PLANTED.phone}`))).not.toBe(key)
    expect(keyOf(redactor(), chat('send it now to jane@mail.test'))).not.toBe(key)
  })

  test('key: is the same for the placeholders that a replayed response left in the conversation', () => {
    const conversation = (email: string, user: string) =>
      requestWith({
        kind: 'json',
        value: {
          messages: [
            { role: 'assistant', content: `Mail ${email}` },
            { role: 'user', content: `No, ${user}` },
          ],
        },
      })
    const recording = redactor()
    recording.attempt(attemptWith([JSON.stringify({ text: 'Mail ann@mail.test' })]))
    const recorded = keyOf(recording, conversation('ann@mail.test', 'joe@mail.test'))
    expect(keyOf(redactor(), conversation('<secret:email:1>', 'joe@mail.test'))).toBe(recorded)
    const replaying = redactor()
    replaying.request(chat('joe@mail.test'))
    expect(keyOf(replaying, conversation('<secret:email:1>', 'joe@mail.test'))).toBe(recorded)
  })

  test('placeholders: are not redacted again', () => {
    const own = redactor(['metadata'])
    const once = own.request(
      chat(Object.values(PLANTED).join(' ; '), { metadata: { user: 'jane' }, password: 'abc', pin: 1234 }),
    )
    expect(redactor(['metadata']).request(once)).toEqual(once)
    const text = own.text(JSON.stringify(once))
    expect(JSON.parse(text)).toEqual(once)
  })
})

describe('restoring', () => {
  const request = chat('I am jane@mail.test, card 4111111111111111, the note is "a\\b"', {
    metadata: { note: 'line\n"quoted"' },
  })
  const response = (email: string, note: string, card: string, json = email) => [
    delta({ content: `Hi ${email}` }),
    delta({
      tool_calls: [
        { index: 0, function: { arguments: `{"to":${JSON.stringify(json)},"note":${JSON.stringify(note)},` } },
      ],
    }),
    delta({ tool_calls: [{ index: 0, function: { arguments: `"card":${card}}` } }] }),
    sse({ choices: [{ index: 0, delta: { content: ' bye ann@mail.test' } }] }),
  ]

  test.each(['Łódź-42x', 'pässword 9', '密码abc123', '🔑abc123'])(
    'restore: puts a value of other letters back into a response of ASCII, %s',
    (password) => {
      const sent = chat('x', { password })
      const recording = redactor()
      const recorded = recording.request(sent)
      const answer = JSON.stringify({ text: `it is ${password}` })
      const attempt = recording.attempt(attemptWith([answer]))
      expect(textOf(attempt)).toBe('{"text":"it is <secret:password:1>"}')
      const replaying = redactor()
      replaying.request(sent)
      expect(textOf(replaying.restore(attempt, sent, recorded))).toBe(answer)
    },
  )

  test('restore: puts the own values of a request back, by the numbers of the recording', () => {
    const recording = redactor(['metadata.note'])
    recording.request(chat('somebody@mail.test and 5555 5555 5555 4444'))
    const recorded = recording.request(request)
    const attempt = recording.attempt(
      attemptWith(response('jane@mail.test', 'line\n"quoted"', '4111111111111111'), 'text/event-stream'),
    )
    expect(textOf(attempt)).not.toContain('jane')
    const replaying = redactor(['metadata.note'])
    expect(cassetteKey(replaying.request(request), [])).toBe(cassetteKey(recorded, []))
    expect(textOf(replaying.restore(attempt, request, recorded))).toBe(
      response('jane@mail.test', 'line\n"quoted"', '4111111111111111')
        .join('')
        .replace('ann@mail.test', `<secret:email:${5 + 1}>`),
    )
  })

  test('restore: uses the values of another request with the same key', () => {
    const recording = redactor()
    const recorded = recording.request(chat('mail jane@mail.test or joe@mail.test'))
    const attempt = recording.attempt(
      attemptWith([
        JSON.stringify({ to: 'joe@mail.test', url: 'https://x.test/?to=jane%40mail.test', other: 'ann@mail.test' }),
      ]),
    )
    const sent = chat('mail a@post.test or b@post.test')
    const back = JSON.parse(textOf(redactor().restore(attempt, sent, recorded)))
    expect(back).toEqual({ to: 'b@post.test', url: 'https://x.test/?to=a%40post.test', other: '<secret:email:3>' })
  })
})

describe('secrets at the end of a sentence', () => {
  const SENTENCES = [
    ['password: q7Zp-44xWm', 'Your password: q7Zp-44xWm.'],
    ['my password is q7Zp-44xWm', 'Is your password q7Zp-44xWm? **Password: q7Zp-44xWm**'],
    ['Authorization: Bearer q7Zp44xWm', 'You sent Authorization: Bearer q7Zp44xWm.'],
    ['use eyJhbGciOiJ9.eyJzdWIiOiJ9.q7Zp44xWm', 'It is eyJhbGciOiJ9.eyJzdWIiOiJ9.q7Zp44xWm.'],
    [
      'open https://x.test/?token=q7Zp44xWm',
      'See [x](https://x.test/?token=q7Zp44xWm), https://x.test/?token=q7Zp44xWm.',
    ],
  ] as const
  test.each(SENTENCES)('restore: puts the value of %j back into %j', (question, sentence) => {
    const body = JSON.stringify({ content: sentence })
    const recording = redactor()
    const recorded = recording.request(chat(question))
    const attempt = recording.attempt(attemptWith([body]))
    expect(textOf(attempt)).not.toContain('44xWm')
    expect(textOf(redactor().restore(attempt, chat(question), recorded))).toBe(body)
  })

  test('response: has no secret that stood at the end of a sentence in the request', () => {
    const own = redactor()
    own.request(chat('My password is q7Zp-44xWm.'))
    expect(textOf(own.attempt(attemptWith(['{"content":"So q7Zp-44xWm it is"}'])))).not.toContain('q7Zp-44xWm')
  })
})

describe('values that are repeated', () => {
  test('request: replaces everywhere what one field shows to be secret', () => {
    const request = redactor().request(chat('{"password":"tiger-lily"}', { note: 'I said tiger-lily', other: 'tiger' }))
    expect(JSON.stringify(request)).not.toContain('tiger-lily')
    expect(JSON.stringify(request)).toContain('"other":"tiger"')
  })

  test('response: contains no secret of a request of the session', () => {
    const own = redactor()
    own.request(chat('{"password":"tiger-lily"}'))
    const text = textOf(
      own.attempt(
        attemptWith([delta({ content: 'You said tiger' }), delta({ content: '-lily.' })], 'text/event-stream'),
      ),
    )
    expect(text).toContain('You said <secret:password:1>')
    expect(own.text('log: tiger-lily')).toBe('log: <secret:password:1>')
    // The conversation goes on with the response.
    expect(JSON.stringify(own.request(chat('You said tiger-lily.')))).not.toContain('tiger-lily')
  })
})

describe('texts outside of the cassette', () => {
  test('text: does not change the numbers in the cassette', () => {
    const own = redactor()
    expect(own.text('to b@mail.test and a@mail.test')).toBe('to <secret:email:10001> and <secret:email:10002>')
    expect(JSON.stringify(own.request(chat('a@mail.test, c@mail.test')))).toContain(
      '<secret:email:1>, <secret:email:2>',
    )
    expect(own.text('c@mail.test, a@mail.test')).toBe('<secret:email:2>, <secret:email:10002>')
  })

  test('text: has the numbers of the cassette that is replayed', () => {
    const recording = redactor()
    recording.request(chat('first@mail.test'))
    const recorded = recording.request(chat('a@mail.test'))
    const replaying = redactor()
    const sent = chat('b@post.test')
    replaying.request(sent)
    replaying.restore(attemptWith(['{}']), sent, recorded)
    expect(replaying.text('b@post.test')).toBe('<secret:email:2>')
  })

  test('pieces: are redacted across their borders', () => {
    const pieces = ['data: {"text":"ja', 'ne@mail', '.test"}', '\n\n'].map((piece) => Buffer.from(piece))
    const redacted = redactor()
      .pieces(pieces)
      .map((piece) => Buffer.from(piece).toString())
    expect(redacted).toEqual(['data: {"text":"<secret:email:10001>', '"}', '\n\n'])
  })
})

test('report: counts what each rule replaced, and names the fields that are not compared', () => {
  const own = redactor(['metadata.user'])
  own.request(chat('jane@mail.test and jane@mail.test', { metadata: { user: 'u1' } }))
  own.request(chat('joe@mail.test and jane@mail.test', { metadata: { user: 'u2' } }))
  own.text('jane@mail.test')
  expect(own.report()).toEqual({
    replaced: [
      { rule: 'personal data', kind: 'email', count: 4, values: 2 },
      { rule: 'redact: metadata.user', kind: 'field', count: 2, values: 2 },
    ],
    notCompared: ['chat.completions openai/gpt-4o: messages[0].content (email), metadata.user (field), 2 requests'],
  })
})

describe('headers', () => {
  test('recorded headers: are those that clients act on', () => {
    const received: [string, string][] = [
      ['Content-Type', 'application/json'],
      ['x-ratelimit-remaining-tokens', '9'],
      ['Retry-After', '2'],
      ['x-should-retry', 'true'],
      ['x-request-id', 'req_1'],
      ['openai-processing-ms', '12'],
      ['openai-organization', 'org-1'],
      ['openai-project', 'proj-1'],
      ['anthropic-organization-id', 'o'],
      ['set-cookie', 'a=b'],
      ['authorization', 'x'],
      ['x-api-key', 'x'],
      ['x-forwarded-for', '1.2.3.4'],
      ['www-authenticate', 'Bearer'],
    ]
    const names = (provider: string) => recordedHeaders(provider, received).map(([name]) => name)
    expect(names('openai')).toEqual([
      'content-type',
      'x-ratelimit-remaining-tokens',
      'retry-after',
      'x-should-retry',
      'x-request-id',
      'openai-processing-ms',
    ])
    expect(names('anthropic')).not.toContain('openai-processing-ms')
    expect(names('my-server')).toEqual(names('openai'))
  })

  test('recorded headers: keep repeated ones apart and in order', () => {
    expect(
      recordedHeaders('openai', [
        ['Cache-Control', 'a'],
        ['date', 'd'],
        ['cache-control', 'b'],
      ]),
    ).toEqual([
      ['cache-control', 'a'],
      ['date', 'd'],
      ['cache-control', 'b'],
    ])
  })

  test('secret in a recorded header: is replaced', () => {
    const redacted = redactor().attempt(
      attemptWith(['{}'], 'application/json', [['x-request-id', `r-${PLANTED.github}`]]),
    )
    expect(redacted.response?.headers[1]).toEqual(['x-request-id', 'r-<secret:github-token:1>'])
  })
})

test.each([
  ...[
    'openaiOld',
    'anthropic',
    'groq',
    'huggingface',
    'awsSecret',
    'github',
    'githubFine',
    'gitlab',
    'slack',
    'slackHook',
  ],
  ...[
    'stripe',
    'sendgrid',
    'npm',
    'vault',
    'databricks',
    'linear',
    'notion',
    'shopify',
    'tailscale',
    'docker',
    'figma',
  ],
  ...['urlPassword', 'rsa', 'pkcs8'],
])('preset: runs the rule for %s on a text that contains such a secret', (name) => {
  const planted = PLANTED[name] ?? ''
  const text = `It is ${planted} in full`
  const found = presetSecretsIn(text).map(({ start, end }) => text.slice(start, end))
  expect(found.some((one) => planted.includes(one))).toBe(true)
})
