// deploy/haproxy.cfg in front of three processes: a session always reaches the same one, and a process that ends takes only its own
// sessions along.
// Not faster: a balancer takes instances out and back by its health checks, in real time.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Agent, get } from 'node:http'
import { join } from 'node:path'
import { CHAT, user } from '../support/chat.ts'
import { emptyFolder, exchange, type Server, startServer } from '../support/server.ts'

const HAPROXY = Bun.which('haproxy') ?? ((await Bun.file('/usr/sbin/haproxy').exists()) ? '/usr/sbin/haproxy' : null)
const CONFIG = join(import.meta.dir, '..', '..', 'deploy', 'haproxy.cfg')
const SESSIONS = 45
const NAMES = ['a', 'b', 'c'] as const

const folder = emptyFolder()
const servers = new Map<string, Server>()
let url = ''
let balancer: Bun.Subprocess | undefined

// Below those that systems give to connections, of which there are hundreds here: one of them may have the port of a process that was
// killed, which could not have it again then.
const [FIRST_PORT, PORTS] = [20_000, 12_000]
/** What comes of a port that nobody has now. */
async function onFreePort<Result>(use: (port: number) => Promise<Result>): Promise<Result> {
  for (let tries = 0; ; tries++) {
    try {
      return await use(FIRST_PORT + Math.floor(Math.random() * PORTS))
    } catch (error) {
      if (tries === 20) throw error
    }
  }
}
const start = async (name: string, port: number, more: readonly string[] = []) => {
  const args = [
    '--instance',
    name,
    '--instance-strict',
    '--db',
    ':memory:',
    '--port',
    String(port),
    '--drain-timeout',
    '20s',
    ...more,
  ]
  servers.set(name, await startServer(args, { cwd: folder.path }))
}
/** Resolves when it answers; rejects when it has ended, as it does when somebody else has the port. */
async function startBalancer(port: number): Promise<void> {
  const addresses = NAMES.map((name) => [name.toUpperCase(), new URL(servers.get(name)?.url ?? '').host])
  const bind = `127.0.0.1:${port}`
  // Two that have one port would each get some of the calls.
  Bun.listen({ hostname: '127.0.0.1', port, socket: { data() {} } }).stop(true)
  const child = Bun.spawn([HAPROXY ?? '', '-db', '-f', CONFIG], {
    env: { ...Object.fromEntries(addresses), BIND: bind },
    stdout: 'ignore',
    stderr: 'ignore',
  })
  balancer = child
  url = `http://${bind}`
  await Promise.race([
    balanced(NAMES),
    child.exited.then((code) => {
      throw new Error(`haproxy has ended with ${code}`)
    }),
  ])
}

/** Where a session's name stands, by the number of the session. */
const WAYS = ['token', 'suffix', 'key', 'header', 'address'] as const
function requestOf(index: number, path: string): [string, Record<string, string>] {
  const name = `s${index}`
  const json = { 'content-type': 'application/json' }
  switch (WAYS[index % WAYS.length]) {
    case 'token':
      return [path, { ...json, authorization: `Bearer session:${name}` }]
    case 'suffix':
      return [path, { ...json, authorization: `Bearer mine#${index % 2 ? '' : 'session:'}${name}` }]
    case 'key':
      return [path, { ...json, 'x-api-key': `session:${name}` }]
    case 'header':
      return [path, { ...json, authorization: 'Bearer session:another', 'x-understudy-session': name }]
    default:
      return [`/s/${name}${path}`, { ...json, authorization: 'Bearer session:another' }]
  }
}
const call = (index: number, path: string, body?: unknown, method = body === undefined ? 'GET' : 'POST') => {
  const [address, headers] = requestOf(index, path)
  return fetch(`${url}${address}`, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) })
}
const say = (index: number, stream = false) =>
  call(index, CHAT, { model: 'openai/gpt-4o', stream, ...user(`I am ${index}`) })
const make = (index: number) =>
  fetch(`${url}/_understudy/sessions/s${index}`, {
    method: 'PUT',
    headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
    body: JSON.stringify({
      seed: index,
      // The third call of each session is refused by a rule of its own.
      scenario: {
        name: `of-${index}`,
        rules: [{ name: `r${index}`, when: { calls: '3' }, fault: { type: 'http-error', status: 418 } }],
      },
    }),
  })
