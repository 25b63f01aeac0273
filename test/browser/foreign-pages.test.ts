// A web page of another origin changes nothing: checked by its headers, and as a browser sends them.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Browser, BrowserContext } from 'playwright-core'
import { send, testApps } from '../support/app.ts'
import { closeBrowser, launchBrowser } from '../support/browser.ts'
import { serveHere } from '../support/cli.ts'
import { errorOf } from '../support/errors.ts'
import type { Server } from '../support/server.ts'

const CHAT = '/v2/router/chat/completions'
const EVIL = 'http://evil.example'
const { appWith, close } = testApps()
const app = appWith()
afterAll(close)

/** Everything that changes something, one of each kind; none of them needs more than a page can send without a preflight. */
const CHANGES: [method: string, path: string, body?: object][] = [
  ['POST', CHAT, { model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'hello' }] }],
  ['POST', '/v2/datasets', { display_name: 'From a page' }],
  ['PATCH', '/v2/datasets/00000000-0000-4000-8000-000000000000', { display_name: 'x' }],
  ['DELETE', '/v2/datasets/00000000-0000-4000-8000-000000000000'],
  ['POST', '/v2/feedback/remove', { id: 'a', trace_id: 'b' }],
  ['POST', '/_understudy/reset?all=true'],
  ['POST', '/_understudy/sessions', { name: 'from-a-page' }],
  ['POST', '/_understudy/sessions/default/clock', { advance: '1h' }],
  ['DELETE', '/_understudy/sessions/default'],
  ['PUT', '/_understudy/scenario', { name: 'outage' }],
  ['POST', '/_understudy/snapshot', { understudy_snapshot: 1, tables: {} }],
  ['POST', '/_understudy/seed', { yaml: '' }],
  ['POST', '/_understudy/verify', { expect: [] }],
  ['POST', '/s/other/_understudy/reset'],
]
const headers: Record<string, string> = { authorization: 'Bearer any', 'content-type': 'application/json' }
const change = (target: typeof app, index: number, more: Record<string, string>) => {
  const [method, path, body] = CHANGES[index] as (typeof CHANGES)[number]
  return send(target, path, { method, headers: { ...headers, ...more }, ...(body && { body: JSON.stringify(body) }) })
}
const every = CHANGES.map(([method, path], index) => [method, path, index] as const)

describe('page of another origin', () => {
  const rows: [string, Record<string, string>][] = [
    ['another site', { origin: EVIL, 'sec-fetch-site': 'cross-site' }],
    ['a site whose browser sends only its origin', { origin: EVIL }],
    [
      'another port of this machine',
      { origin: 'http://localhost:3000', 'sec-fetch-site': 'same-site', host: 'localhost:8633' },
    ],
    ['the same port by another name', { origin: 'http://localhost:8633', host: '127.0.0.1:8633' }],
    ['a file or a sandboxed frame', { origin: 'null' }],
    ['a browser that leaves the origin out', { 'sec-fetch-site': 'cross-site' }],
    ["a name that begins like the server's", { origin: 'http://localhost:8633.evil.example', host: 'localhost:8633' }],
    ['several origins', { origin: 'http://localhost:8633, http://evil.example', host: 'localhost:8633' }],
  ]
  test.each(rows)('is rejected: %s', async (_, page) => {
    for (const [index, [method, path]] of CHANGES.entries()) {
      const answer = await change(app, index, page)
      expect([method, path, answer.status]).toEqual([method, path, 403])
      const error = errorOf(answer.text, 403)
      expect([error.code, error.type]).toEqual(['origin_not_allowed', 'permission_error'])
      expect(error.message).toContain('--cors')
    }
  })

  test('changes nothing', async () => {
    const sessions = (await app.fetch('/_understudy/sessions')).json().data as { name: string; calls: number }[]
    expect(sessions.map(({ name, calls }) => [name, calls])).toEqual([['default', 0]])
  })

  test('is named in the error, whatever its length', async () => {
    expect(errorOf((await change(app, 0, { origin: EVIL })).text, 403).message).toContain(`"${EVIL}"`)
    const long = await change(app, 0, { origin: `http://${'x'.repeat(5_000)}.example` })
    expect(long.text.length).toBeLessThan(2_000)
  })
})

const working = appWith()
const open = appWith({ cors: ['http://localhost:3000'] })
const openToAll = appWith({ cors: ['*'] })
describe.each(every)('%s %s and origins', (_, __, index) => {
  const rows: [string, Record<string, string>][] = [
    ['from programs', {}],
    ['from programs that name no site', { 'sec-fetch-mode': 'cors' }],
    [
      "from the server's own pages",
      { origin: 'http://localhost:8633', 'sec-fetch-site': 'same-origin', host: 'localhost:8633' },
    ],
    ["from the server's own pages behind TLS", { origin: 'https://localhost', host: 'localhost' }],
    ['by the other loopback name', { origin: 'http://[::1]:8633', host: '[::1]:8633' }],
    ['from the address bar', { 'sec-fetch-site': 'none' }],
  ]
  test.each(rows)('is accepted %s', async (_, page) => {
    expect((await change(working, index, page)).status).not.toBe(403)
  })

  test('is accepted from origins that --cors names, and no other', async () => {
    const site = { 'sec-fetch-site': 'cross-site' }
    const named = await change(open, index, { origin: 'http://localhost:3000', ...site })
    expect(named.status).not.toBe(403)
    expect(named.headers.get('access-control-allow-origin')).toBe('http://localhost:3000')
    expect((await change(open, index, { origin: 'http://localhost:3001', ...site })).status).toBe(403)
    expect((await change(open, index, site)).status).toBe(403)
    expect((await change(openToAll, index, { origin: EVIL, ...site })).status).not.toBe(403)
  })
})

