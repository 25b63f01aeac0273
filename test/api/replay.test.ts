// Recording and replay: which request gets which recorded response, and what happens without one.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LLMock } from '@copilotkit/aimock'
import { readCassette } from '../../src/cassettes/read.ts'
import { fixedSource, parseScenario } from '../../src/scenarios/load.ts'
import { cassetteApp } from '../support/cassette-app.ts'
import { startProvider } from '../support/forward.ts'
import { emptyFolder } from '../support/server.ts'

const CHAT = '/v1/chat/completions'
const ROUTER = '/v2/router/chat/completions'
const chat = (content: string, more: object = {}) => ({
  model: 'openai/gpt-4o',
  messages: [{ role: 'user', content }],
  ...more,
})
const answer = (content: string) => ({
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'gpt-4o' },
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
})
const inSession = (name: string, more: Record<string, string> = {}) => ({ 'x-understudy-session': name, ...more })
const folders: ReturnType<typeof emptyFolder>[] = []
const newFolder = () => {
  const folder = emptyFolder()
  folders.push(folder)
  return folder.path
}
afterAll(() => {
  for (const folder of folders) folder.remove()
})

/** What the provider does, by the last message of a request. */
let respond: (content: string, request: Request, body: Record<string, unknown>) => Response | Promise<Response>
let provider: ReturnType<typeof startProvider>
let count = 0
beforeAll(() => {
  provider = startProvider(async (request) => {
    const body = (await request.json()) as { messages: { content: string }[] }
    return respond(body.messages.at(-1)?.content ?? '', request, body)
  })
})
afterAll(() => provider.stop())
const numbered = (content: string) => Response.json(answer(`${content} ${++count}`))
const contentIn = (text: string) => JSON.parse(text).choices[0].message.content as string

/** Records calls, and returns the folder of the cassettes. */
async function recorded(calls: (app: ReturnType<typeof cassetteApp>) => Promise<unknown>, settings = {}) {
  const folder = newFolder()
  const app = cassetteApp(provider.url, { record: folder, ...settings })
  await calls(app)
  return { folder, report: await app.finish() }
}
const replaying = (folder: string, settings = {}) =>
  cassetteApp(provider.url, { replay: folder, speed: 'instant', ...settings })

test('parallel sessions with the same requests: get their own responses, in order', async () => {
  respond = async (content) => {
    await Bun.sleep(Math.floor((count * 7) % 5))
    return numbered(content)
  }
  const sessions = Array.from({ length: 5 }, (_, index) => `session-${index}`)
  const all = (app: ReturnType<typeof cassetteApp>) =>
    Promise.all(
      sessions.map(async (session) => {
        const got: string[] = []
        for (let turn = 0; turn < 4; turn++)
          got.push(contentIn((await app.post(CHAT, chat('same'), inSession(session))).text))
        return got
      }),
    )
  let first: string[][] = []
  const { folder, report } = await recorded(async (app) => {
    first = await all(app)
  })
  expect(new Set(first.flat()).size).toBe(20)
  expect(report.sessions.map(({ recorded }) => recorded?.interactions)).toEqual(sessions.map(() => 4))
  const app = replaying(folder)
  const before = provider.seen.length
  expect(await all(app)).toEqual(first)
  expect(provider.seen.length).toBe(before)
  const { sessions: replayed } = await app.finish()
  expect(replayed.flatMap((one) => [...(one.replayed?.misses ?? []), ...(one.replayed?.unused ?? [])])).toEqual([])
})

test('parallel requests with one key in one session: are replayed in the order in which they were sent', async () => {
  respond = async (content) => {
    const own = ++count
    // Later requests get their responses earlier.
    await Bun.sleep(60 - (own % 10) * 6)
    return Response.json(answer(`${content} ${own}`))
  }
  count = 0
  const ask = (app: ReturnType<typeof cassetteApp>) =>
    Promise.all(Array.from({ length: 10 }, async () => contentIn((await app.post(CHAT, chat('parallel'))).text)))
  let first: string[] = []
  const { folder } = await recorded(async (app) => {
    first = await ask(app)
  })
  expect(await ask(replaying(folder))).toEqual(first)
})

