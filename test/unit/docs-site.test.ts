// The documentation site as it is built: a new user finds each task by its obvious words, every page is in the sidebar, and guides are easy
// to read.
import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Glob } from 'bun'
import MiniSearch from 'minisearch'
import { packSite, readSite, SITE_FILE } from '../../src/docs/site-file.ts'

const ROOT = join(import.meta.dir, '..', '..')
const site = readSite(readFileSync(join(ROOT, SITE_FILE)))
const textOf = (path: string) => new TextDecoder().decode(site.find(path)?.bytes())
const pages = [...new Glob('**/*.md').scanSync(join(ROOT, 'docs'))].map((name) => name.replaceAll('\\', '/')).sort()
const read = (page: string) => readFileSync(join(ROOT, 'docs', page), 'utf8')

describe('site', () => {
  test('pack: gives back each file with its type', () => {
    const files = new Map([
      ['index.html', new TextEncoder().encode('<p>Hello</p>')],
      ['assets/a.js', new TextEncoder().encode('1')],
    ])
    const packed = readSite(packSite({ source: 's', policy: 'p' }, files))
    expect(packed).toMatchObject({ source: 's', policy: 'p', paths: ['index.html', 'assets/a.js'] })
    expect(packed.find('index.html')).toMatchObject({ type: 'text/html; charset=utf-8' })
    expect(new TextDecoder().decode(packed.find('assets/a.js')?.bytes())).toBe('1')
    expect(packed.find('constructor')).toBeUndefined()
  })

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

describe('prose', () => {
  const MAX_WORDS = 30
  const guides = pages.filter((page) => !page.startsWith('reference/'))

  /** Paragraphs, items of lists and cells of tables, without code and addresses. */
  const textsOf = (page: string): string[] => {
    const prose = read(page)
      .replace(/^---\n[\s\S]*?\n---\n/, '')
      .replace(/^```[\s\S]*?^```/gm, '\n')
      .replace(/^(?:#| {4}).*$/gm, '\n')
      .replace(/`[^`]*`/g, 'code')
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    return prose
      .split(/\n\s*\n|\n(?=\s*(?:-|\d+\.) )|\n(?=\|)/)
      .flatMap((part) => (part.startsWith('|') ? part.split('|') : [part.replace(/\s+/g, ' ').trim()]))
  }

  test.each(guides)('%s: has no sentence of more than 30 words', (page) => {
    const sentences = textsOf(page).flatMap((part) => part.split(/(?<=[.!?])\s/))
    const long = sentences.filter(
      (sentence) => sentence.split(/\s+/).filter((word) => /\w/.test(word)).length > MAX_WORDS,
    )
    expect(long).toEqual([])
  })

  test.each(pages)('%s: has headings that name their subject', (page) => {
    const headings = [
      ...read(page)
        .replace(/^```[\s\S]*?^```/gm, '')
        .matchAll(/^#+ (.+)$/gm),
    ].map(([, title = '']) => title)
    const vague =
      /^(?:limits|options|notes|overview|introduction|details|examples?|usage|how it works|misc\w*|other|more|see also)$/i
    expect(headings.filter((title) => vague.test(title))).toEqual([])
    expect(headings.filter((title, index) => headings.indexOf(title) !== index)).toEqual([])
  })

  test.each(pages.filter((page) => page !== 'index.md'))('%s: begins with an example, and says its limits', (page) => {
    const text = read(page)
    const firstTable = text.search(/^\|/m)
    const firstExample = text.search(/^(?:```| {4}\w)/m)
    expect(/^#+ .*limits/im.test(text)).toBe(true)
    expect(firstExample >= 0 && (firstTable < 0 || firstExample < firstTable)).toBe(true)
  })
})
