// The plain text of a document: text, Markdown, HTML, CSV, JSON, PDF and Word. Readers are loaded when one is needed.

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
const fromHtml = async (html: string) => {
  const { NodeHtmlMarkdown } = await import('node-html-markdown')
  return NodeHtmlMarkdown.translate(html)
}

/** Readers by the ending of a file's name. */
const READERS: Record<string, Reader> = {
  txt: decoded,
  md: decoded,
  html: async (bytes) => fromHtml(await decoded(bytes)),
  // A row becomes a paragraph that names its columns, so that a chunk can be understood without the header.
  csv: async (bytes) => {
    const { default: papa } = await import('papaparse')
    const rows = papa.parse<Record<string, string>>(await decoded(bytes), { header: true, skipEmptyLines: true }).data
    return rows.map((row) => fieldLines(row)).join('\n\n')
  },
  json: async (bytes) => {
    const value: unknown = JSON.parse(await decoded(bytes))
    const items = Array.isArray(value) ? value : [value]
    return items.map((item) => (isFields(item) ? fieldLines(item) : asText(item))).join('\n\n')
  },
  pdf: async (bytes) => {
    const { extractText, getDocumentProxy } = await import('unpdf')
    // It takes the bytes for itself, and no Buffer.
    const document = await getDocumentProxy(new Uint8Array(bytes), { verbosity: 0 })
    return (await extractText(document, { mergePages: true })).text
  },
  docx: async (bytes) => {
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

const isFields = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const asText = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
const fieldLines = (fields: Record<string, unknown>) =>
  Object.entries(fields)
    .map(([name, value]) => `${name}: ${asText(value)}`)
    .join('\n')

/** The text of a document, told by its name's ending, else by its media type; throws `UnreadableDocument`. */
export async function textOf(bytes: Uint8Array, name: string, type: string): Promise<string> {
  const ending = /\.([^./]+)$/.exec(name)?.[1]?.toLowerCase() ?? ''
  const kind = ALIASES[ending] ?? (ending in READERS ? ending : TYPES[type.split(';')[0] ?? ''])
  const read = kind === undefined ? undefined : READERS[kind]
  if (!read) {
    throw new UnreadableDocument(`${JSON.stringify(name)} is not one of ${Object.keys(READERS).join(', ')}`)
  }
  try {
    const text = await read(bytes)
    if (text.trim() === '') throw new UnreadableDocument('it holds no text')
    return text
  } catch (error) {
    if (error instanceof UnreadableDocument) throw error
    throw new UnreadableDocument(`it is not a readable ${kind}: ${(error as Error).message}`)
  }
}