describe('reads from a page of another origin', () => {
  const page = { origin: EVIL, 'sec-fetch-site': 'cross-site' }
  test.each(['/swagger', '/swagger/json', '/v2/datasets'])('are answered for GET %s', async (path) => {
    const answer = await send(app, path, { headers: { ...headers, ...page } })
    expect(answer.status).toBe(200)
    expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([])
  })

  test('are not allowed by a preflight', async () => {
    const preflight = { ...page, 'access-control-request-method': 'POST' }
    const answer = await send(app, CHAT, { method: 'OPTIONS', headers: preflight })
    expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([])
  })
})

describe('control API reads', () => {
  const paths = ['/health', '/traces', '/sessions', '/verify?wait=1s', '/live', '/snapshot', '/nowhere']
  const pages: [string, Record<string, string>][] = [
    ['without an origin', { 'sec-fetch-site': 'cross-site' }],
    ['of another port', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' }],
    ['that is navigated to', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }],
    ['with an origin', { origin: EVIL }],
  ]
  test.each(pages)('are rejected from a page %s', async (_, page) => {
    for (const path of paths) {
      for (const [method, base] of [
        ['GET', '/_understudy'],
        ['HEAD', '/_understudy'],
        ['GET', '/s/by-a-page/_understudy'],
      ] as const) {
        const answer = await send(app, `${base}${path}`, { method, headers: { ...headers, ...page } })
        expect([method, base, path, answer.status]).toEqual([method, base, path, 403])
      }
    }
    const sessions = (await app.fetch('/_understudy/sessions')).json().data as { name: string }[]
    expect(sessions.map(({ name }) => name)).toEqual(['default'])
  })

  test.each([
    ['programs', {}],
    ["the server's own pages", { 'sec-fetch-site': 'same-origin' }],
    ['the address bar', { 'sec-fetch-site': 'none' }],
  ])('are allowed from %s', async (_, more) => {
    expect((await send(app, '/_understudy/traces', { headers: { ...headers, ...more } })).status).toBe(200)
  })

  test('are allowed from pages that --cors names', async () => {
    const page = { origin: 'http://localhost:3000', 'sec-fetch-site': 'same-site' }
    expect((await send(open, '/_understudy/traces', { headers: { ...headers, ...page } })).status).toBe(200)
  })
})

describe('origins in a browser', () => {
  let server: Server
  let browser: Browser
  let context: BrowserContext
  let site: Bun.Server<undefined>
  beforeAll(async () => {
    server = await serveHere(['--db', ':memory:'], {})
    // Another port is another origin, and `localhost` another site than 127.0.0.1.
    const page = () => new Response('<title>a page</title>', { headers: { 'content-type': 'text/html' } })
    site = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: page })
    browser = await launchBrowser()
    context = await browser.newContext()
  }, 90_000)
  afterAll(async () => {
    if (browser) await closeBrowser(browser)
    await site?.stop(true)
    await server?.stop()
  })
  const callsOf = async () => {
    const answer = await fetch(`${server.url}/_understudy/sessions`)
    const { data } = (await answer.json()) as { data: { name: string; calls: number; scenario: string | null }[] }
    return data.map(({ name, calls, scenario }) => ({ name, calls, scenario }))
  }

  test.each(['127.0.0.1', 'localhost'])(
    'do not let a page at %s reset, call or create a session',
    async (name) => {
      await fetch(`${server.url}${CHAT}`, { method: 'POST', headers, body: JSON.stringify(CHANGES[0]?.[2]) })
      const before = await callsOf()
      const page = await context.newPage()
      await page.goto(`http://${name}:${site.port}/`)
      const sent = await page.evaluate(async (url) => {
        const post = (path: string, body?: string) =>
          fetch(`${url}${path}`, { method: 'POST', mode: 'no-cors', body: body ?? null }).then(
            ({ type }) => type,
            () => 'failed',
          )
        const form = document.createElement('form')
        form.method = 'POST'
        form.action = `${url}/_understudy/reset?all=true`
        form.target = 'frame'
        const frame = document.createElement('iframe')
        frame.name = 'frame'
        document.body.append(frame, form)
        const loaded = new Promise((resolve) => frame.addEventListener('load', resolve, { once: true }))
        form.submit()
        await loaded
        return [
          await post('/_understudy/reset?all=true'),
          await post('/_understudy/sessions', '{"name":"stolen"}'),
          await post('/_understudy/scenario', '{"name":"outage"}'),
        ]
      }, server.url)
      expect(sent).toHaveLength(3)
      expect(await callsOf()).toEqual(before)
      await page.close()
    },
    60_000,
  )

  test("let the server's own page do so", async () => {
    const page = await context.newPage()
    // What the page loads is not needed: drawing it takes seconds.
    await page.goto(`${server.url}/swagger`, { waitUntil: 'commit' })
    const status = await page.evaluate(async () => {
      const answer = await fetch('/_understudy/reset', { method: 'POST' })
      return answer.status
    })
    expect(status).toBe(200)
    await page.close()
  }, 60_000)
})
