// Writes cassettes so that nothing half is ever taken for whole: a file says that it is incomplete until its run has
// ended, each interaction is appended in one write, and a renewed recording takes the place of the old one at its end.
import { appendFileSync, closeSync, existsSync, ftruncateSync, openSync, rmSync, statSync } from 'node:fs'
import { mkdir, open, readFile, realpath, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CASSETTE_FORMAT, type CassetteHeader, type Interaction, type VolatileRule } from '../contract/core/cassette.ts'
import { cassetteKey } from '../contract/core/cassette-key.ts'
import { fileVersion } from '../lib/file-version.ts'
import { printableLine } from '../lib/printable.ts'
import { FileError } from '../schema/source.ts'
import { type InteractionText, interactionText } from './document.ts'
import { besideFile, blobFolder, cassetteFile } from './names.ts'
import { ForeignFileError, readStored, type StoredCassette, type StoredInteraction } from './read.ts'
import { EarlierBodies, type ReducedBody } from './repeats.ts'
import { sameAttempts, withOldIds } from './same.ts'
import { valueText } from './value-text.ts'

/** The header of a new cassette; the writer adds the format and the state. */
export type NewHeader = Omit<CassetteHeader, 'cassette' | 'state'>

const SEPARATOR = '---\n'

/** A line about a recording: why its file is not complete, or lacks something although it is. */
export const problemLine = (
  session: string,
  { file, isComplete, reason }: { file: string; isComplete: boolean; reason: string },
): string => {
  const what = isComplete ? 'lacks what followed' : 'stays incomplete'
  return printableLine(`the recording of session '${session}' ${what}: ${file}: ${reason}`)
}

/** Records the interactions of one session. Nothing is thrown: what cannot be written is reported once, in one line. */
export class CassetteWriter {
  /** The file that will contain them. */
  readonly file: string
  /** The file of the ended recording, if an older one stays. */
  beside: string | undefined
  readonly #folder: string
  readonly #header: NewHeader
  readonly #report: (problem: string) => void
  /** The file that is written: beside an older cassette, if there is one. */
  #draft: string
  /** Its descriptor: a handle object that nobody closes ends the process when it is collected. */
  #open: number | undefined
  #length = 0
  /** The version of the file of an older cassette. */
  #older: string | undefined
  #failed = false
  #ended = false
  #work: Promise<void>
  #documents: Documents
  readonly #arrived: Interaction[] = []
  #previous: Previous | undefined
  /** The places of the documents so far. */
  readonly #places: Place[] = []

  constructor(folder: string, header: NewHeader, { report }: { report(problem: string): void }) {
    this.file = cassetteFile(folder, header.session)
    this.#draft = this.file
    this.#folder = folder
    this.#header = header
    this.#report = report
    this.#documents = this.#newDocuments(false)
    this.#work = this.#guarded(() => this.#begin())
  }

  /**
   * Appends interactions, several in one write. It never rejects: a disk problem is reported once, and the file then stays
   * incomplete.
   */
  append(...interactions: readonly Interaction[]): Promise<void> {
    this.#arrived.push(...interactions)
    return this.#then(() => this.#appendArrived())
  }

  /**
   * Ends the recording: marks it as complete, and replaces an older cassette. It never rejects.
   * @param failed whether the command failed: a complete older cassette then stays, and the new one is `beside` it
   */
  finish(failed = false): Promise<void> {
    return this.#then(() => this.#finish(failed))
  }

  /** Gives the recording up: it is reported, and the file stays incomplete. */
  fail(error: Error): Promise<void> {
    return this.#then(() => Promise.reject(error))
  }

  #newDocuments(keepsOthers: boolean): Documents {
    return new Documents(this.#header.volatile, keepsOthers)
  }