describe('a miss', () => {
  test('is a 404 with the nearest interaction, in the shape of the called API', async () => {
    respond = numbered
    const { folder } = await recorded((app) => app.post(CHAT, chat('hello', { temperature: 0 })))
    const app = replaying(folder)
    const missed = await app.post(CHAT, chat('hello', { temperature: 1 }))
    expect(missed.status).toBe(404)
    expect(missed.headers.get('x-should-retry')).toBe('false')
    const file = join(folder, 'default.yaml')
    const command = `understudy record --out ${folder} --only default -- COMMAND`
    expect(missed.json()).toMatchObject({
      error: {
        code: 'replay_miss',
        message: `the cassette has no interaction with this request; the nearest interaction is at ${file}:8: temperature: recorded 0, sent 1; if this is intended, record it again with '${command}'`,
      },
    })
    const throughGateway = await app.post(ROUTER, chat('hello', { temperature: 2, retry: { count: 2 } }))
    expect(throughGateway.status).toBe(404)
    expect(throughGateway.headers.get('x-understudy-attempts')).toBe('1')
    expect(throughGateway.text).toContain('temperature: recorded 0, sent 2')
    const anthropic = await app.post('/v1/messages', {
      model: 'claude-opus-4-8',
      max_tokens: 9,
      messages: chat('x').messages,
    })
    expect(anthropic.json()).toMatchObject({ type: 'error', error: { type: 'not_found_error' } })
    const { sessions } = await app.finish()
    expect(sessions[0]?.replayed).toMatchObject({
      missed: 3,
      attempts: 0,
      unused: [{ turn: 1, attempts: 1, unused: 1 }],
    })
  })

  test('says that a request was sent once more than recorded', async () => {
    respond = numbered
    const { folder } = await recorded((app) => app.post(CHAT, chat('once')))
    const app = replaying(folder)
    expect((await app.post(CHAT, chat('once'))).status).toBe(200)
    const more = await app.post(CHAT, chat('once'))
    expect(more.status).toBe(404)
    expect(more.text).toMatch(/one attempt with this request \(line \d+\), and this is one more/)
    expect(more.text).toContain('--only default -- COMMAND')
  })

  test('is every call of a session whose cassette is missing, incomplete or broken', async () => {
    respond = numbered
    const { folder } = await recorded(async (app) => {
      for (const name of ['a', 'b', 'c']) await app.post(CHAT, chat('x'), inSession(name))
    })
    const change = (name: string, edit: (text: string) => string) => {
      const file = join(folder, `${name}.yaml`)
      writeFileSync(file, edit(readFileSync(file, 'utf8')))
    }
    change('a', (text) => text.replace('state: complete', 'state: incomplete'))
    change('b', (text) => text.replace('attempts:', 'attempt:'))
    const app = replaying(folder)
    const textOf = async (name: string) => (await app.post(CHAT, chat('x'), inSession(name))).text
    expect(await textOf('a')).toContain('is incomplete')
    expect(await textOf('b')).toMatch(/b\.yaml:\d+:\d+/)
    expect(await textOf('other')).toContain('the session has no cassette')
    expect(await textOf('c')).toContain('x ')
  })

  test('fails the verdict on its session, and not that on another one', async () => {
    respond = numbered
    const call = (app: ReturnType<typeof cassetteApp>, name: string, content: string) =>
      app.post(CHAT, chat(content), inSession(name))
    const { folder } = await recorded(async (app) => {
      for (const name of ['same', 'changed']) await call(app, name, 'recorded')
    })
    const app = replaying(folder)
    for (const name of ['same', 'changed']) await call(app, name, 'recorded')
    await call(app, 'changed', 'not recorded')
    const verdictOn = async (name: string) => {
      const { verdict, notices } = (await app.fetch(`/s/${name}/_understudy/verify`)).json()
      return { verdict, notices }
    }
    expect(await verdictOn('same')).toEqual({ verdict: 'pass', notices: [] })
    expect(await verdictOn('changed')).toEqual({
      verdict: 'fail',
      notices: ['1 call has no recorded response, so the replay proves nothing about it'],
    })
    app.close()
  })

  test('is forwarded or recorded on request', async () => {
    respond = numbered
    const { folder } = await recorded((app) => app.post(CHAT, chat('known')))
    const forwarding = replaying(folder, { on_miss: 'forward' })
    expect((await forwarding.post(CHAT, chat('unknown'))).status).toBe(200)
    expect((await forwarding.finish()).sessions[0]).toMatchObject({
      replayed: { forwarded: 1, missed: 0 },
      recorded: null,
    })
    const recording = replaying(folder, { on_miss: 'record' })
    expect((await recording.post(CHAT, chat('known'))).status).toBe(200)
    const fresh = await recording.post(CHAT, chat('unknown'))
    await recording.finish()
    const { interactions } = readCassette(join(folder, 'default.yaml'))
    expect(interactions.length).toBe(2)
    const again = replaying(folder)
    expect(contentIn((await again.post(CHAT, chat('unknown'))).text)).toBe(contentIn(fresh.text))
  })
})

