// Writes cassettes so that nothing half is ever taken for whole: a file says that it is incomplete until its run has
// ended, each interaction is appended in one write, and a renewed recording takes the place of the old one at its end.
import { existsSync } from 'node:fs'
import { type FileHandle, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CASSETTE_FORMAT, type CassetteHeader, type Interaction } from '../contract/core/cassette.ts'
import { cassetteKey } from '../contract/core/cassette-key.ts'
import { printableLine } from '../lib/printable.ts'
import { interactionText } from './document.ts'
import { blobFolder, cassetteFile, renewedFile } from './names.ts'
import { EarlierBodies } from './repeats.ts'
import { valueText } from './value-text.ts'

/** The header of a new cassette; the writer adds the format and the state. */
export type NewHeader = Omit<CassetteHeader, 'cassette' | 'state'>

/** Records the interactions of one session. */
export interface CassetteWriter {
  /** The file that will contain them. */
  readonly file: string
  /** Appends an interaction. It never rejects: a disk problem is reported once, and the file then stays incomplete. */
  append(interaction: Interaction): Promise<void>
  /** Ends the recording: marks it as complete, and replaces an older cassette. It never rejects. */
  finish(): Promise<void>
}

const SEPARATOR = '---\n'

/**
 * Starts the recording of a session. Nothing is thrown: what cannot be written is reported once, in one line.
 * @param report receives the problem
 */
export function openCassette(folder: string, header: NewHeader, report: (problem: string) => void): CassetteWriter {
  return new Recording(folder, header, report)
}

class Recording implements CassetteWriter {
  readonly file: string
  readonly #folder: string
  readonly #header: NewHeader
  readonly #report: (problem: string) => void
  /** The file that is written: beside an older cassette, if there is one. */
  #draft = ''
  #handle: FileHandle | undefined
  #length = 0
  #failed = false
  #work: Promise<void>
  readonly #earlier = new EarlierBodies()

  constructor(folder: string, header: NewHeader, report: (problem: string) => void) {
    this.file = cassetteFile(folder, header.session)
    this.#folder = folder
    this.#header = header
    this.#report = report
    this.#work = this.#guarded(() => this.#begin())
  }

  append(interaction: Interaction): Promise<void> {
    return (this.#work = this.#work.then(() => this.#guarded(() => this.#append(interaction))))
  }

  finish(): Promise<void> {
    return (this.#work = this.#work.then(() => this.#guarded(() => this.#finish())))
  }

  /** Runs a step unless one has failed before. */
  async #guarded(step: () => Promise<void>): Promise<void> {
    if (this.#failed) return
    try {
      await step()
    } catch (error) {
      this.#failed = true
      const { message } = error as Error
      this.#report(
        printableLine(
          `the recording of session '${this.#header.session}' stays incomplete: ${this.#draft}: ${message}`,
        ),
      )
      await this.#close()
    }
  }

  async #close(): Promise<void> {
    // What could not be written cannot be closed without an error either.
    await this.#handle?.close().catch(() => {})
    this.#handle = undefined
  }

  async #begin(): Promise<void> {
    this.#draft = existsSync(this.file) ? renewedFile(this.file) : this.file
    await mkdir(this.#folder, { recursive: true })
    this.#handle = await open(this.#draft, 'w')
    await this.#write(headerText(this.#header, 'incomplete') + SEPARATOR)
  }

  /** Appends a text in one write; after a partial one the file is as before. */
  async #write(text: string): Promise<void> {
    const handle = this.#handle
    if (!handle) return
    const bytes = Buffer.from(text)
    const { bytesWritten } = await handle.write(bytes, 0, bytes.length, this.#length)
    if (bytesWritten < bytes.length) {
      await handle.truncate(this.#length).catch(() => {})
      throw new Error(`no space left: only ${bytesWritten} of ${bytes.length} bytes were written`)
    }
    this.#length += bytes.length
  }

  async #append(interaction: Interaction): Promise<void> {
    const { body } = interaction.request
    const value = body.kind === 'json' ? body.value : undefined
    const key = cassetteKey(interaction.request, this.#header.volatile)
    const id = this.#newId(key)
    const { text, blobs } = interactionText(interaction, { id, reduced: this.#earlier.reduce(value) })
    for (const [name, bytes] of blobs) await writeBlob(blobFolder(this.#folder), name, bytes)
    await this.#write(text + SEPARATOR)
    this.#earlier.index(id, value)
  }

  #newId(key: string): string {
    const short = key.slice(0, 8)
    for (let number = 1; ; number++) {
      const id = number === 1 ? short : `${short}-${number}`
      if (!this.#earlier.has(id)) return id
    }
  }

  async #finish(): Promise<void> {
    await this.#close()
    const recorded = await readFile(this.#draft, 'utf8')
    const documents = recorded.slice(headerText(this.#header, 'incomplete').length)
    const text = headerText(this.#header, 'complete') + documents.slice(0, -SEPARATOR.length)
    await writeWhole(this.file, text)
    if (this.#draft !== this.file) await rm(this.#draft, { force: true })
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

/** Writes a file and renames it into place, so that nobody ever reads half of it. */
async function writeWhole(file: string, content: string | Uint8Array): Promise<void> {
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
