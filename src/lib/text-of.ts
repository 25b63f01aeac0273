// The plain text of a document: text, Markdown, HTML, CSV, JSON, PDF and Word. Readers are loaded when one is needed.
import { csvRows } from './csv.ts'
import { isObject } from './values.ts'

/** The document cannot be read; the message says why. */
export class UnreadableDocument extends Error {}

type Reader = (bytes: Uint8Array) => string | Promise<string>

const decoded: Reader = (bytes) => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new UnreadableDocument('it is not text in UTF-8')
  }
}
/** Levels of elements: far more than any page has. What is nested deeper takes its reader the square of the depth, or more. */
const MAX_DEPTH = 500
/** Elements that end without an end tag. */
const OPEN_ENDED = new Set(
  'area base br col embed hr img input link meta param source track wbr p li dt dd tr td th thead tbody tfoot option optgroup colgroup html head body'.split(
    ' ',
  ),
)

/** Refuses HTML that is nested too deep; an end tag ends one element, whichever it names. */
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

/** Characters of the text that is made of a document. */
const MAX_TEXT = 50_000_000

/** Paragraphs together; those of a table name their columns again and again. */
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

/** Bytes of all parts of a Word document together, unpacked. */
const MAX_UNPACKED = 100_000_000

/** Refuses a ZIP archive whose parts are together too large, whatever it says of their sizes. */
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

/** Readers by the ending of a file's name. */
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
    // It takes the bytes for itself, and no Buffer.
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

/** The kind of a document, told by its name's ending, else by its media type; undefined when there is no reader for it. */
function kindOfDocument(name: string, type: string): string | undefined {
  const ending = /\.([^./]+)$/.exec(name)?.[1]?.toLowerCase() ?? ''
  return ALIASES[ending] ?? (Object.hasOwn(READERS, ending) ? ending : TYPES[type.split(';')[0] ?? ''])
}

/** Whether a document is its text: to read any other one may take as long as whoever wrote it wants. */
export function isPlainText(name: string, type: string): boolean {
  const kind = kindOfDocument(name, type)
  return kind === 'txt' || kind === 'md'
}

/** The text of a document, told by its name's ending, else by its media type; throws `UnreadableDocument`. */
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

/** Why a reader gave up. What went wrong inside of it means nothing to whoever has the document: the part that it stopped at does. */
function reasonOf(error: Error): string {
  if (/^Maximum call stack/.test(error.message)) return 'it is nested too deeply'
  // The PDF reader names so what it did not foresee, such as a stream packed twice with bytes left over at its end.
  const isInside = error instanceof TypeError || error.name === 'UnknownErrorException'
  if (!isInside) return error.message
  return 'a part of it is damaged, or packed in a way that its reader does not know; save it anew with another program'
}
