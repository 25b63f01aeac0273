// `understudy scenario from`: what happened becomes a scenario in which it happens again.
import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CassetteWriter } from '../../src/cassettes/write.ts'
import type { RecordedAttempt } from '../../src/contract/core/cassette.ts'
import { ScenarioFile } from '../../src/scenarios/schema.ts'
import { runCommand } from '../support/cli.ts'
import { emptyFolder } from '../support/server.ts'

const folder = emptyFolder()
const cwd = folder.path
afterAll(folder.remove)

const START = Date.parse('2026-11-26T10:00:00.000Z')
let files = 0
/** Writes a file, and makes a scenario from it. */
async function from(content: unknown, ...args: string[]) {
  const file = `evidence-${++files}.json`
  writeFileSync(join(cwd, file), typeof content === 'string' ? content : JSON.stringify(content))
  const result = await runCommand(['scenario', 'from', file, ...args], { cwd })
  return { ...result, file, rules: () => parsed(result.stdout).rules }
}
const parsed = (text: string) => ScenarioFile.parse(Bun.YAML.parse(text))

interface Attempt {
  /** Seconds. */
  at: number
  outcome: string
  status?: number
  model?: string
}
const trace = ({ at, outcome, status = 200, model = 'openai/gpt-4o' }: Attempt, index: number) => ({
  id: `trace-${index}`,
  operation: 'chat.completions',
  stream: false,
  started_at: new Date(START + at * 1000).toISOString(),
  attempts: [{ target: model, started_ms: 0, duration_ms: 300, first_content_ms: null, outcome, status }],
})

