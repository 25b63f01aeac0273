// Reads cassettes strictly: a problem has the file, the line and what was expected there.
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { CASSETTE_FORMAT, type Cassette, type CassetteHeader, type Interaction } from '../contract/core/cassette.ts'
import { sha256 } from '../lib/ids.ts'
import { lazy } from '../lib/lazy.ts'
import { once } from '../lib/once.ts'
import { isObject, type JsonObject, objectsIn, parsedJson } from '../lib/values.ts'
import { FileError, parseSource, type SourceFile } from '../schema/source.ts'
import { problemsOf, safeParse } from '../schema/validation.ts'
import type { YamlLimits } from '../schema/yaml-text.ts'
import { readDocument, yamlText } from './document.ts'
import { blobFolder, isBeside, isCassetteName } from './names.ts'
import { EarlierBodies, type ReducedBody, RepeatProblem } from './repeats.ts'
import type { InteractionDocument } from './schema.ts'

const format = lazy<typeof import('./schema.ts')>(() => require('./schema.ts'))

/** An interaction as it stands in a cassette. */
export interface StoredInteraction {
  id: string
  /** The line of its document's first line. */
  line: number
  /** Its document, with the line for people. */
  text: string
  interaction: Interaction
  /** Its JSON body as the document has it: without what stands in an interaction above. */
  reduced: ReducedBody
  /** The names of its binary bodies. */
  blobs: readonly string[]
}

/** A cassette with its documents. */
export interface StoredCassette {
  file: string
  header: CassetteHeader
  stored: readonly StoredInteraction[]
  /** Line of a document that was not written whole, because the recording was killed. It is not in `stored`. */
  tornLine?: number | undefined
  /** Whether its lines end with CRLF, as those of a checkout on Windows. */
  usesCrlf: boolean
}

/** The limits of one document: recording limits the size of an interaction. */
const LIMITS: YamlLimits = { characters: 500_000_000, tokens: 2_000_000 }
const MAX_PROBLEMS = 100

/**
 * The cassette in a file. Of an incomplete one, the interactions that were written whole.
 * @throws FileError with file, line and what was expected, for a broken, foreign or newer cassette
 */
export function readCassette(file: string): Cassette {
  const { header, stored } = readStored(file)
  return { file, header, interactions: stored.map(({ interaction, line }) => ({ ...interaction, line })) }
}

/**
 * The cassette in a file, with its documents.
 * @throws FileError as `readCassette`
 */
export function readStored(file: string): StoredCassette {
  const text = fileText(file)
  const { first, others } = documentsIn(text)
  const header = readHeader(file, text, first)
  const last = others.at(-1)
  // Each document of an incomplete cassette is followed by a separator, which was written with it.
  const torn = header.state === 'incomplete' && last !== undefined && last.text !== '' ? last : undefined
  const documents = header.state === 'incomplete' ? others.slice(0, -1) : others
  const problems: string[] = []
  const earlier = new EarlierBodies()
  const blob = blobReader(file)
  const stored: StoredInteraction[] = []
  for (const document of documents) {
    if (problems.length >= MAX_PROBLEMS) break
    try {
      stored.push(readInteraction({ file, document, earlier, blob, isBroken: problems.length > 0 }))
    } catch (error) {
      if (!(error instanceof FileError)) throw error
      problems.push(...error.problems)
    }
  }
  if (problems.length > 0) throw new FileError(problems.slice(0, MAX_PROBLEMS))
  return { file, header, stored, tornLine: torn?.line, usesCrlf: /^[^\n]*\r\n/.test(text) }
}