const all = <Result>(run: (index: number) => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: SESSIONS }, (_, index) => run(index)))
const instanceOf = ({ headers }: Response) => headers.get('x-understudy-instance') ?? ''
const isNew = ({ headers }: Response) => headers.get('x-understudy-session-new')
async function callsOf(index: number): Promise<{ calls: number; scenario: string | null; instance: string }> {
  const found = await fetch(`${url}/_understudy/sessions/s${index}`, { headers: { authorization: 'Bearer any' } })
  return { ...((await found.json()) as { calls: number; scenario: string | null }), instance: instanceOf(found) }
}
/** Sessions whose calls show which instances are asked: one of each, once it is known where they belong. */
let probes = Array.from({ length: 40 }, (_, index) => `probe${index}`)
/** Resolves when every instance of these names is asked, and no other. */
async function balanced(names: readonly string[]): Promise<void> {
  while (!balancer?.killed && balancer?.exitCode === null) {
    const asked = await Promise.all(
      probes.map((name) =>
        fetch(`${url}/s/${name}/_understudy/traces`, { headers: { authorization: 'Bearer any' } }).then(
          instanceOf,
          () => 'none',
        ),
      ),
    )
    if ([...new Set(asked)].sort().join() === [...names].sort().join()) {
      if (names === NAMES) probes = NAMES.flatMap((name) => probes.filter((_, at) => asked[at] === name).slice(0, 1))
      return
    }
    await Bun.sleep(200)
  }
}

beforeAll(async () => {
  if (!HAPROXY) return
  await Promise.all(NAMES.map((name) => onFreePort((port) => start(name, port))))
  await onFreePort(startBalancer)
}, 60_000)
afterAll(async () => {
  balancer?.kill('SIGKILL')
  await Promise.all([...servers.values()].map((server) => server.stop('SIGKILL')))
  folder.remove()
})

test.if(!HAPROXY)('balancer tests: are skipped without haproxy: apt-get install haproxy', () => {})