  #then(step: () => Promise<void>): Promise<void> {
    this.#work = this.#work.then(() => this.#guarded(step))
    return this.#work
  }

  /** Runs a step unless one has failed before. */
  async #guarded(step: () => Promise<void>): Promise<void> {
    if (this.#failed) {
      this.#arrived.length = 0
      return
    }
    try {
      await step()
    } catch (error) {
      this.#failed = true
      const { session } = this.#header
      const { message } = error as Error
      const file = this.#ended ? this.file : this.#draft
      const line =
        error instanceof ForeignFileError
          ? printableLine(
              `the recording of session '${session}' is not written: ${message}; move the file, or record into another folder`,
            )
          : problemLine(session, { file, isComplete: this.#ended, reason: message })
      this.#report(line)
      this.#close()
    }
  }

  #close(): void {
    const file = this.#open
    this.#open = undefined
    try {
      if (file !== undefined) closeSync(file)
    } catch {
      // What could not be written cannot be closed without an error either.
    }
  }

  async #begin(): Promise<void> {
    await mkdir(this.#folder, { recursive: true })
    if (existsSync(this.file)) {
      this.#older = fileVersion(this.file)
      this.#previous = previousIn(this.file, this.#header.volatile)
      this.#draft = besideFile(this.file, 'incomplete')
      this.#documents = this.#newDocuments(true)
    }
    // A process that still writes to it sees that it has been replaced.
    rmSync(this.#draft, { force: true })
    this.#open = openSync(this.#draft, 'wx')
    this.#write(headerText(this.#header, 'incomplete') + SEPARATOR)
  }

  /**
   * Appends a text in one write; after a partial one the file is as before. At once, which takes less processor
   * time than a promise (63 instead of 75 us for an interaction of 800 bytes, with everything else).
   */
  #write(text: string): void {
    const file = this.#open
    if (file === undefined) return
    this.#checkAlone()
    const bytes = Buffer.from(text)
    try {
      appendFileSync(file, bytes)
    } catch (error) {
      ftruncateSync(file, this.#length)
      throw error
    }
    this.#length += bytes.length
  }

  /**
   * Notices another process that records the same session: it has replaced the file that is written, or the older cassette. A lock would need a
   * process to remove it.
   * @throws Error then
   */
  #checkAlone(): void {
    const isOwn = statSync(this.#draft, { throwIfNoEntry: false })?.size === this.#length
    const isOlder = this.#draft === this.file || fileVersion(this.file) === this.#older
    if (!isOwn || !isOlder) throw new Error('another process records the same session into this folder')
  }

  /** Appends the interactions that have arrived since the last write: a busy server does not write each alone. */
  async #appendArrived(): Promise<void> {
    if (this.#ended) throw new Error('an interaction came after its end')
    let text = ''
    for (const interaction of this.#arrived.splice(0)) {
      const { renewed, kept, position } = this.#previous?.match(interaction) ?? { renewed: interaction, position: 0 }
      const document = (kept ? this.#documents.kept(kept) : await this.#fresh(renewed)) + SEPARATOR
      text += document
      this.#places.push({ position, started: interaction.started ?? 0, length: document.length })
    }
    if (text !== '') this.#write(text)
  }

  async #fresh(interaction: Interaction): Promise<string> {
    const { text, blobs } = this.#documents.fresh(interaction)
    for (const [name, bytes] of blobs) await writeBlob(blobFolder(this.#folder), name, bytes)
    return text
  }

  async #finish(failed: boolean): Promise<void> {
    if (this.#ended) return
    this.#checkAlone()
    this.#close()
    const failedFile = besideFile(this.file, 'failed')
    if (failed && this.#previous?.isComplete) this.beside = failedFile
    const text = headerText(this.#header, 'complete') + (await this.#recorded())
    // Otherwise a version control would show every line as changed.
    const written = this.#previous?.usesCrlf ? text.replaceAll('\n', '\r\n') : text
    await writeWhole(this.beside ?? this.file, written)
    this.#ended = true
    if (this.#draft !== this.file) await rm(this.#draft, { force: true })
    if (!this.beside) await rm(failedFile, { force: true })
  }

  /**
   * The documents with separators before them, in the order of the older cassette, then of their first attempts: calls at
   * the same time end in any order, and one that may be retried is written late.
   */
  async #recorded(): Promise<string> {
    const places = this.#places
    const inOrder = places.map((place, index) => ({ ...place, index })).sort(comparePlaces)
    if (this.#documents.hasRepeats && inOrder.some(({ index }, at) => index !== at)) {
      const documents = this.#newDocuments(true)
      const { stored } = readStored(this.#draft)
      let text = ''
      for (const { index } of inOrder) {
        const one = stored[index]
        if (one) text += SEPARATOR + documents.kept(one)
      }
      return text
    }
    const text = await readFile(this.#draft, 'utf8')
    let at = headerText(this.#header, 'incomplete').length + SEPARATOR.length
    const documents = places.map(({ length }) => text.slice(at, (at += length)))
    return (SEPARATOR + inOrder.map(({ index }) => documents[index]).join('')).slice(0, -SEPARATOR.length)
  }
}

/** Where a document belongs: its position in the older cassette, and when its first attempt was sent. */
interface Place {
  position: number
  started: number
  /** Characters of the document with its separator. */
  length: number
}
const comparePlaces = (one: Place, other: Place): number => one.position - other.position || one.started - other.started

/** The documents of a cassette, in its order. */
class Documents {
  /** Whether one of them repeats a part of another one, which has to stay above it. */
  hasRepeats = false
  readonly #earlier = new EarlierBodies()
  /** The last number of ids that begin alike. */
  readonly #numbers = new Map<string, number>()
  readonly #rules: readonly VolatileRule[]
  /** Whether documents of an older cassette may follow, which repeat bodies above. */
  readonly #keepsOthers: boolean

  constructor(rules: readonly VolatileRule[], keepsOthers: boolean) {
    this.#rules = rules
    this.#keepsOthers = keepsOthers
  }

  /** The document of an interaction. */
  fresh(interaction: Interaction): InteractionText {
    const { body } = interaction.request
    const value = body.kind === 'json' ? body.value : undefined
    const id = this.#newId(cassetteKey(interaction.request, this.#rules))
    const reduced = this.#earlier.reduce(id, value)
    this.#noteRepeats(reduced)
    // The restored body shares what it repeats: a long conversation is in memory once.
    this.#earlier.add(id, this.#keepsOthers ? this.#earlier.restore(reduced) : undefined)
    return interactionText(interaction, { id, reduced })
  }

  /** A document as it is, unless what it repeats is no longer above it. Its binary bodies are in their files. */
  kept({ id, text, reduced, interaction }: StoredInteraction): string {
    const { request } = interaction
    if (this.#earlier.has(id)) return this.fresh(interaction).text
    let body = request.body
    if (body.kind === 'json') {
      try {
        body = { kind: 'json', value: this.#earlier.restore(reduced) }
      } catch {
        return this.fresh(interaction).text
      }
      const key = cassetteKey(request, this.#rules)
      if (cassetteKey({ ...request, body }, this.#rules) !== key) return this.fresh(interaction).text
    }
    const value = body.kind === 'json' ? body.value : undefined
    this.#noteRepeats(reduced)
    this.#earlier.reduce(id, value)
    this.#earlier.add(id, value)
    const lines = text.replaceAll('\r\n', '\n')
    return lines.endsWith('\n') ? lines : `${lines}\n`
  }

  #noteRepeats({ repeats }: ReducedBody): void {
    this.hasRepeats ||= Object.keys(repeats).length > 0
  }

  #newId(key: string): string {
    const short = key.slice(0, 8)
    for (let number = (this.#numbers.get(short) ?? 0) + 1; ; number++) {
      const id = number === 1 ? short : `${short}-${number}`
      if (this.#earlier.has(id)) continue
      this.#numbers.set(short, number)
      return id
    }
  }
}

/** The older cassette in a file; undefined if it cannot be read, so that there is nothing to keep. */
function previousIn(file: string, rules: readonly VolatileRule[]): Previous | undefined {
  try {
    return new Previous(readStored(file), rules)
  } catch (error) {
    if (error instanceof FileError && !(error instanceof ForeignFileError)) return undefined
    throw error
  }
}

/** The interactions of the older cassette: each is compared with the next recorded one of its key. */
class Previous {
  readonly isComplete: boolean
  readonly usesCrlf: boolean
  readonly #byKey: Map<string, { stored: StoredInteraction; position: number }[]>
  readonly #rules: readonly VolatileRule[]
  readonly #ids = new Map<string, string>()
  /** The place of the last document, and of the last one of each key. */
  #last = 0
  readonly #lastOfKey = new Map<string, number>()

  constructor({ header, stored, usesCrlf }: StoredCassette, rules: readonly VolatileRule[]) {
    this.isComplete = header.state === 'complete'
    this.usesCrlf = usesCrlf
    this.#rules = rules
    const placed = stored.map((one, position) => ({ stored: one, position }))
    this.#byKey = Map.groupBy(placed, (one) => cassetteKey(one.stored.interaction.request, rules))
    for (const queue of this.#byKey.values()) queue.reverse()
  }

  /**
   * What becomes of a recorded interaction: with the ids of what is kept, its place among the older documents, and the older document if it
   * says the same.
   */
  match(interaction: Interaction) {
    const request = withOldIds(interaction.request, this.#ids)
    const renewed = request === interaction.request ? interaction : { ...interaction, request }
    const key = cassetteKey(request, this.#rules)
    const next = this.#byKey.get(key)?.pop()
    const isSameTurn = next?.stored.interaction.turn === renewed.turn
    const ids = next && isSameTurn && sameAttempts(next.stored.interaction, renewed, this.#ids)
    for (const [now, before] of ids || []) this.#ids.set(now, before)
    const position = next?.position ?? Math.max(this.#last, this.#lastOfKey.get(key) ?? 0)
    this.#last = position
    this.#lastOfKey.set(key, position)
    return { renewed, position, kept: ids ? next?.stored : undefined }
  }
}

/** The header as it is written. */
function headerText({ session, recorded, understudy, volatile, redact }: NewHeader, state: CassetteHeader['state']) {
  const value = {
    cassette: CASSETTE_FORMAT,
    session,
    state,
    recorded,
    understudy,
    ...(volatile.length > 0 && { volatile }),
    ...(redact.length > 0 && { redact }),
  }
  return `# Recorded responses of providers, for replay with Understudy.${valueText(value, '')}\n`
}

/** Writes a file and renames it into place, so that nobody ever reads half of it. A link stays a link. */
async function writeWhole(name: string, content: string | Uint8Array): Promise<void> {
  const file = existsSync(name) ? await realpath(name) : name
  const draft = `${file}.new`
  try {
    const handle = await open(draft, 'w')
    try {
      await handle.writeFile(content)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(draft, file)
  } catch (error) {
    await rm(draft, { force: true }).catch(() => {})
    throw error
  }
}

/** A binary body is a file named by its checksum, which is written once. */
async function writeBlob(folder: string, name: string, bytes: Uint8Array): Promise<void> {
  const file = join(folder, name)
  if (existsSync(file)) return
  await mkdir(dirname(file), { recursive: true })
  await writeWhole(file, bytes)
}
