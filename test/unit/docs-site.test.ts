// The documentation: guides are easy to read, and its site is served from one file.
import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Glob } from 'bun'
import { siteHandlers } from '../../src/docs/site.ts'
import { packSite, readSite } from '../../src/docs/site-file.ts'

const ROOT = join(import.meta.dir, '..', '..')
const pages = [...new Glob('**/*.md').scanSync(join(ROOT, 'docs'))].map((name) => name.replaceAll('\\', '/')).sort()
const FILES = new Map([
  ['index.html', new TextEncoder().encode('<p>Hello</p>')],
  ['assets/a.js', new TextEncoder().encode('1')],
])
const read = (page: string) => readFileSync(join(ROOT, 'docs', page), 'utf8')

// test/slow/docs-site.test.ts holds what is built.
describe('site', () => {
  test('pack: gives back each file with its type', () => {
    const packed = readSite(packSite({ source: 's', policy: 'p' }, FILES))
    expect(packed).toMatchObject({ source: 's', policy: 'p', paths: ['index.html', 'assets/a.js'] })
    expect(packed.find('index.html')).toMatchObject({ type: 'text/html; charset=utf-8' })
    expect(new TextDecoder().decode(packed.find('assets/a.js')?.bytes())).toBe('1')
    expect(packed.find('constructor')).toBeUndefined()
  })

  test('is served: a page under its policy, and a file that browsers keep', async () => {
    const served = readSite(packSite({ source: 's', policy: 'p' }, FILES))
    const handlers = siteHandlers(
      ({ url }) => url,
      () => served,
    )
    const get = (path: string) =>
      handlers.get(path === '/docs' ? path : '/docs/*')?.({ request: new Request(`http://localhost${path}`) })
    const [page, script] = [get('/docs/'), get('/docs/assets/a.js')]
    expect([page?.status, page?.headers.get('content-security-policy'), await page?.text()]).toEqual([
      200,
      'p',
      '<p>Hello</p>',
    ])
    expect([script?.status, script?.headers.get('cache-control')]).toEqual([200, expect.stringContaining('immutable')])
    expect(get('/docs')?.headers.get('location')).toBe('/docs/')
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
