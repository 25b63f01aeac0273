// The plain text of a document: text, Markdown, HTML, CSV, JSON, PDF and Word. Readers are loaded on first use.
import { isObject } from './values.ts'

/** The document cannot be read; the message has the reason. */
export class UnreadableDocument extends Error {}

type Reader = (bytes: Uint8Array) => string | Promise<string>

const decoded: Reader = (bytes) => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new UnreadableDocument('it is not text in UTF-8')
  }
}
/**
 * Maximum nesting of elements, far more than any page has. Deeper nesting costs the reader the square of the depth, or
 * more.
 */
const MAX_DEPTH = 500
/** Elements without an end tag. */
const OPEN_ENDED = new Set(
  'area base br col embed hr img input link meta param source track wbr p li dt dd tr td th thead tbody tfoot option optgroup colgroup html head body'.split(
    ' ',
  ),
)

/** Rejects HTML that is nested too deep. An end tag closes one element, whichever it names. */
function checkDepth(html: string): void {
  let depth = 0
  for (const [, end, name = ''] of html.matchAll(/<(\/?)([a-z][a-z0-9]*)/gi)) {
    if (OPEN_ENDED.has(name.toLowerCase())) continue
    depth = end ? Math.max(0, depth - 1) : depth + 1
    if (depth > MAX_DEPTH) throw new UnreadableDocument(`it is nested more than ${MAX_DEPTH} levels deep`)
  }
}

const fromHtml = async (html: string) => {
  checkDepth(html)
  const { NodeHtmlMarkdown } = await import('node-html-markdown')
  return NodeHtmlMarkdown.translate(html)
}

/** Maximum number of characters of a document's text. */
const MAX_TEXT = 50_000_000

/** Joins paragraphs. Those of a table repeat the names of their columns. */
function joined(paragraphs: Iterable<string>): string {
  const parts: string[] = []
  let length = 0
  for (const paragraph of paragraphs) {
    length += paragraph.length + 2
    checkLength(length)
    parts.push(paragraph)
  }
  return parts.join('\n\n')
}

function checkLength(length: number): void {
  if (length > MAX_TEXT) throw new UnreadableDocument(`its text has more than ${MAX_TEXT} characters`)
}

/** Maximum total size of the parts of a Word document, unpacked, in bytes. */
const MAX_UNPACKED = 100_000_000

/** Rejects a ZIP archive whose parts are too large in total, whatever sizes it declares. */
async function checkUnpacked(bytes: Uint8Array): Promise<void> {
  const { default: JSZip } = await import('jszip')
  const { files } = await JSZip.loadAsync(bytes)
  let total = 0
  for (const file of Object.values(files)) {
    await new Promise<void>((resolve, reject) => {
      const stream = file.nodeStream('nodebuffer')
      stream.on('error', reject).on('end', resolve)
      stream.on('data', ({ length }: Buffer) => {
        total += length
        if (total <= MAX_UNPACKED) return
        stream.pause()
        reject(new UnreadableDocument(`it unpacks to more than ${MAX_UNPACKED / 1e6} MB`))
      })
    })
  }
}

/** Readers by file extension. */
const READERS: Record<string, Reader> = {
  txt: decoded,
  md: decoded,
  html: async (bytes) => fromHtml(await decoded(bytes)),
  // A row becomes a paragraph that names its columns, so that a chunk can be understood without the header.
  csv: async (bytes) => joined(csvRows(await decoded(bytes)).map(fieldLines)),
  json: async (bytes) => {
    const value: unknown = JSON.parse(await decoded(bytes))
    const items = Array.isArray(value) ? value : [value]
    return joined(items.values().map((item) => (isObject(item) ? fieldLines(item) : asText(item))))
  },
  pdf: async (bytes) => {
    const { extractText, getDocumentProxy } = await import('unpdf')
    // It takes ownership of the bytes, and accepts no Buffer.
    const document = await getDocumentProxy(new Uint8Array(bytes), { verbosity: 0 })
    return (await extractText(document, { mergePages: true })).text
  },
  docx: async (bytes) => {
    await checkUnpacked(bytes)
    const { default: mammoth } = await import('mammoth')
    return fromHtml((await mammoth.convertToHtml({ buffer: Buffer.from(bytes) })).value)
  },
}
const ALIASES: Record<string, string> = { text: 'txt', markdown: 'md', htm: 'html' }
const TYPES: Record<string, string> = {
  'text/plain': 'txt',
  'text/markdown': 'md',
  'text/html': 'html',
  'text/csv': 'csv',
  'application/json': 'json',
  'application/pdf': 'pdf',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
}