test('interactions: are in the order of their first attempts, also those that might have been retried', async () => {
  respond = (content) =>
    content.startsWith('down') ? Response.json({ error: { message: 'later' } }, { status: 503 }) : numbered(content)
  const { folder } = await recorded(async (app) => {
    for (const content of ['first', 'down', 'second', 'down again', 'third']) await app.post(CHAT, chat(content))
  })
  const bodies = readCassette(join(folder, 'default.yaml')).interactions.map(({ request: { body } }) => body)
  expect(JSON.stringify(bodies).match(/(?<="content":")[^"]+/g)).toEqual([
    'first',
    'down',
    'second',
    'down again',
    'third',
  ])
})

test('integers above 2^53: are different requests, are recorded as sent, and are named in a miss', async () => {
  respond = numbered
  const seeded = (seed: string) =>
    `{"model":"gpt-4o","seed":${seed},"metadata":{"customer":"c@example.org"},"messages":[{"role":"user","content":"x"}]}`
  const sent = ['9007199254740993', '-18446744073709551615', '9007199254740992']
  const { folder } = await recorded(async (app) => {
    for (const seed of sent) await app.post(CHAT, seeded(seed))
  })
  const text = readFileSync(join(folder, 'default.yaml'), 'utf8')
  for (const seed of sent) expect(text).toContain(seed)
  const app = replaying(folder)
  for (const seed of sent.toReversed()) expect((await app.post(CHAT, seeded(seed))).status).toBe(200)
  const missed = await app.post(CHAT, seeded('9007199254740994'))
  expect([missed.status, missed.text]).toEqual([404, expect.stringContaining('seed: recorded')])
  expect(JSON.stringify(await app.finish())).toContain(
    '{"path":"seed","recorded":"9007199254740993","sent":9007199254740994}',
  )
})

test('weak matching: needs --allow, is counted, and grades the run', async () => {
  respond = numbered
  const { folder } = await recorded((app) => app.post(CHAT, chat('hi', { temperature: 0.2 })))
  const longer = {
    ...chat('hi'),
    messages: [...chat('hi').messages, { role: 'assistant', content: 'x' }, { role: 'user', content: 'y' }],
    temperature: 0.2,
  }
  const strict = replaying(folder)
  expect((await strict.post(CHAT, longer)).status).toBe(404)
  expect(strict.report().graded).toBe(false)
  const sampling = replaying(folder, { allow: ['sampling'] })
  expect((await sampling.post(CHAT, chat('hi', { top_p: 1 }))).status).toBe(200)
  expect(await sampling.finish()).toMatchObject({ graded: true, sessions: [{ replayed: { weak: { sampling: 1 } } }] })
  const prefix = replaying(folder, { allow: ['prefix'] })
  expect((await prefix.post(CHAT, longer)).status).toBe(200)
  expect(await prefix.finish()).toMatchObject({ graded: true, sessions: [{ replayed: { weak: { prefix: 1 } } }] })
})

