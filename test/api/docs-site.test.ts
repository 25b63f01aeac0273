// The documentation at /docs, as a server sends it.
import { afterAll, describe, expect, test } from 'bun:test'
import { testApps } from '../support/app.ts'

const { appWith, close } = testApps()
afterAll(close)
const { understudy } = appWith({ token: ['secret'] })
const get = (path: string, init: RequestInit = {}) =>
  Promise.resolve(understudy.app.fetch(new Request(`http://localhost${path}`, init)))

describe('/docs', () => {
  test.each(['/docs/', '/docs/fixtures', '/docs/fixtures.html', '/docs/reference/faults'])(
    '%s: sends a page without a token, under a policy',
    async (path) => {
      const response = await get(path)
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
      const policy = response.headers.get('content-security-policy') ?? ''
      expect(policy).toContain("default-src 'none'")
      expect(policy).toContain("frame-ancestors 'none'")
      expect(policy).not.toMatch(/https?:|script-src[^;]*unsafe/)
      expect(await response.text()).toContain('<title>')
    },
  )

  test('sends the same page compressed and uncompressed', async () => {
    const plain = await get('/docs/fixtures')
    const small = await get('/docs/fixtures', { headers: { 'accept-encoding': 'gzip, br' } })
    expect([plain, small].map(({ headers }) => headers.get('content-encoding'))).toEqual([null, 'gzip'])
    const bytes = Bun.gunzipSync(new Uint8Array(await small.arrayBuffer()))
    expect(new TextDecoder().decode(bytes)).toBe(await plain.text())
  })

  test('lets browsers keep files whose names change with their content', async () => {
    const page = await (await get('/docs/')).text()
    const [script = ''] = /\/docs\/assets\/app\.[^"]+\.js/.exec(page) ?? []
    const response = await get(script)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8'])
    expect(response.headers.get('cache-control')).toContain('immutable')
    expect((await get('/docs/')).headers.get('cache-control')).toBe('no-cache')
  })

  test('sends a page of its own for a path that does not exist', async () => {
    const response = await get('/docs/no-such-page')
    expect(response.status).toBe(404)
    expect(await response.text()).toContain('404')
  })

  test.each([
    ['/docs', '/docs/'],
    ['/s/mine/docs', '/docs/'],
    ['/s/mine/docs/fixtures', '/docs/fixtures'],
  ])('%s: leads to %s', async (path, location) => {
    const response = await get(path)
    expect([response.status, response.headers.get('location')]).toEqual([307, location])
  })

  test('answers HEAD without a body', async () => {
    const head = await get('/docs/fixtures', { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
  })
})