describe('scenario from traces', () => {
  /** Ten minutes of an outage: 503, then 429, with a second model and another provider that go on. */
  const outage = (): Attempt[] => [
    ...[0, 20, 40].map((at) => ({ at, outcome: 'succeeded' })),
    ...Array.from({ length: 20 }, (_, index) => ({ at: 60 + index * 20, outcome: 'http_error', status: 503 })),
    ...Array.from({ length: 10 }, (_, index) => ({ at: 460 + index * 20, outcome: 'http_error', status: 429 })),
    ...[661, 680, 700].map((at) => ({ at, outcome: 'succeeded' })),
    ...Array.from({ length: 30 }, (_, index) => ({
      at: 5 + index * 23,
      outcome: index > 3 && index < 18 ? 'disconnected' : 'succeeded',
      status: index > 3 && index < 18 ? 502 : 200,
      model: 'openai/gpt-4o-mini',
    })),
    ...Array.from({ length: 30 }, (_, index) => ({
      at: 7 + index * 23,
      outcome: 'succeeded',
      model: 'anthropic/claude-sonnet-4',
    })),
  ]

  test('needs at most four rules for an outage of ten minutes, and reproduces every outcome', async () => {
    const { code, stderr, stdout, rules } = await from({ traces: outage().map(trace) })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(rules().length).toBeLessThanOrEqual(4)
    expect(rules().find(({ fault }) => fault?.type === 'reset')?.match).toEqual({
      provider: 'openai',
      model: 'gpt-4o-mini',
    })
    expect(stdout).toMatch(/when: \{ after: 1m, for: 400s \} # observed/)
  })

  test('says that an end is assumed when no later attempt shows it', async () => {
    const { stdout } = await from([
      trace({ at: 0, outcome: 'succeeded' }, 1),
      trace({ at: 9, outcome: 'http_error', status: 500 }, 2),
    ])
    expect(stdout).toContain('# assumed: it ended with the last attempt that failed')
  })

  test('matches the provider alone when all of its models fail', async () => {
    const { rules } = await from(
      ['openai/gpt-4o', 'openai/gpt-4o-mini'].flatMap((model, index) => [
        trace({ at: index, outcome: 'http_error', status: 503, model }, index),
        trace({ at: 60 + index, outcome: 'succeeded', model }, index),
      ]),
    )
    expect(rules()).toHaveLength(1)
    expect(rules()[0]?.match).toEqual({ provider: 'openai' })
  })

  test('takes a stream that its client left for a success, as in a cassette', async () => {
    const left = trace({ at: 0, outcome: 'canceled', status: 499 }, 1)
    const attempts = left.attempts.map((one) => ({ ...one, first_content_ms: 200 }))
    const failed = trace({ at: 60, outcome: 'http_error', status: 503 }, 2)
    expect((await from([{ ...left, attempts }, failed])).rules()).toMatchObject([{ fault: { status: 503 } }])
    expect((await from([left, failed])).rules()).toMatchObject([
      { fault: { type: 'hang' } },
      { fault: { status: 503 } },
    ])
  })

  test('takes an error in a stream for what it was, not for a status', async () => {
    const failed = { ...trace({ at: 0, outcome: 'http_error', status: 502 }, 1), stream: true, status: 200 }
    const error = { message: 'Overloaded', type: 'server_error', code: 'overloaded_error' }
    const { code, rules, stdout } = await from([{ ...failed, error, response: { type: 'message_start' } }])
    expect(code).toBe(0)
    expect(rules()[0]?.fault).toMatchObject({ type: 'stream-error', status: 'overloaded', message: 'Overloaded' })
    expect(stdout).toContain('after_chunks: 1 # assumed')
  })

  test('is silent for as long as the most patient client waited', async () => {
    const { rules } = await from(
      [400, 60_000, 700].map((ms, at) => {
        const silent = trace({ at, outcome: 'timed_out' }, at)
        return { ...silent, attempts: silent.attempts.map((one) => ({ ...one, duration_ms: ms })) }
      }),
    )
    expect(rules()).toMatchObject([{ fault: { type: 'hang', for: 60_000 } }])
  })

  test('has the body of an error only if the trace has it', async () => {
    const failed = trace({ at: 0, outcome: 'http_error', status: 503 }, 1)
    const body = { error: { message: 'down' } }
    expect((await from([{ ...failed, response: body }])).rules()[0]?.fault).toMatchObject({ status: 503, body })
    const { stdout } = await from([{ ...failed, response: {} }])
    expect(stdout).not.toContain('body:')
  })

  test('reads one trace per line', async () => {
    const lines = outage()
      .map(trace)
      .map((one) => JSON.stringify(one))
      .join('\n')
    expect((await from(lines)).code).toBe(0)
  })

  test('writes a file that exec can run, and does not replace one', async () => {
    const { code, stdout, file } = await from(
      [trace({ at: 0, outcome: 'http_error', status: 503 }, 1)],
      '--out',
      'made.yaml',
    )
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: 'wrote made.yaml; to try it: understudy exec --scenario made.yaml -- npm test\n',
    })
    const text = readFileSync(join(cwd, 'made.yaml'), 'utf8')
    expect(text).toContain(`# Source: ${file} (traces).`)
    expect((await runCommand(['check', 'made.yaml'], { cwd })).stdout).toContain('1 scenario, 0 warnings')
    expect((await runCommand(['rehearse', 'made.yaml'], { cwd })).code).toBe(0)
    const again = await runCommand(['scenario', 'from', file, '--out', 'made.yaml'], { cwd })
    expect(again).toMatchObject({ code: 2, stderr: 'understudy: made.yaml exists: use --force to replace it\n' })
    expect((await runCommand(['scenario', 'from', file, '--out', 'made.yaml', '--force'], { cwd })).code).toBe(0)
  })

  test('ends soon for failures without a pattern', async () => {
    const attempts = Array.from({ length: 120 }, (_, at) => ({
      at,
      outcome: (at * 7919) % 10 < 3 ? 'http_error' : 'succeeded',
      status: (at * 7919) % 2 === 0 ? 503 : 429,
    }))
    const { code, rules } = await from(attempts.map(trace))
    expect(code).toBe(0)
    expect(rules().length).toBeGreaterThan(4)
  })

  test('has nothing to rehearse when nothing failed', async () => {
    const { code, stderr } = await from([trace({ at: 0, outcome: 'succeeded' }, 1)], '--out', 'none.yaml')
    expect(code).toBe(1)
    expect(stderr).toContain('none of its 1 attempt failed')
    expect(existsSync(join(cwd, 'none.yaml'))).toBe(false)
  })
})