test('retries of the gateway: meet the recorded failures, and are one interaction', async () => {
  let failed = false
  respond = () => {
    if (failed) return Response.json(answer('fine'))
    failed = true
    return Response.json({ error: { message: 'slow down' } }, { status: 429, headers: { 'retry-after-ms': '5' } })
  }
  const call = chat('busy', { retry: { count: 2 } })
  const { folder } = await recorded((app) => app.post(ROUTER, call))
  const { interactions } = readCassette(join(folder, 'default.yaml'))
  expect(interactions.map(({ attempts }) => attempts.map(({ response }) => response?.status))).toEqual([[429, 200]])
  const app = replaying(folder)
  const again = await app.post(ROUTER, call)
  expect([again.status, again.headers.get('x-understudy-attempts')]).toEqual([200, '2'])
  expect((await app.finish()).sessions[0]?.replayed).toMatchObject({ attempts: 2, unused: [] })
  const withoutRetry = replaying(folder)
  expect((await withoutRetry.post(ROUTER, chat('busy'))).status).toBe(429)
  expect((await withoutRetry.finish()).sessions[0]?.replayed?.unused).toMatchObject([{ attempts: 2, unused: 1 }])
})

test('time limit of the gateway: is met again, at once if replayed instantly', async () => {
  respond = async () => {
    await Bun.sleep(2_000)
    return Response.json(answer('late'))
  }
  const call = chat('slow', { timeout: { call_timeout: 600 } })
  const { folder } = await recorded(async (app) => expect((await app.post(ROUTER, call)).status).toBe(504))
  expect(readCassette(join(folder, 'default.yaml')).interactions[0]?.attempts[0]).toMatchObject({ end: 'timed out' })
  const app = replaying(folder)
  expect((await app.post(ROUTER, call)).status).toBe(504)
  expect((await app.finish()).sessions[0]?.replayed).toMatchObject({ missed: 0 })
  const longer = replaying(folder)
  const missed = await longer.post(ROUTER, { ...call, timeout: { call_timeout: 30_000 } })
  expect(missed.text).toContain('its client timed out')
  expect((await longer.finish()).sessions[0]?.replayed?.misses).toMatchObject([{ reason: 'read on' }])

  // As if the limit had been so long that waiting for it would be seen on any machine.
  const file = join(folder, 'default.yaml')
  writeFileSync(file, readFileSync(file, 'utf8').replace(/\bended: \S+/, 'ended: 10000ms'))
  const limited = replaying(folder)
  const began = performance.now()
  expect((await limited.post(ROUTER, { ...call, timeout: { call_timeout: 10_000 } })).status).toBe(504)
  expect(performance.now() - began).toBeLessThan(5_000)
  await limited.finish()
})

test('client that reads on where the recorded one left: gets an error in the stream, which is a miss', async () => {
  const chunk = (content: string) =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o', choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`
  respond = () =>
    new Response(
      new ReadableStream({
        async start(controller) {
          controller.enqueue(new TextEncoder().encode(chunk('one')))
          await Bun.sleep(5_000)
        },
      }),
      { headers: { 'content-type': 'text/event-stream' } },
    )
  const streamed = chat('stream', { stream: true })
  for (const path of [CHAT, ROUTER]) {
    const { folder } = await recorded(async ({ understudy }) => {
      const leave = new AbortController()
      const request = new Request(`http://localhost${path}`, {
        ...{ method: 'POST', signal: leave.signal, body: JSON.stringify(streamed) },
        headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
      })
      const reader = (await understudy.app.fetch(request)).body?.getReader()
      await reader?.read()
      leave.abort()
      await reader?.cancel().catch(() => {})
    })
    expect(readCassette(join(folder, 'default.yaml')).interactions[0]?.attempts[0]).toMatchObject({
      end: 'left by client',
    })
    const app = replaying(folder)
    const { text } = await app.post(path, streamed)
    expect(text).toContain('"content":"one"')
    expect(text).toContain('the recording ends here, because its client left')
    expect(text).not.toContain('[DONE]')
    expect((await app.finish()).sessions[0]?.replayed?.misses).toMatchObject([{ reason: 'read on' }])
  }
})