/** Whether a text begins like a cassette of ours, of whatever version. */
const isCassette = (text: string): boolean =>
  /^(?:\ufeff?(?:#[^\n]*|---(?:[ \t]+#[^\n]*)?)?\r?\n)*\ufeff?cassette:/.test(text)

/** Bytes of a file that show whether it is a cassette. */
const BEGINNING = 4_096

/**
 * The names of the cassettes in a folder, in order, without recordings beside them, files of others and `except`. Only
 * their beginnings are read, since there may be thousands.
 */
export function cassetteNamesIn(folder: string, except: ReadonlySet<string>): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => name.endsWith('.yaml') && !isBeside(name) && !except.has(name))
    .filter((name) => isCassette(beginningOf(join(folder, name))))
    .sort()
}

/** The beginning of a file; empty if it cannot be read. */
function beginningOf(file: string): string {
  let descriptor: number | undefined
  try {
    descriptor = openSync(file, 'r')
    const bytes = Buffer.alloc(BEGINNING)
    return bytes.toString('utf8', 0, readSync(descriptor, bytes))
  } catch {
    return ''
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

function fileText(file: string): string {
  let bytes: Buffer
  try {
    bytes = readFileSync(file)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new FileError(code === 'ENOENT' ? `${file}: there is no such cassette` : `${file} cannot be read: ${message}`)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    const lines = bytes.toString('utf8').split('\n')
    // A replacement character may also be one of the text.
    const line = lines.findIndex((text) => text.includes('\ufffd')) + 1
    throw new FileError(`${file}:${line}: must be text in UTF-8`)
  }
}

/** A document in a file. */
interface DocumentText {
  text: string
  line: number
}

const SEPARATOR = /^---(?:\s*|[ \t]+#.*)\r?$/

/** The documents between lines of `---`. One before the header may be empty. */
function documentsIn(text: string): { first: DocumentText; others: DocumentText[] } {
  const documents: DocumentText[] = []
  let [from, line, newLines] = [0, 1, 0]
  const add = (until: number, next: number) => {
    documents.push({ text: text.slice(from, until), line })
    line += newLines + 1
    newLines = 0
    from = next
  }
  for (let at = 0; at < text.length; ) {
    const found = text.indexOf('\n', at)
    const end = found < 0 ? text.length : found
    if (text.startsWith('---', at) && SEPARATOR.test(text.slice(at, end))) add(at, end + 1)
    else if (found >= 0) newLines++
    at = end + 1
  }
  documents.push({ text: text.slice(from), line })
  const hasMark = documents.length > 1 && (documents[0]?.text.replace(/^(?:#.*|\s*)$/gm, '').trim() ?? '') === ''
  const [first = { text: '', line: 1 }, ...others] = hasMark ? documents.slice(1) : documents
  return { first, others }
}

function readHeader(file: string, text: string, document: DocumentText): CassetteHeader {
  if (!isCassette(text)) throw foreign(file, text)
  const source = parsed(file, document)
  const { value } = source
  const version = isObject(value) ? value.cassette : undefined
  if (typeof version === 'number' && version > CASSETTE_FORMAT) {
    const by = isObject(value) && typeof value.understudy === 'string' ? ` (${value.understudy})` : ''
    throw new FileError(
      `${source.at(['cassette'])}: the cassette has format ${version}, which a newer understudy${by} wrote; this one reads format ${CASSETTE_FORMAT}`,
    )
  }
  return checked(source, format().HeaderSchema, 'the header')
}

/**
 * Parses a document.
 * @throws FileError if it is no YAML
 */
function parsed(file: string, { text, line }: DocumentText): SourceFile {
  const conflict = /^(?:<{7}|>{7}) /m.exec(text)
  if (conflict) {
    const at = line + text.slice(0, conflict.index).split('\n').length - 1
    throw new FileError(`${file}:${at}: the file has a merge conflict: keep one of the two versions`)
  }
  return parseSource(file, text, LIMITS, { firstLine: line })
}

function checked<T>(source: SourceFile, schema: Parameters<typeof safeParse<T>>[0], whole: string): T {
  const result = safeParse(schema, source.value)
  if (result.success) return result.data
  throw new FileError(
    problemsOf(result.error, source.value)
      .slice(0, MAX_PROBLEMS)
      .map((problem) => source.line(problem, whole)),
  )
}

interface ReadOptions {
  file: string
  document: DocumentText
  earlier: EarlierBodies
  blob: (name: string) => Uint8Array | string
  /** Whether an interaction above could not be read, so that what repeats it is not complete. */
  isBroken: boolean
}

/** An interaction, and what names a position in its document. */
interface ParsedInteraction {
  value: InteractionDocument
  line: SourceFile['line']
  at: SourceFile['at']
}

/** Aliases may expand to much more than the text. */
const MAY_REPEAT = /[:-] +[&*]/

/**
 * Parses a document. The library with positions takes most of the time of reading, so the parser of the runtime is
 * tried first. Its value counts if the document is exactly the text that would be written for it. That takes
 * 58 instead of 317 us for an interaction of 800 bytes.
 * @throws FileError with the line of each problem
 */
function parsedInteraction(file: string, document: DocumentText): ParsedInteraction {
  const { text, line } = document
  const source = once(() => parsed(file, document))
  const positions = {
    line: (...about: Parameters<SourceFile['line']>) => source().line(...about),
    at: (path: readonly PropertyKey[]) => source().at(path),
  }
  const value = asWritten(text)
  if (value) return { value, ...positions }
  if (source().value === null) throw new FileError(`${file}:${line}: the interaction is empty`)
  return { value: checked(source(), format().InteractionSchema, 'the interaction'), ...positions }
}

function asWritten(text: string): InteractionDocument | undefined {
  const [firstLine = ''] = text.split('\n', 1)
  if (!firstLine.startsWith('#') || MAY_REPEAT.test(text)) return undefined
  try {
    const { data } = format().InteractionSchema.safeParse(Bun.YAML.parse(text))
    return data && yamlText(data, firstLine) === text ? data : undefined
  } catch {
    return undefined
  }
}

/**
 * Reads an interaction.
 * @throws FileError with the line of each problem
 */
function readInteraction({ file, document, earlier, blob, isBroken }: ReadOptions): StoredInteraction {
  const { text, line } = document
  const source = parsedInteraction(file, document)
  const { id } = source.value
  if (earlier.has(id)) throw new FileError(source.line({ path: ['id'], message: `must be unique: '${id}' is above` }))
  const read = readDocument(source.value, blob)
  if ('problem' in read) {
    const { path, line: offset, message } = read.problem
    if (offset === undefined) throw new FileError(source.line({ path: [...path], message }))
    // The lines of a block begin below its key.
    const [, place = file, begin = '1'] = /^(.*):(\d+):\d+$/s.exec(source.at(path)) ?? []
    throw new FileError(`${place}:${Number(begin) + 1 + offset}: a line of ${path.at(-1)} ${message}`)
  }
  const { reduced, request, turn, attempts } = read
  let { body } = request
  if (body.kind === 'json') {
    try {
      body = { kind: 'json', value: earlier.restore(reduced) }
    } catch (error) {
      if (!(error instanceof RepeatProblem)) throw error
      if (!isBroken) {
        const path = ['request', 'repeats', error.field]
        throw new FileError(source.line({ path, message: error.message }))
      }
    }
  }
  earlier.add(id, body.kind === 'json' ? body.value : undefined)
  const blobs = source.value.attempts.flatMap((attempt) => attempt.blob ?? [])
  return { id, line, text, reduced, blobs, interaction: { turn, request: { ...request, body }, attempts } }
}

/** Reads binary bodies beside a cassette, each once. */
function blobReader(file: string): (name: string) => Uint8Array | string {
  const folder = blobFolder(dirname(file))
  const read = new Map<string, Uint8Array | string>()
  return (name) =>
    read.getOrInsertComputed(name, () => {
      const path = join(folder, name)
      let bytes: Buffer
      try {
        bytes = readFileSync(path)
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException
        return code === 'ENOENT' ? `is missing: there is no file ${path}` : `cannot be read: ${message}`
      }
      const checksum = sha256(bytes)
      return checksum === name ? bytes : `has another content: the checksum of ${path} is ${checksum}`
    })
}

/** How files of other programs are recognized. */
const FOREIGN: readonly [what: string, is: (value: JsonObject) => boolean][] = [
  ['a recording of Polly.JS', ({ log }) => isObject(log) && ('_recordingName' in log || creatorOf(log) === 'Polly.JS')],
  ["a HAR file; 'understudy scenario from FILE' reads it", ({ log }) => isObject(log) && Array.isArray(log.entries)],
  ['a cassette of VCR for Ruby', (value) => 'http_interactions' in value],
  ['a cassette of vcrpy or go-vcr', (value) => Array.isArray(value.interactions) && 'version' in value],
  [
    'a cassette of vcrpy',
    (value) => objectsIn(value.interactions).some((one) => 'request' in one && 'response' in one),
  ],
  ['a fixture file of aimock', ({ fixtures }) => objectsIn(fixtures).some((one) => 'match' in one)],
  ['a scenario of Understudy', (value) => 'rules' in value],
  ['a fixture of Understudy', (value) => 'reply' in value || 'response' in value],
]
const creatorOf = ({ creator }: JsonObject) => (isObject(creator) ? creator.name : undefined)
const EXPECTED = `a cassette of Understudy begins with 'cassette: ${CASSETTE_FORMAT}'`

/** A file of another program in the place of a cassette. It is never replaced. */
export class ForeignFileError extends FileError {}

function foreign(file: string, text: string): FileError {
  const empty = `${file}:1: the file is empty: ${EXPECTED}; delete the file and record it again`
  if (text.trim() === '') return new FileError(empty)
  if (isBlank(text)) return new ForeignFileError(empty)
  const value = foreignValue(file, text)
  const what = FOREIGN.find(([, is]) => isObject(value) && is(value))?.[0]
  return new ForeignFileError(`${file}:1: the file is ${what ?? 'not a cassette'}: ${EXPECTED}`)
}

/** The value of a file of another program, or of its first document. */
function foreignValue(file: string, text: string): unknown {
  const json = parsedJson(text)
  if (json !== undefined) return json
  try {
    return parseSource(file, text.split(/^---\s*$/m).find((part) => part.trim() !== '') ?? '').value
  } catch {
    return undefined
  }
}

/** Whether a text has nothing but comments and marks of documents. */
const isBlank = (text: string): boolean => !/^[^\S\n]*(?!---\s*$)[^\s#]/m.test(text)

/** A fast test: fields of which the recordings of other programs have one. */
const FOREIGN_FIELD = /(?:^|["{,\s])"?(?:http_interactions|interactions|_recordingName|fixtures|log)"?\s*:/
/**
 * Whether a file must be a cassette: by what it begins with, by its folder, because another program recorded it, so that
 * `readCassette` explains which, or by the name of an empty one.
 */
export const isRecording = (file: string, text: string): boolean =>
  isCassette(text) ||
  basename(dirname(file)) === 'cassettes' ||
  (FOREIGN_FIELD.test(text) && isForeign(file, text)) ||
  (isCassetteName(file) && isBlank(text))

/** The files that must be cassettes: those that `isRecording` finds, and empty ones beside them. */
export function recordingsIn<File extends { path: string; text: string }>(files: readonly File[]): Set<File> {
  const found = files.filter(({ path, text }) => isRecording(path, text))
  const folders = new Set(found.map(({ path }) => dirname(path)))
  return new Set([...found, ...files.filter(({ path, text }) => folders.has(dirname(path)) && isBlank(text))])
}

function isForeign(file: string, text: string): boolean {
  const value = foreignValue(file, text)
  return FOREIGN.some(([what, is]) => !what.endsWith('Understudy') && isObject(value) && is(value))
}
