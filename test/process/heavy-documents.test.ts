// Documents that would take their reader forever, or all memory: they fail with a reason and delay no other call.
import { afterAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { deflateRawSync, deflateSync } from 'node:zlib'
import { endWorkers } from '../../src/workers/pool.ts'
import { type TestApp, testApps } from '../support/app.ts'
import { bodyOf, CHAT } from '../support/chat.ts'
import { serveHere } from '../support/cli.ts'
import { docxOf, pdfOf } from '../support/documents.ts'
import { shortJobs } from '../support/job-limits.ts'
import { withFreshMemory } from '../support/memory.ts'
import { emptyFolder, type Server, startServer } from '../support/server.ts'
import type { Json } from '../support/workspace.ts'

const { appWith, close } = testApps()
const folder = emptyFolder()
afterAll(folder.remove)

type Content = string | Uint8Array<ArrayBuffer>
type Fetch = (path: string, init?: RequestInit) => Promise<Json>

/** A datasource of a file, as it is when it is made. */
async function uploaded(fetch: Fetch, name: string, content: Content, options?: Json): Promise<string> {
  const form = new FormData()
  form.set('file', new File([content], name))
  const { _id: file_id } = await fetch('/v2/files', { method: 'POST', body: form })
  const post = (path: string, body: Json) =>
    fetch(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  const { _id: base } = await post('/v2/knowledge', { key: `base-${file_id}` })
  const at = `/v2/knowledge/${base}/datasources`
  const { _id } = await post(at, { file_id, ...(options && { chunking_options: options }) })
  return `${at}/${_id}`
}

const inProcess =
  (app: TestApp): Fetch =>
  async (path, init) =>
    (await app.fetch(path, init)).json()

/** The datasource once nothing more happens to it. */
async function settled(app: TestApp, at: string): Promise<Json> {
  for (;;) {
    const now = await inProcess(app)(at)
    if (!['queued', 'processing'].includes(String(now.status))) return now
    await app.understudy.sessions.get('default').clock.sleep(10)
  }
}

const draws = (text: string) => `BT /F1 12 Tf 20 200 Td ${text} ET`
const table = (column: string, rows: number) => `${column},other\n${'1,2\n'.repeat(rows)}`

/** A ZIP archive of one file, packed by the runtime: a library takes a second for 100 MB (APPNOTE.TXT, sections 4.3.7, 4.3.12 and 4.3.16). */
function zipOf(name: string, content: Uint8Array): Uint8Array<ArrayBuffer> {
  const packed = deflateRawSync(content, { level: 1 })
  const about = Buffer.alloc(26)
  about.writeUInt16LE(20, 0)
  about.writeUInt16LE(8, 4)
  about.writeUInt32LE(Bun.hash.crc32(content), 10)
  about.writeUInt32LE(packed.length, 14)
  about.writeUInt32LE(content.length, 18)
  about.writeUInt16LE(name.length, 22)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(1, 4)
  end.writeUInt16LE(1, 6)
  end.writeUInt32LE(46 + name.length, 8)
  end.writeUInt32LE(30 + name.length + packed.length, 12)
  const file = [Buffer.from('PK\x03\x04'), about, Buffer.from(name), packed]
  const directory = [Buffer.from('PK\x01\x02\x14\x00'), about, Buffer.alloc(14), Buffer.from(name)]
  return new Uint8Array(Buffer.concat([...file, ...directory, Buffer.from('PK\x05\x06'), end]))
}

type HostileRow = [what: string, name: string, content: () => Content | Promise<Content>, reason: RegExp]
/** A page that takes its reader many seconds. */
const slowPage = pdfOf(deflateSync(Buffer.from('q '.repeat(5e6))), '/Filter /FlateDecode')
const HOSTILE: HostileRow[] = [
  ['HTML of elements that never end', 'a.html', () => '<div>'.repeat(9_000), /nested more than 500 levels/],
  ['HTML of nested lists', 'a.html', () => '<ol><li>x'.repeat(4_000), /nested more than 500 levels/],
  [
    'HTML with end tags that were never opened',
    'a.html',
    () => `${'</p>'.repeat(9_000)}${'<b>'.repeat(9_000)}`,
    /nested more than 500 levels/,
  ],
  [
    'a Word document that decompresses to more than 100 MB',
    'a.docx',
    () => zipOf('word/document.xml', Buffer.alloc(101e6, 'a')),
    /unpacks to more than 100 MB/,
  ],
  [
    'a PDF whose page is compressed twice, with bytes left over',
    'a.pdf',
    () => pdfOf(deflateSync(deflateSync(Buffer.from(draws('(Hi) Tj')))), '/Filter [/FlateDecode /FlateDecode]'),
    /not a readable pdf: a part of it is damaged, or packed in a way that its reader does not know/,
  ],
  [
    'a table that names a long column in each row',
    'a.csv',
    () => table('a'.repeat(20_000), 2_600),
    /more than 50000000 characters/,
  ],
  ['endlessly nested JSON', 'a.json', () => '['.repeat(1e6), /not a readable json/],
]
/** Documents that take their reader longer than it has; here it has a tenth of a second. */
const SLOW: HostileRow[] = [
  [
    'a Word document of 100,000 paragraphs in 10 kB',
    'a.docx',
    () => docxOf('<w:p><w:r><w:t>a</w:t></w:r></w:p>'.repeat(100_000)),
    /takes more than (?:0.1 s|250 MB of memory)/,
  ],
  [
    'a Word document that is nested 100,000 levels deep',
    'a.docx',
    () => docxOf(`${'<w:sdt>'.repeat(100_000)}${'</w:sdt>'.repeat(100_000)}`),
    /not a readable docx|takes more than/,
  ],
  [
    'a PDF whose page is compressed twice',
    'a.pdf',
    () => pdfOf(deflateSync(deflateSync(Buffer.alloc(1e8, ' '))), '/Filter [/FlateDecode /FlateDecode]'),
    /takes more than (?:0.1 s|250 MB of memory)|no text|not a readable pdf: a part of it is damaged/,
  ],
  [
    'a PDF whose page is one long text',
    'a.pdf',
    () => pdfOf(deflateSync(Buffer.from(draws(`(${'a'.repeat(10e6)}) Tj`))), '/Filter /FlateDecode'),
    /takes more than (?:0.1 s|250 MB of memory)/,
  ],
]

/** Between two looks at a document: one after the other takes half of the processor from its reader. */
const POLL_MS = 10

describe('heavy document', () => {
  // With scarce memory one document is read at a time.
  withFreshMemory()
  afterAll(async () => {
    await close()
    endWorkers()
  })
  test.each([
    ...HOSTILE.map((row) => [...row, {}] as const),
    ...SLOW.map((row) => [...row, { jobLimits: shortJobs(100) }] as const),
  ])('fails with a reason: %s', async (_, name, content, reason, instead) => {
    const app = appWith({}, instead)
    const at = await uploaded(inProcess(app), name, await content())
    const reading = settled(app, at)
    // Others are answered before it is over.
    const other = await app.post(CHAT, bodyOf({}))
    expect(other.status).toBe(200)
    const { status, error, tries } = await reading
    expect([status, tries]).toEqual(['failed', undefined])
    expect(error).toMatch(reason)
  })

  test.each([
    ['chunks of one character', 200_000, 1, 0],
    ['chunks that share all but one character', 200_000, 100_000, 99_999],
  ])('fails when it has too many chunks: %s', async (_, length, chunk_max_characters, chunk_overlap) => {
    const app = appWith()
    const chunking_configuration = { type: 'advanced', chunk_max_characters, chunk_overlap }
    const at = await uploaded(inProcess(app), 'a.txt', 'a'.repeat(length), { chunking_configuration })
    const { status, error } = await settled(app, at)
    expect(status).toBe('failed')
    expect(error).toMatch(/at most 100000, of 100000000 characters together/)
  })

  test('does not delay a document of another session', async () => {
    const app = appWith({}, { jobLimits: shortJobs(1_000) })
    const fetch = inProcess(app)
    const hostile: string[] = []
    for (let index = 0; index < 6; index++) hostile.push(await uploaded(fetch, `${index}.pdf`, slowPage))
    const other: Fetch = (path, init) => fetch(`/s/other${path}`, init)
    const at = await uploaded(other, 'a.html', '<p>Parcels take three days')
    const statuses = () => Promise.all(hostile.map(async (one) => String((await fetch(one)).status)))
    for (;;) {
      const { status } = await other(at)
      if (status === 'completed') break
      expect(['queued', 'processing']).toContain(String(status))
      await app.understudy.sessions.get('other').clock.sleep(10)
      await Bun.sleep(POLL_MS)
    }
    expect((await statuses()).filter((status) => status === 'failed').length).toBeLessThan(3)
  }, 120_000)
})

describe('document that crashes the process', () => {
  const headers = { authorization: 'Bearer any' }
  const over =
    ({ url }: Server): Fetch =>
    async (path, init) =>
      (await fetch(`${url}${path}`, { ...init, headers: { ...headers, ...init?.headers } })).json() as Promise<Json>
  // Who asks for its health as often as this test must hear of the end, for which a server waits otherwise.
  const args = ['--db', join(folder.path, 'tries.db'), '--drain-timeout', '0ms']
  const start = () => startServer(args, { cwd: folder.path })
  /** The datasource as soon as it is in a status, or has settled. */
  async function until(server: Server, at: string, wanted: string): Promise<Json> {
    for (;;) {
      const now = await over(server)(at)
      if (now.status === wanted || now.status === 'failed' || now.status === 'completed') return now
      await Bun.sleep(POLL_MS)
    }
  }
  /** Waits until a worker reads. */
  async function reading(server: Server): Promise<void> {
    while (((await over(server)('/_understudy/health')).workers as Json).jobs === 0) await Bun.sleep(POLL_MS)
  }
  /** Ends a server while it reads a document. */
  async function endedInside(server: Server, at: string, signal: NodeJS.Signals): Promise<void> {
    await until(server, at, 'processing')
    await reading(server)
    await server.stop(signal)
  }

  test('is tried twice and then fails with a reason, and a stopped server does not count as a try', async () => {
    const first = await start()
    const at = await uploaded(over(first), 'slow.pdf', slowPage)
    await reading(first)
    await first.stop('SIGKILL')
    await endedInside(await start(), at, 'SIGTERM')
    await endedInside(await start(), at, 'SIGKILL')
    const last = await serveHere(args, {})
    const { status, error } = await until(last, at, 'failed')
    expect([status, error]).toEqual([
      'failed',
      'the process ended 2 times while it was read; make the datasource again to try it once more',
    ])
    expect(await last.stop()).toBe(0)
  }, 120_000)
})