test('latency: is as recorded, faster by a factor, or none', async () => {
  respond = async (content) => {
    await Bun.sleep(100)
    return numbered(content)
  }
  const { folder } = await recorded((app) => app.post(CHAT, chat('slow')))
  const took = async (speed: 'real' | 'instant' | number) => {
    const app = replaying(folder, { speed, clock: 'virtual', skip_latency: true })
    const answer = await app.post(CHAT, chat('slow'))
    expect(answer.status).toBe(200)
    return (await app.traceOf(answer)).duration_ms
  }
  const [real, faster, instant] = [await took('real'), await took(10), await took('instant')]
  expect(real).toBeGreaterThan(95)
  expect(Math.abs(faster - real / 10)).toBeLessThanOrEqual(1)
  expect(instant).toBe(0)
})

test('latency: takes no longer on a frozen clock', async () => {
  respond = () =>
    new Response(
      (async function* () {
        for (let piece = 0; piece < 12; piece++) {
          yield `: ${piece}\n\n`
          await Bun.sleep(40)
        }
        yield 'data: [DONE]\n\n'
      })() as never,
      { headers: { 'content-type': 'text/event-stream' } },
    )
  const streamed = chat('slow', { stream: true })
  const { folder } = await recorded((app) => app.post(CHAT, streamed))
  const tookOn = async (frozen: boolean) => {
    const app = replaying(folder, { speed: 'real', clock: 'virtual', skip_latency: false })
    const clock = '/_understudy/sessions/default/clock'
    if (frozen) expect((await app.post(clock, { freeze: true })).status).toBe(200)
    const began = performance.now()
    expect((await app.post(CHAT, streamed)).text).toEndWith('[DONE]\n\n')
    return performance.now() - began
  }
  const running = await tookOn(false)
  expect(await tookOn(true)).toBeLessThan(running * 2 + 500)
})

test('headers that change the meaning: are passed on by the gateway, and compared', async () => {
  respond = numbered
  const beta = (value: string) => ({ 'openai-beta': value, 'anthropic-beta': 'not for this provider' })
  const { folder } = await recorded((app) => app.post(ROUTER, chat('beta'), beta('assistants=v2')))
  expect(provider.last().headers).toMatchObject({ 'openai-beta': 'assistants=v2' })
  expect(provider.last().headers).not.toHaveProperty('anthropic-beta')
  const app = replaying(folder)
  expect((await app.post(ROUTER, chat('beta'), beta('assistants=v3'))).text).toContain('headers.openai-beta')
  expect((await app.post(ROUTER, chat('beta'), { 'openai-beta': 'assistants=v2' })).status).toBe(200)
})

test('large response: is passed on whole, and recorded up to the limit', async () => {
  const large = 'x'.repeat(300_000)
  respond = () => Response.json(answer(large))
  let text = ''
  const { folder, report } = await recorded(
    async (app) => {
      text = (await app.post(CHAT, chat('large'))).text
    },
    { max_recorded: 100_000 },
  )
  expect(text).toContain(large)
  expect(report.sessions[0]?.recorded?.omitted).toBe(text.length - 100_000)
  const app = replaying(folder)
  await app.post(CHAT, chat('large')).catch(() => {})
  expect(app.report().sessions[0]?.replayed?.misses).toMatchObject([{ reason: 'not recorded' }])
})

