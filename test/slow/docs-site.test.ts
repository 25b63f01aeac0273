// The documentation site as it is built, which takes longer than the executable: a new user finds each task by its obvious words, every
// page is in the sidebar, and a server sends the pages as they are.
import { afterAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Glob } from 'bun'
import MiniSearch from 'minisearch'
import { readSite, SITE_FILE } from '../../src/docs/site-file.ts'
import { testApps } from '../support/app.ts'

const ROOT = join(import.meta.dir, '..', '..')
const site = readSite(readFileSync(join(ROOT, SITE_FILE)))
const textOf = (path: string) => new TextDecoder().decode(site.find(path)?.bytes())
const pages = [...new Glob('**/*.md').scanSync(join(ROOT, 'docs'))].map((name) => name.replaceAll('\\', '/')).sort()

describe('site', () => {
  test('has every page, and each of them is in the sidebar', () => {
    const names = pages.map((page) => page.replace(/\.md$/, ''))
    expect(names.filter((name) => !site.paths.includes(`${name}.html`))).toEqual([])
    const config = readFileSync(join(ROOT, 'docs', '.vitepress', 'config.ts'), 'utf8')
    expect(names.filter((name) => name !== 'index' && !config.includes(`, '${name}')`))).toEqual([])
  })

  test('loads nothing from other addresses', () => {
    const loaded = site.paths
      .filter((path) => /\.(?:html|css)$/.test(path))
      .flatMap((path) => [
        ...textOf(path).matchAll(
          /<(?:script|img|link|iframe)\b[^>]*?(?:src|href)="(?!\/docs\/|\/favicon\.ico|data:)([^"]*)"/g,
        ),
        ...textOf(path).matchAll(/url\((?!["']?data:)([^)]*)\)/g),
      ])
    expect(loaded.map(([found]) => found)).toEqual([])
  })
})

/** What new users look for, in their words, with the page that says it. */
const TASKS: [words: string, page: string][] = [
  ['fixture tool call', 'fixtures#fixture-with-a-tool-call'],
  ['cut stream after five chunks second call', 'scenario-recipes#cut-a-stream-after-five-chunks-second-call-only'],
  ['slow provider minute', 'scenario-recipes#make-a-provider-slow-for-a-minute'],
  ['assert two attempts', 'scenario-recipes#assert-two-attempts'],
  ['pytest CI', 'ci#pytest-in-ci'],
  ['change port', 'troubleshooting#port-in-use'],
  ['reset data between tests', 'sessions#reset-data-between-tests'],
  ['record real provider', 'real-providers#record-a-fixture-from-a-real-provider'],
  ['parallel tests', 'testing#run-tests-in-parallel'],
  ['fixture did not match', 'troubleshooting#fixture-did-not-match'],
  ['simulate rate limit', 'scenario-recipes#simulate-rate-limits'],
  ['test agent', 'agents#test-an-agent-with-scripted-responses'],
  ['move clock', 'sessions#move-the-clock'],
  ['export traces', 'telemetry#traces'],
  ['run in container', 'container#in-a-container'],
  ['anthropic sdk', 'openai-and-anthropic#anthropic-v1-messages'],
  ['ai sdk', 'openai-and-anthropic#vercel-ai-sdk-and-langchain'],
  ['explore failures automatically', 'explore#explore-find-failures-that-your-tests-do-not-cover'],
  ['vitest', 'testing#test-runners'],
  ['expectation backoff', 'scenario-recipes#expect-retries-with-backoff'],
]
/** Results that a reader sees without scrolling. */
const SEEN = 3

describe('search', () => {
  const chunk = site.paths.find((path) => path.includes('@localSearchIndex')) ?? ''
  const [, text = '""'] = /^const \w+=('(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|"(?:[^"\\]|\\.)*")/.exec(textOf(chunk)) ?? []
  // As the page makes it (VPLocalSearchBox.vue of VitePress).
  const index = MiniSearch.loadJSON(new Function(`return ${text}`)() as string, {
    fields: ['title', 'titles', 'text'],
    storeFields: ['title', 'titles'],
    searchOptions: { fuzzy: 0.2, prefix: true, boost: { title: 4, text: 2, titles: 1 } },
  })

  test.each(TASKS)('%s: finds %s among the first results', (words, page) => {
    const found = index.search(words).slice(0, SEEN)
    expect(found.map(({ id }) => id)).toContain(`/docs/${page}`)
  })
})

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