describe('scenario from a HAR', () => {
  const entry = (at: number, response: object, more: { url?: string; body?: object; time?: number } = {}) => ({
    startedDateTime: new Date(START + at).toISOString(),
    time: more.time ?? 120,
    request: {
      method: 'POST',
      url: more.url ?? 'https://api.openai.com/v1/chat/completions',
      headers: [],
      postData: { mimeType: 'application/json', text: JSON.stringify(more.body ?? { model: 'gpt-4o', stream: true }) },
    },
    response,
  })
  const content = (text: string, encoding?: string) => ({
    mimeType: 'application/json',
    text,
    ...(encoding && { encoding }),
  })
  const har = (...entries: unknown[]) => ({ log: { version: '1.2', entries } })

  test('has status, Retry-After and body of an error, base64 or not', async () => {
    const body = { error: { message: 'Slow down.', type: 'requests' } }
    const limited = {
      status: 429,
      headers: [{ name: 'Retry-After', value: '7' }],
      content: content(Buffer.from(JSON.stringify(body)).toString('base64'), 'base64'),
    }
    const { code, rules } = await from(har(entry(0, limited), entry(8_000, { status: 200, content: content('{}') })))
    expect(code).toBe(0)
    expect(rules()[0]?.fault).toMatchObject({ type: 'http-error', status: 429, retry_after: 7_000, body } as never)
  })

  test('has no secret that the body of an error contains', async () => {
    const key = `sk-proj-${'Ab1'.repeat(12)}`
    const error = { error: { message: `Incorrect API key "${key}" of jane@mail.test`, type: 'invalid_request_error' } }
    const { code, stdout, rules } = await from(
      har(
        entry(0, { status: 401, content: content(JSON.stringify(error)) }),
        entry(9, { status: 403, content: content(`no ${key}`) }),
      ),
    )
    expect(code).toBe(0)
    expect(stdout).not.toContain('Ab1')
    expect(stdout).not.toContain('jane@mail.test')
    expect(JSON.stringify(rules()[0])).toMatch(/Incorrect API key \\"<secret:openai-key:\d+>\\" of <secret:email:\d+>/)
  })

  test('plays attempts of every operation and model again', async () => {
    const post = (at: number, path: string, model: string) =>
      entry(at, { status: 200, content: content('{}') }, { url: `https://api.openai.com/v1${path}`, body: { model } })
    const { stderr, code } = await from(
      har(
        entry(0, { status: 503 }),
        post(1, '/images/generations', 'gpt-image-1'),
        post(2, '/images/generations', 'dall-e-2'),
        post(3, '/images/generations', 'dall-e-3'),
        post(4, '/embeddings', 'text-embedding-ada-002'),
        post(5, '/moderations', 'omni-moderation-latest'),
        post(6, '/audio/speech', 'gpt-4o-mini-tts'),
        post(7, '/responses', 'o3'),
        post(8, '/completions', 'gpt-3.5-turbo-instruct'),
        post(9, '/chat/completions', 'o1-mini'),
        post(10, '/chat/completions', 'gpt-5'),
        post(11, '/chat/completions', 'a-model-of-tomorrow'),
        post(12, '/rerank', 'rerank-x'),
      ),
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })

  test('tells providers apart by their address, and models by the body', async () => {
    const { rules } = await from(
      har(
        entry(0, { status: 529 }, { url: 'https://api.anthropic.com/v1/messages', body: { model: 'claude-sonnet-4' } }),
        entry(10, { status: 200 }),
        entry(
          20,
          { status: 500 },
          { url: 'http://127.0.0.1:8080/v1/embeddings', body: { model: 'text-embedding-3-small' } },
        ),
        entry(
          30,
          { status: 200, content: { size: 0, mimeType: 'application/json' } },
          { url: 'http://127.0.0.1:8080/v1/embeddings', body: { model: 'text-embedding-3-large' } },
        ),
      ),
    )
    expect(rules().map(({ match, fault }) => [match, fault && 'status' in fault ? fault.status : undefined])).toEqual([
      [{ provider: 'anthropic' }, 529],
      [expect.objectContaining({ provider: 'openai' }), 500],
    ] as never)
  })

  const broken: [string, object, string][] = [
    ['refused', { status: 0, _error: 'net::ERR_CONNECTION_REFUSED' }, 'connection-refused'],
    ['reset', { status: 0, _error: 'net::ERR_CONNECTION_RESET' }, 'reset'],
    ['not found', { status: 0, _error: 'net::ERR_NAME_NOT_RESOLVED' }, 'dns-failure'],
    ['silent', { status: 0, _error: 'net::ERR_TIMED_OUT' }, 'hang'],
    ['empty', { status: 200, content: { size: 0, mimeType: 'application/json', text: '' } }, 'empty-body'],
    [
      'open for an error in its stream',
      { status: 200, content: content('data: {"id":"c","choices":[]}\n\ndata: {"error":{"message":"Busy."}}\n\n') },
      'stream-error',
    ],
    ['cut', { status: 200, _error: 'net::ERR_INCOMPLETE_CHUNKED_ENCODING', content: content('data: {') }, 'cut-stream'],
  ]
  test.each(broken)('knows a connection that was %s', async (_, response, fault) => {
    const { code, stderr, rules } = await from(har(entry(0, response, { time: 30_000 })))
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(rules()[0]?.fault?.type).toBe(fault as never)
  })

  test.each(['net::ERR_ABORTED', 'NS_BINDING_ABORTED', 'cancelled'])(
    'takes a stream that its client left, noted as %s, for a success',
    async (_error) => {
      const left = { status: 200, _error, content: { size: -1, mimeType: 'text/event-stream' } }
      const { rules } = await from(har(entry(0, left), entry(500, { status: 0, _error }, { time: 400 })))
      expect(rules()).toMatchObject([{ fault: { type: 'hang', for: 400 } }])
    },
  )

  test('skips a request that its browser did not send, and takes no other error for silence', async () => {
    const { code, stderr, rules } = await from(
      har(
        entry(0, { status: -1, _failureText: 'net::ERR_BLOCKED_BY_CLIENT' }),
        entry(500, { status: -1, _failureText: 'net::ERR_INVALID_HTTP_RESPONSE' }),
      ),
    )
    expect(code).toBe(0)
    expect(stderr).toContain("entry 0 failed for an unknown reason, 'net::ERR_BLOCKED_BY_CLIENT': skipped")
    expect(rules()).toMatchObject([{ fault: { type: 'reset' } }])
  })

  test('skips broken entries and says so, and ignores other requests', async () => {
    const page = { ...entry(0, { status: 404 }), request: { method: 'GET', url: 'https://example.com/' } }
    const { code, stderr } = await from(har('nothing', { request: {} }, page, entry(5, { status: 503 })))
    expect(code).toBe(0)
    expect(stderr).toMatch(/warning: .*: entry 0 has no request with a URL: skipped/)
    expect(stderr).toContain('entry 1 has no request with a URL')
  })

  test('leaves out the body of an error that is not base64, and says so', async () => {
    const broken = { status: 503, content: content('!!!', 'base64') }
    const { code, stderr, rules } = await from(har(entry(0, broken)))
    expect(code).toBe(0)
    expect(stderr).toMatch(/warning: .*: entry 0 has a body that is not base64: skipped/)
    expect(rules()[0]?.fault).not.toHaveProperty('body')
  })

  test('ignores a byte order mark, as HAR 1.2 asks', async () => {
    const { code, rules } = await from(`\uFEFF${JSON.stringify(har(entry(5, { status: 503 })))}`)
    expect([code, rules().length]).toEqual([0, 1])
  })
})

describe('scenario from a status page', () => {
  const incident = (more: object = {}) => ({
    id: 'abc123',
    name: 'Elevated errors on Claude Sonnet',
    impact: 'critical',
    started_at: '2026-03-01T10:00:00.000Z',
    resolved_at: '2026-03-01T11:30:00.000Z',
    components: [{ name: 'Claude API (api.anthropic.com)' }],
    incident_updates: [
      { status: 'resolved', body: 'Resolved.', created_at: '2026-03-01T11:30:00.000Z' },
      { status: 'monitoring', body: 'A fix is in place.', created_at: '2026-03-01T11:00:00.000Z' },
      { status: 'investigating', body: 'We see elevated 529 errors.', created_at: '2026-03-01T10:05:00.000Z' },
    ],
    ...more,
  })

  test('has observed times and an assumed share', async () => {
    const { code, stdout, rules } = await from({ page: { name: 'Claude' }, incidents: [incident()] })
    expect(code).toBe(0)
    expect(rules()[0]).toMatchObject({
      match: { provider: 'anthropic' },
      when: {
        schedule: [
          { phase: 'down', for: 3_600_000, from: 1, to: 1 },
          { phase: 'recovering', for: 1_800_000, from: 1, to: 0 },
          { phase: 'healthy' },
        ],
      },
      fault: { type: 'http-error', status: 529 },
    })
    expect(stdout).toContain('# for: observed; share: assumed')
  })

  test('is down until the last fix', async () => {
    const update = (status: string, at: string) => ({ status, body: '', created_at: `2026-03-01T${at}:00.000Z` })
    const incident_updates = [
      ...[update('resolved', '11:30'), update('monitoring', '11:10'), update('identified', '10:40')],
      ...[update('monitoring', '10:20'), update('investigating', '10:05')],
    ]
    const { rules } = await from({ incidents: [incident({ incident_updates })] })
    expect(rules()[0]?.when).toMatchObject({
      schedule: [{ phase: 'down', for: 70 * 60_000 }, { phase: 'recovering', for: 20 * 60_000 }, { phase: 'healthy' }],
    })
  })

  test('needs a choice between several, and an end', async () => {
    const two = { incidents: [incident(), incident({ id: 'def456', name: 'Other' })] }
    expect((await from(two)).stderr).toContain('choose one with --incident <ID>: abc123 (Elevated errors')
    expect((await from(two, '--incident', 'def456')).stdout).toContain('description: Other.')
    const open = incident({ resolved_at: null, incident_updates: [] })
    expect((await from({ incident: open })).stderr).toContain('the incident is not resolved')
    const reversed = incident({ started_at: '2026-11-26T10:00:00Z', resolved_at: '2026-11-26T09:00:00Z' })
    expect((await from({ incident: reversed })).stderr).toContain('the incident ends before it begins')
  })
})

test('scenario from: says that there are no calls in a file without any', async () => {
  for (const empty of [{ traces: [] }, [], { data: [] }])
    expect((await from(empty)).stderr).toContain('has no call to a model provider')
})

test('scenario from: names a file that cannot be read, and what is accepted', async () => {
  const { code, stderr } = await runCommand(['scenario', 'from', 'missing.json'], { cwd })
  expect(code).not.toBe(0)
  expect(stderr).toMatch(/missing\.json cannot be read \(ENOENT.*\): give a cassette, traces/)
})

describe('scenario from a cassette', () => {
  /** Writes a cassette with one call for each attempt, and makes a scenario from it. */
  async function fromAttempts(session: string, attempts: readonly RecordedAttempt[], more: object = {}) {
    const header = { session, recorded: '2026-11-26', understudy: '1.0.0', volatile: [], redact: [] }
    const writer = new CassetteWriter(join(cwd, 'cassettes'), header, {
      report: (problem) => {
        throw new Error(problem)
      },
    })
    for (const [index, attempt] of attempts.entries()) {
      const body = {
        kind: 'json',
        value: { model: 'gpt-4o', messages: [{ role: 'user', content: `${index}` }], ...more },
      } as const
      const request = {
        provider: 'openai',
        operation: 'chat.completions',
        model: 'gpt-4o',
        path: '/v1/chat/completions',
        headers: {},
        body,
      }
      await writer.append({ turn: 1, request, attempts: [attempt] })
    }
    await writer.finish()
    return runCommand(['scenario', 'from', `cassettes/${session}.yaml`], { cwd })
  }
  const response = (status: number, ...headers: [string, string][]): RecordedAttempt => ({
    response: {
      status,
      headers: [['content-type', 'application/json'], ...headers],
      at: 5,
      frames: [{ at: 6, bytes: new TextEncoder().encode(status < 400 ? DONE : LATER) }],
    },
    end: 'complete',
    endedAt: 7,
  })
  const LATER = '{"error":{"message":"Later."}}'
  const DONE =
    '{"choices":[{"index":0,"message":{"role":"assistant","content":"Done."},"finish_reason":"stop"}],"error":null}'

  test('counts calls, since it has no times between them', async () => {
    const { code, stdout, stderr } = await fromAttempts('checkout', [
      response(200),
      response(429, ['retry-after', '2']),
      response(429),
      response(200),
    ])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(parsed(stdout).rules).toMatchObject([
      {
        match: { provider: 'openai' },
        when: { calls: [2, 3] },
        fault: { type: 'http-error', status: 429, retry_after: 2_000, body: { error: { message: 'Later.' } } },
      },
    ])
  })

  test('reproduces a response that ends after its headers', async () => {
    const headers = { status: 200, headers: [['content-type', 'application/json']] as const, at: 5, frames: [] }
    const { code, stdout, stderr } = await fromAttempts('headers-only', [
      response(200),
      { response: headers, end: 'cut by provider', endedAt: 7 },
    ])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(parsed(stdout).rules).toMatchObject([{ fault: { type: 'cut-stream', after_bytes: 0 } }])
  })

  const events = (...data: object[]) => data.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('')
  test.each([
    ['first', events({ error: { message: 'Busy.', code: 'x' } }), 0, 500],
    [
      'chat',
      events({ choices: [{ index: 0, delta: { content: 'a' } }] }, { error: { message: 'Busy.', code: 429 } }),
      1,
      500,
    ],
    [
      'responses',
      events(
        { type: 'response.created', response: { error: null } },
        { type: 'response.failed', response: { error: { message: 'Busy.' } } },
      ),
      1,
      500,
    ],
    [
      'messages',
      `event: message_start\n${events({ type: 'message_start' })}event: error\n${events({ type: 'error', error: { type: 'overloaded_error', message: 'Busy.' } })}`,
      1,
      'overloaded',
    ],
  ])('reproduces an error in a stream: %s', async (name, text, after_chunks, status) => {
    const frames = [{ at: 6, bytes: new TextEncoder().encode(text) }]
    const { code, stdout, stderr } = await fromAttempts(
      `stream-${name}`,
      [
        response(200),
        {
          response: { status: 200, headers: [['content-type', 'text/event-stream']], at: 5, frames },
          end: 'complete',
          endedAt: 7,
        },
      ],
      { stream: true },
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(parsed(stdout).rules).toMatchObject([
      { when: { calls: [2, 2] }, fault: { type: 'stream-error', after_chunks, status, message: 'Busy.' } },
    ])
  })

  const success = (body: object): RecordedAttempt => {
    const { response: whole, ...rest } = response(200)
    const frames = [{ at: 6, bytes: new TextEncoder().encode(JSON.stringify(body)) }]
    return { ...rest, response: whole && { ...whole, frames } }
  }
  test.each([
    ['of OpenRouter', { error: { code: 502, message: 'Provider returned error' }, user_id: 'user_1' }],
    ['of Anthropic', { type: 'error', error: { type: 'overloaded_error', message: 'Busy.' } }],
    [
      'of a failed response',
      { object: 'response', status: 'failed', output: [], error: { code: 'x', message: 'No.' } },
    ],
  ])('reproduces a success whose body is only an error: %s', async (name, body) => {
    const session = `only-${name.replaceAll(' ', '-').toLowerCase()}`
    const { code, stdout, stderr } = await fromAttempts(session, [response(200), success(body), response(200)])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(parsed(stdout).rules).toMatchObject([
      { when: { calls: [2, 2] }, fault: { type: 'malformed-json', text: JSON.stringify(body) } },
    ])
    const streamed = await fromAttempts(`${session}-streamed`, [response(200), success(body)], { stream: true })
    expect({ code: streamed.code, stderr: streamed.stderr }).toEqual({ code: 0, stderr: '' })
    expect(parsed(streamed.stdout).rules).toMatchObject([
      { when: { calls: [2, 2] }, fault: { type: 'stream-error', after_chunks: 0, message: body.error.message } },
    ])
  })

  test('reproduces such a success of a HAR', async () => {
    const entry = (text: string, at: number) => ({
      startedDateTime: new Date(Date.UTC(2026, 0, 1, 0, at)).toISOString(),
      time: 10,
      request: {
        method: 'POST',
        url: 'https://api.openai.com/v1/chat/completions',
        postData: { text: '{"model":"gpt-4o","messages":[]}' },
      },
      response: { status: 200, headers: [], content: { size: text.length, text } },
    })
    const { code, rules } = await from({ log: { entries: [entry(DONE, 0), entry(LATER, 1), entry(DONE, 2)] } })
    expect(code).toBe(0)
    expect(rules()).toMatchObject([{ fault: { type: 'malformed-json', text: LATER } }])
  })

  test('takes a response beside which an error is noted for a success', async () => {
    const noted = success({ choices: [{ message: { content: 'Hi' } }], error: { message: 'A tool failed.' } })
    const { rules } = parsed((await fromAttempts('noted', [noted, response(503)])).stdout)
    expect(rules).toMatchObject([{ fault: { status: 503 } }])
  })

  test('reproduces a success without a body, unless its status says so', async () => {
    const empty = (status: number): RecordedAttempt => ({
      response: { status, headers: [], at: 5, frames: [] },
      end: 'complete',
      endedAt: 7,
    })
    const { code, stdout, stderr } = await fromAttempts('empty', [response(200), empty(200), empty(204)])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(parsed(stdout).rules).toMatchObject([{ when: { calls: [2, 2] }, fault: { type: 'empty-body' } }])
  })
})

describe('scenario from something else', () => {
  const cases: [string, string, string][] = [
    ['no JSON', 'hello', 'is not JSON: expected a cassette, traces'],
    ['other JSON', '{"a":1}', 'is none of the known formats'],
    ['a status page without incidents', '{"page":{"name":"Claude"},"incidents":[]}', 'has no incidents'],
    [
      'a status page with a broken incident',
      '{"incidents":[{"id":"a"},{"id":"b","name":"Down"}]}',
      'has 2 incidents: choose one with --incident <ID>: a, b (Down)',
    ],
    ['an empty HAR', '{"log":{"entries":[]}}', 'has no call to a model provider'],
  ]
  test.each(cases)('%s is named', async (_, content, message) => {
    const { code, stderr } = await from(content)
    expect(code).toBe(2)
    expect(stderr).toContain(message)
  })
})