test('secrets: are in no cassette and no trace, and come back on a hit', async () => {
  const secret = 'ghp_aB3dE5gH7jK9mN1pQ3sT5vX7zA9cE1gI3kM5'
  const requestId = `req ${secret}`
  respond = (content) => Response.json(answer(`you said ${content}`), { headers: { 'x-request-id': requestId } })
  let trace = ''
  const { folder, report } = await recorded(async (app) => {
    const first = await app.post(CHAT, chat(`my token is ${secret}`))
    expect(first.text).toContain(secret)
    expect(first.headers.get('x-request-id')).toBe(requestId)
    trace = JSON.stringify(await app.traceOf(first))
    const id = first.headers.get('x-understudy-trace')
    trace += (await app.fetch(`/_understudy/traces/${id}/exchange`)).text
  })
  expect(trace).toContain('<secret:')
  expect(trace).not.toContain(secret)
  for (const file of readdirSync(folder)) expect(readFileSync(join(folder, file), 'utf8')).not.toContain(secret)
  expect(report.sessions[0]?.redacted.length).toBeGreaterThan(0)
  const app = replaying(folder)
  const again = await app.post(CHAT, chat(`my token is ${secret}`))
  expect(contentIn(again.text)).toBe(`you said my token is ${secret}`)
  expect(JSON.stringify(await app.traceOf(again))).not.toContain(secret)
})

test('replay: needs no key, allows a virtual clock, and can open no connection', async () => {
  respond = numbered
  const { folder } = await recorded((app) => app.post(CHAT, chat('x')))
  const app = cassetteApp(
    'http://127.0.0.1:9',
    { replay: folder, clock: 'virtual', speed: 'real' },
    { entry: { api_key: '$' + '{NO_SUCH_KEY}' } },
  )
  expect((await app.post(CHAT, chat('x'))).status).toBe(200)
  expect((await app.post(CHAT, chat('y'))).status).toBe(404)
  expect((await app.fetch('/_understudy/health')).json()).toMatchObject({ mode: 'replay', spending: null })
  expect((await app.fetch('/_understudy/cassettes')).json()).toMatchObject({
    folder,
    sessions: [{ session: 'default', replayed: { missed: 1 } }],
  })
})

test('session that is deleted and created again: is replayed from the beginning', async () => {
  respond = numbered
  const { folder } = await recorded((app) => app.post(CHAT, chat('x'), inSession('again')))
  const app = replaying(folder)
  for (let round = 0; round < 2; round++) {
    expect((await app.post(CHAT, chat('x'), inSession('again'))).status).toBe(200)
    await app.fetch('/_understudy/sessions/again', { method: 'DELETE' })
  }
})

test('test that runs once more: replays its cassette from the beginning, unless it was recorded itself', async () => {
  respond = numbered
  const { folder } = await recorded(async (app) => {
    for (const name of ['pays-0a1b2c3d', 'fails-0a1b2c3d', 'fails-0a1b2c3d.2', 'v1'])
      await app.post(CHAT, chat(name), inSession(name))
  })
  const app = replaying(folder)
  const statusOf = async (content: string, session: string) =>
    (await app.post(CHAT, chat(content), inSession(session))).status
  expect(await statusOf('pays-0a1b2c3d', 'pays-0a1b2c3d')).toBe(200)
  expect(await statusOf('pays-0a1b2c3d', 'pays-0a1b2c3d.2')).toBe(200)
  expect(await statusOf('fails-0a1b2c3d.2', 'fails-0a1b2c3d.2')).toBe(200)
  expect(await statusOf('v1', 'v1.2')).toBe(404)
  const { sessions } = await app.finish()
  expect(sessions.map(({ session, cassette }) => [session, cassette])).toContainEqual([
    'pays-0a1b2c3d.2',
    'pays-0a1b2c3d',
  ])
})

test('programs with another key than that of the run: share its cassette', async () => {
  respond = numbered
  const folder = newFolder()
  const options = { instead: { home: 'of-the-run' } }
  const calls = async (app: ReturnType<typeof cassetteApp>) => {
    const got: string[] = []
    for (const session of ['of-the-run', 'default', 'of-the-run', 'default'])
      got.push(contentIn((await app.post(CHAT, chat('same jane@mail.test'), inSession(session))).text))
    return got
  }
  const recording = cassetteApp(provider.url, { record: folder }, options)
  const first = await calls(recording)
  const report = await recording.finish()
  expect(
    report.sessions.map(({ cassette, recorded }) => [cassette, recorded?.interactions, recorded?.problem]),
  ).toEqual([['default', 4, null]])
  expect(readdirSync(folder)).toEqual(['default.yaml'])
  const app = cassetteApp(provider.url, { replay: folder, speed: 'instant' }, options)
  expect(await calls(app)).toEqual(first)
  expect((await app.finish()).sessions.map(({ replayed }) => replayed?.unused)).toEqual([[]])
})