describe.skipIf(!HAPROXY)('HAProxy', () => {
  test('sends 45 sessions by token, header and path to one process each', async () => {
    expect(new Set((await all(make)).map(({ status }) => status))).toEqual(new Set([201]))
    const first = await all((index) => say(index))
    const streams = await all((index) => say(index, true))
    const texts = await Promise.all(streams.map((stream) => stream.text()))
    expect(texts.every((text) => text.trim().endsWith('data: [DONE]'))).toBe(true)
    const third = await all((index) => say(index))
    expect(new Set(third.map(({ status }) => status))).toEqual(new Set([418]))
    expect(third.map(({ headers }) => headers.get('x-understudy-faults'))).toEqual(third.map((_, index) => `r${index}`))
    for (const answers of [streams, third]) expect(answers.map(instanceOf)).toEqual(first.map(instanceOf))
    expect([...first, ...streams, ...third].map(isNew).filter((said) => said !== null)).toEqual([])
    const seen = await all(callsOf)
    expect(seen).toEqual(
      first.map((answer, index) =>
        expect.objectContaining({ calls: 3, scenario: `of-${index}`, instance: instanceOf(answer) }),
      ),
    )
    const shares = NAMES.map((name) => first.filter((answer) => instanceOf(answer) === name).length)
    expect(Math.min(...shares)).toBeGreaterThan(SESSIONS / 10)
  }, 60_000)

  test('finds a session wherever its name is given, or nowhere', async () => {
    const home = async (name: string) => instanceOf(await fetch(`${url}/s/${name}/_understudy/traces`))
    const elsewhere = await home('default')
    let name = 'odd0'
    for (let number = 1; (await home(name)) === elsewhere; number++) name = `odd${number}`
    const there = await home(name)
    const request = (line: string, ...headers: string[]) =>
      [`${line} HTTP/1.1`, 'Host: localhost', ...headers, '', ''].join('\r\n')
    const traces = 'GET /_understudy/traces'
    const any = 'Authorization: Bearer any'
    const session = `/_understudy/sessions/${name}`
    // Where it goes: to the session's instance, or nowhere.
    const asked: [string, 200 | 201 | 400][] = [
      [request(`PUT ${session}`, any), 201],
      [request(`GET ${session}`, any, 'X-Understudy-Session: default'), 200],
      [request(`GET /s/${name}/_understudy/traces?model=/s/b/c`, any, 'X-Understudy-Session: default'), 200],
      [request(`GET ${session.replace('odd', '%6fdd')}`, any), 200],
      [request(`GET /s/default${session}`, any), 200],
      [request(`GET http://localhost${session}`, any), 200],
      [request(traces, any, `X-UNDERSTUDY-SESSION:   ${name}  `), 200],
      [request(traces, `Authorization: Bearer\tsession:${name}`), 200],
      [request(traces, `authorization: bearer  k#session:${name}`), 200],
      [request(traces, `X-Api-Key: k#${name}`), 200],
      [request(`GET /s/other/../${name}/_understudy/traces`, any), 400],
      [request(`GET /x/%2E./s/${name}/_understudy/traces`, any), 400],
      [request(`GET /s\\${name}\\_understudy/traces`, any), 400],
      [request(traces, any, `x-understudy-session: ${name}`, 'x-understudy-session: b'), 400],
    ]
    for (const [bytes, status] of asked) {
      const text = await exchange(url, bytes, '}')
      const instance = /^x-understudy-instance: (.*)\r$/im.exec(text)?.[1]
      const found = [bytes, text.slice(0, 12), status === 400 ? there : instance]
      expect(found).toEqual([bytes, `HTTP/1.1 ${status}`, there])
    }
    // A slash of a name, however it is written.
    const slashed = await home(`${name}%2Fb`)
    for (const line of [
      request(traces, any, `x-understudy-session: ${name}/b`),
      request(traces, `Authorization: Bearer session:${name}/b`),
      request(`PUT ${session}%2Fb`, any),
      request(`GET ${session}%2Fb`, any),
    ]) {
      const text = await exchange(url, line, '}')
      expect([line, /^x-understudy-instance: (.*)\r$/im.exec(text)?.[1]]).toEqual([line, slashed as string])
    }
  })

  test('sends calls of several sessions on one connection to their instances', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const ask = (name: string) =>
      new Promise<{ instance: unknown; reused: boolean }>((resolve, reject) => {
        const headers = { 'x-understudy-session': name }
        const asked = get(`${url}/_understudy/traces`, { agent, headers }, (answer) => {
          const instance = answer.headers['x-understudy-instance']
          answer.resume().on('end', () => resolve({ instance, reused: asked.reusedSocket }))
        })
        asked.on('error', reject)
      })
    const names = Array.from({ length: 30 }, (_, index) => `s${index}`)
    const seen: Awaited<ReturnType<typeof ask>>[] = []
    for (const name of names) seen.push(await ask(name))
    agent.destroy()
    const alone = await Promise.all(
      names.map(async (name) => instanceOf(await fetch(`${url}/s/${name}/_understudy/traces`))),
    )
    expect(seen.map(({ instance }) => instance)).toEqual(alone)
    expect(seen.slice(1).filter(({ reused }) => !reused)).toEqual([])
    expect(new Set(alone).size).toBe(NAMES.length)
  })

  test('passes on what an instance breaks off, byte for byte', async () => {
    for (const [type, end] of [
      ['cut-stream', 'cut'],
      ['reset', 'none'],
    ] as const) {
      const fault = type === 'reset' ? { type: 'reset' } : { type: 'cut-stream', after_bytes: 400 }
      const scenario = { name: type, rules: [{ name: type, at: 'gateway', fault }] }
      const name = `broken-${type}`
      const body = JSON.stringify({ scenario })
      const made = await fetch(`${url}/_understudy/sessions/${name}`, {
        method: 'PUT',
        body,
        headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
      })
      expect(made.status).toBe(201)
      const request = JSON.stringify({ model: 'openai/gpt-4o', stream: true, ...user('Hello') })
      const bytes = `POST /s/${name}${CHAT} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer any\r\nContent-Type: application/json\r\nContent-Length: ${request.length}\r\n\r\n${request}`
      const heard = await exchange(url, bytes, 'never said')
      if (end === 'none') expect(heard).toBe('')
      else {
        // How much arrives is the network's: a reset overtakes what was not read yet.
        expect(heard).not.toContain('[DONE]')
        expect(heard.endsWith('0\r\n\r\n')).toBe(false)
      }
    }
  }, 60_000)

  test('restarts only the sessions of a killed process, which say so, and the process returns', async () => {
    const before = await all((index) => say(index))
    const lost = before.flatMap((answer, index) => (instanceOf(answer) === 'b' ? [index] : []))
    const victim = servers.get('b')
    const port = Number(new URL(victim?.url ?? '').port)
    // Calls that had not reached it yet are the first of their sessions elsewhere.
    const running = all(async (index) => {
      try {
        const answer = await say(index, true)
        await answer.text()
        return isNew(answer) !== null
      } catch {
        return false
      }
    })
    await victim?.stop('SIGKILL')
    const early = await running
    await balanced(['a', 'c'])
    const counts = await all((index) => (lost.includes(index) ? Promise.resolve(undefined) : callsOf(index)))
    expect(counts.filter((one) => one !== undefined && one.calls !== 5)).toEqual([])
    const after = await all((index) => say(index))
    const said = after.flatMap((answer, index) => (isNew(answer) !== null || early[index] ? [index] : []))
    expect(said).toEqual(lost)
    expect(
      after.flatMap((answer, index) => (answer.status === 200 && instanceOf(answer) !== 'b' ? [index] : [])),
    ).toHaveLength(SESSIONS)
    const stayed = after.map(instanceOf).filter((_, index) => !lost.includes(index))
    expect(stayed).toEqual(before.map(instanceOf).filter((_, index) => !lost.includes(index)))
    const verdict = await call(lost[0] ?? 0, '/_understudy/verify')
    expect((await verdict.json()) as object).toMatchObject({ ok: false, complete: false })
    await start('b', port)
    await balanced(NAMES)
    const back = await all((index) => say(index))
    expect(back.flatMap((answer, index) => (instanceOf(answer) === 'b' ? [index] : []))).toEqual(lost)
    // What their calls have left elsewhere comes back when it dies again, and says so.
    await servers.get('b')?.stop('SIGKILL')
    await balanced(['a', 'c'])
    const again = await all((index) => say(index))
    const moved = again.flatMap((answer, index) =>
      answer.headers.get('x-understudy-session-incomplete') === 'moved' ? [index] : [],
    )
    expect(moved).toEqual(lost)
    await start('b', port)
    await balanced(NAMES)
  }, 60_000)

  /** What a client has seen of a session. */
  interface Seen {
    name: string
    /** Statuses of the calls, and of making it. */
    statuses: number[]
    /** Who has answered the calls. */
    instances: string[]
    broken: number
  }
  const headers = { authorization: 'Bearer any', 'content-type': 'application/json' }
  const body = JSON.stringify({ model: 'openai/gpt-4o', ...user('Hello') })
  /** Makes a session, and calls in it again and again. */
  async function callUntil(name: string, over: () => boolean): Promise<Seen> {
    const seen: Seen = { name, statuses: [], instances: [], broken: 0 }
    const put = await fetch(`${url}/_understudy/sessions/${name}`, { method: 'PUT', headers })
    seen.statuses.push(put.status)
    do {
      try {
        const answer = await fetch(`${url}/s/${name}${CHAT}`, { method: 'POST', headers, body })
        await answer.text()
        seen.statuses.push(answer.status)
        seen.instances.push(instanceOf(answer))
      } catch {
        seen.broken++
      }
      // What else happens has its turn.
      await Bun.sleep(300)
    } while (!over())
    return seen
  }
  /** Those of which a verdict says that it knows all calls, and does not. */
  async function falseVerdicts(all: readonly Seen[]) {
    const verdicts = await Promise.all(
      all.map(async ({ name, instances }) => {
        const answer = await fetch(`${url}/s/${name}/_understudy/verify`, { headers })
        const { complete, calls } = (await answer.json()) as { complete: boolean; calls: number }
        const isRight =
          !complete || (calls === instances.length && instances.every((one) => one === instanceOf(answer)))
        return isRight ? undefined : { name, calls, instances, by: instanceOf(answer) }
      }),
    )
    return verdicts.filter((one) => one !== undefined)
  }

  test.each([
    ['without folders', false],
    ['with folders', true],
  ])(
    'causes no 503 and no false verdict in 10 sessions during a rolling restart, %s',
    async (_, kept) => {
      // What one without a folder has forgotten, one with an empty folder does not know either: so they have folders the next time.
      const restart = async (name: string) => {
        const server = servers.get(name)
        const port = Number(new URL(server?.url ?? '').port)
        expect(await server?.stop('SIGTERM')).toBe(0)
        await start(name, port, ['--sessions-dir', join(folder.path, `sessions-${name}`)])
        await balanced(NAMES)
      }
      let over = false
      const load = Array.from({ length: 10 }, (_, index) => callUntil(`rolling-${kept}-${index}`, () => over))
      // Others begin all the time, and end soon.
      const visitors = (async () => {
        const all: Seen[] = []
        for (let number = 0; !over; number++) all.push(await callUntil(`visitor-${kept}-${number}`, () => true))
        return all
      })()
      for (const name of NAMES) await restart(name)
      over = true
      const seen = [...(await Promise.all(load)), ...(await visitors)]
      const statuses = seen.flatMap((one) => one.statuses)
      expect(statuses.filter((status) => status !== 200 && status !== 201)).toEqual([])
      expect(seen.reduce((sum, { broken }) => sum + broken, 0)).toBe(0)
      expect(new Set(seen.flatMap(({ instances }) => instances)).size).toBe(NAMES.length)
      expect(await falseVerdicts(seen)).toEqual([])
    },
    180_000,
  )
})