const asText = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
const fieldLines = (fields: Record<string, unknown>) =>
  Object.entries(fields)
    .map(([name, value]) => `${name}: ${asText(value)}`)
    .join('\n')

/** The kind of a document, by its file extension or else its media type; undefined if there is no reader for it. */
function kindOfDocument(name: string, type: string): string | undefined {
  const ending = /\.([^./]+)$/.exec(name)?.[1]?.toLowerCase() ?? ''
  return ALIASES[ending] ?? (Object.hasOwn(READERS, ending) ? ending : TYPES[type.split(';')[0] ?? ''])
}

/** Whether a document is its own text. Reading any other one may take as long as its author wants. */
export function isPlainText(name: string, type: string): boolean {
  const kind = kindOfDocument(name, type)
  return kind === 'txt' || kind === 'md'
}

/**
 * The text of a document; its kind follows from its file extension or else its media type.
 * @throws UnreadableDocument
 */
export async function documentText(bytes: Uint8Array, name: string, type: string): Promise<string> {
  const kind = kindOfDocument(name, type)
  const read = kind === undefined ? undefined : READERS[kind]
  if (!read) {
    throw new UnreadableDocument(`${JSON.stringify(name)} is not one of ${Object.keys(READERS).join(', ')}`)
  }
  try {
    const text = await read(bytes)
    checkLength(text.length)
    if (text.trim() === '') throw new UnreadableDocument('it holds no text')
    return text
  } catch (error) {
    if (error instanceof UnreadableDocument) throw error
    throw new UnreadableDocument(`it is not a readable ${kind}: ${reasonOf(error as Error)}`)
  }
}

/** Why a reader failed. Internal errors of the reader mean nothing to the user; the part where it stopped does. */
function reasonOf(error: Error): string {
  if (/^Maximum call stack/.test(error.message)) return 'it is nested too deeply'
  // The PDF reader reports unforeseen input so, such as a stream packed twice with bytes left over at its end.
  const isInside = error instanceof TypeError || error.name === 'UnknownErrorException'
  if (!isInside) return error.message
  return 'a part of it is damaged, or packed in a way that its reader does not know; save it anew with another program'
}

/** What may separate the cells of a row. */
const SEPARATORS = [',', '\t', '|', ';']

/** The rows of a table of comma-separated values (RFC 4180), whatever separates them, as lists of cells. */
function* rowsOf(text: string, separator: string): Generator<string[]> {
  const ends = new RegExp(`[${separator}\n]|\r\n?`, 'g')
  let cells: string[] = []
  for (let at = 0; at <= text.length; ) {
    let cell = ''
    if (text[at] === '"') {
      let quote = text.indexOf('"', at + 1)
      while (quote >= 0 && text[quote + 1] === '"') quote = text.indexOf('"', quote + 2)
      const end = quote < 0 ? text.length : quote
      cell = text.slice(at + 1, end).replaceAll('""', '"')
      at = end + 1
    }
    ends.lastIndex = at
    const end = ends.exec(text)
    cells.push(cell + text.slice(at, end?.index))
    at = end ? ends.lastIndex : text.length + 1
    if (end?.[0] === separator) continue
    // An empty line is no row.
    if (cells.length > 1 || cells[0] !== '') yield cells
    cells = []
  }
}

/** The separator that yields the most cells in the first row. */
function separatorOf(text: string): string {
  const counts = SEPARATORS.map((separator) => rowsOf(text, separator).next().value?.length ?? 0)
  return SEPARATORS[counts.indexOf(Math.max(...counts))] ?? ','
}

function distinctNames(names: readonly string[]): string[] {
  const used = new Set<string>()
  const counts = new Map<string, number>()
  for (const name of names) {
    let count = counts.get(name) ?? 0
    let unique = name
    while (used.has(unique)) unique = `${name}_${++count}`
    counts.set(name, count)
    used.add(unique)
  }
  return [...used]
}

/** The rows of a table as objects, with the names in the first row as keys. A repeated name gets a number. */
function* csvRows(text: string): Generator<Record<string, unknown>> {
  const rows = rowsOf(text, separatorOf(text))
  const names = distinctNames(rows.next().value ?? [])
  for (const cells of rows) {
    const extra = cells.slice(names.length)
    const row = cells.slice(0, names.length).map((cell, index): [string, unknown] => [names[index] ?? '', cell])
    yield Object.fromEntries(extra.length > 0 ? [...row, ['__parsed_extra', extra]] : row)
  }
}