test('recording of one session: renews its cassette, and replays the others', async () => {
  respond = numbered
  const ask = async (app: ReturnType<typeof cassetteApp>) =>
    Promise.all(['a', 'b'].map(async (name) => contentIn((await app.post(CHAT, chat('x'), inSession(name))).text)))
  let first: string[] = []
  const { folder } = await recorded(async (app) => {
    first = await ask(app)
  })
  const before = readFileSync(join(folder, 'b.yaml'), 'utf8')
  const app = cassetteApp(
    provider.url,
    { record: folder, replay: folder, speed: 'instant' },
    { instead: { recordOnly: ['a'] } },
  )
  const second = await ask(app)
  await app.finish()
  expect(second[1]).toBe(first[1] ?? '')
  expect(second[0]).not.toBe(first[0] ?? '')
  expect(readFileSync(join(folder, 'b.yaml'), 'utf8')).toBe(before)
  expect(await ask(replaying(folder))).toEqual(second)
})

test.each([
  ['the recorded request', {}],
  ['a request that --allow matches', { temperature: 0.5 }],
])('fault on a replayed response: leaves the response to the retry of %s', async (_, sampling) => {
  respond = numbered
  const { folder } = await recorded(async (app) => {
    await app.post(CHAT, chat('x'))
    await app.post(ROUTER, chat('x'))
  })
  const scenario = parseScenario(
    'cut.yaml',
    'name: cut\nrules: [{ name: cut, when: { calls: 1 }, fault: { type: truncate-body } }, { name: again, when: { calls: 3 }, fault: { type: truncate-body } }]',
  )
  const app = cassetteApp(
    provider.url,
    { replay: folder, speed: 'instant', allow: ['sampling'] },
    { instead: { scenarios: [fixedSource(scenario)] } },
  )
  const send = (path: string) => app.post(path, chat('x', sampling))
  const statuses = async (path: string) =>
    [await send(path).catch(() => undefined), await send(path)].map((one) => one?.status)
  expect((await statuses(CHAT)).at(-1)).toBe(200)
  expect((await statuses(ROUTER)).at(-1)).toBe(200)
  expect((await app.finish()).sessions[0]?.replayed).toMatchObject({ missed: 0, unused: [] })
})

test('replay of another emulator: gives clients the same bytes without it', async () => {
  const mock = new LLMock({ port: 0, chunkSize: 6 })
  mock.onMessage('hello', { content: 'Hello from aimock, in several chunks.' })
  mock.onMessage('weather', { toolCalls: [{ name: 'get_weather', arguments: '{"city":"Oslo"}' }] })
  mock.onMessage('fail', { error: { message: 'overloaded', type: 'server_error' }, status: 503 })
  const url = `${await mock.start()}/v1`
  const all = async (app: ReturnType<typeof cassetteApp>) => {
    const texts: string[] = []
    for (const stream of [false, true])
      for (const content of ['hello', 'weather', 'fail']) {
        const { status, text } = await app.post(CHAT, chat(content, { stream }))
        const messages = { model: 'claude-opus-4-8', max_tokens: 100, stream, messages: chat(content).messages }
        const other = await app.post('/v1/messages', messages)
        texts.push(`${status} ${text}`, `${other.status} ${other.text}`)
      }
    return texts
  }
  const folder = newFolder()
  const recording = cassetteApp(url, { record: folder })
  const first = await all(recording)
  await recording.finish()
  await mock.stop()
  for (const part of ['several chunks', 'get_weather', '503']) expect(first.join(' ')).toContain(part)
  const app = cassetteApp(url, { replay: folder, speed: 'instant' })
  expect(await all(app)).toEqual(first)
  expect((await app.finish()).sessions[0]?.replayed).toMatchObject({ attempts: 12, missed: 0, unused: [] })
})
