// Seeds a workspace from seed files. Existing records, by key, are updated instead of created again.
import { basename } from 'node:path'
import { ChunkingOptions } from '../../contract/workspace/knowledge.ts'
import type { Caller, Fields } from '../../contract/workspace/record.ts'
import { nextTurn } from '../../lib/bare-socket.ts'
import { canonicalJson } from '../../lib/canonical.ts'
import { UnreadableDocument } from '../../lib/text-of.ts'
import { FileError } from '../../schema/source.ts'
import type { Session } from '../../sessions/sessions.ts'
import { contacts } from '../contacts.ts'
import { datapoints } from '../datapoints.ts'
import { datasets } from '../datasets.ts'
import type { Resource, Transaction } from '../define.ts'
import { evaluators } from '../evaluators/evaluators.ts'
import { feedback } from '../feedback.ts'
import { chunksOfFile, type NewChunk, storeChunks } from '../knowledge/chunk.ts'
import { createFile } from '../knowledge/files.ts'
import { datasources, knowledgeBases } from '../knowledge/knowledge.ts'
import { projects } from '../projects.ts'
import { reviewSets } from '../review-sets.ts'
import { tools } from '../tools.ts'
import { createRecord, createRecords, updateRecord, workOf } from '../verbs.ts'
import type { Seed, SeedFile } from './seed-file.ts'

/** A seed with chunked documents, ready to be stored at once. */
interface PreparedSeed {
  seed: Seed
  documents: Map<string, { bytes: Uint8Array; chunks: NewChunk[] }>
}

/** Seeds are read for all later sessions. */
const FOR_ALL = { signal: new AbortController().signal, patient: true }
const OPTIONS = ChunkingOptions.parse({})
const namesOf = (file: string) => ({ file_name: basename(file), content_type: '' })

/** The progress of a seed's documents. Storing them all is the last step. */
export interface SeedProgress {
  done: number
  total: number
}

/** Options for preparing a seed. */
interface PrepareOptions {
  /** Where its documents are counted. */
  progress?: SeedProgress
  /** Called for each document that cannot be read, which is then omitted. */
  onUnreadable?: (file: string, error: UnreadableDocument) => void
}

/**
 * Reads and chunks the documents of a seed.
 * @throws UnreadableDocument without `onUnreadable`
 */
export async function prepareSeed(
  { seed, documents }: SeedFile,
  { progress = { done: 0, total: 0 }, onUnreadable }: PrepareOptions = {},
): Promise<PreparedSeed> {
  const prepared: PreparedSeed['documents'] = new Map()
  const named = seed.knowledge.flatMap((base) => base.documents)
  progress.total = named.length + 1
  for (const { file, chunking_options } of named) {
    const bytes = documents.get(file) ?? new Uint8Array()
    try {
      const chunks = await chunksOfFile({ bytes, file: namesOf(file), options: chunking_options ?? OPTIONS }, FOR_ALL)
      prepared.set(file, { bytes, chunks })
    } catch (error) {
      if (!(error instanceof UnreadableDocument)) throw error
      if (!onUnreadable) throw new UnreadableDocument(`${file}: ${error.message}`)
      onUnreadable(file, error)
    }
    progress.done++
    // Other calls, and queries of the progress, get their turn.
    await nextTurn()
  }
  return { seed, documents: prepared }
}

/** Creates or updates everything in a seed. Call it inside one transaction. */
export function applySeed(work: Transaction, { seed, documents }: PreparedSeed): void {
  for (const project of seed.projects) put(projects, work, project)
  for (const contact of seed.contacts) put(contacts, work, contact)
  for (const [resource, list] of [
    [tools, seed.tools],
    [evaluators, seed.evaluators],
  ] as const) {
    for (const { changes, ...body } of list) putVersions(resource, work, body, changes)
  }
  for (const { datapoints: points, ...body } of seed.datasets) {
    const dataset = put(datasets, work, body, 'display_name')
    const params = { dataset_id: String(dataset._id) }
    const existing = new Set(recordsIn(datapoints, work, params.dataset_id).map(contentOf))
    const added = points.filter((point) => !existing.has(contentOf(point)))
    createRecords(datapoints, work, added, { params })
  }
  for (const { documents: list, ...body } of seed.knowledge) {
    const base = put(knowledgeBases, work, body)
    for (const document of list) putDocument(work, String(base._id), document, documents.get(document.file))
  }
  for (const rating of seed.feedback) put(feedback, work, rating)
  for (const { project, ...body } of seed.review_sets) {
    const named = project === undefined ? undefined : put(projects, work, { name: project })
    put(reviewSets, work, { ...body, ...(named && { project_id: named._id }) }, 'display_name')
  }
}

const recordsIn = ({ kind }: Resource, { records, caller }: Transaction, parent: string) =>
  records.page({ kind, workspace: caller.workspace, parent }).data
const contentOf = ({ inputs, messages, expected_output }: Fields) =>
  canonicalJson({ inputs, messages, expected_output })

/** Updates the record with the same name, or creates a new one. */
function put(resource: Resource, work: Transaction, body: Fields, name = resource.key ?? ''): Fields {
  const { records, caller } = work
  const existing = resource.key
    ? records.byKey(resource.kind, caller.workspace, '', String(body[name]))
    : recordsIn(resource, work, '').find((record) => record[name] === body[name])
  return existing
    ? updateRecord(resource, work, body, { [resource.param]: String(existing._id) })
    : createRecord(resource, work, body)
}

/** A new record goes through all its changes, so that it gets its versions; an existing one only to the last. */
function putVersions(resource: Resource, work: Transaction, body: Fields, changes: readonly Fields[]): void {
  const existing = work.records.byKey(resource.kind, work.caller.workspace, '', String(body.key))
  const steps = existing ? [Object.assign({}, body, ...changes)] : [body, ...changes]
  for (const step of steps) put(resource, work, { ...step, key: body.key })
}

function putDocument(
  work: Transaction,
  knowledge_id: string,
  { file, display_name, chunking_options }: Seed['knowledge'][number]['documents'][number],
  document: { bytes: Uint8Array; chunks: NewChunk[] } | undefined,
): void {
  const name = display_name ?? basename(file)
  if (!document || recordsIn(datasources, work, knowledge_id).some((one) => one.display_name === name)) return
  const { type } = Bun.file(file)
  const kept = createFile(work, { name: basename(file), type, purpose: 'retrieval', bytes: document.bytes })
  const body = { display_name: name, chunking_options }
  const datasource = createRecord(datasources, work, body, { params: { knowledge_id } })
  // The file is set only now, so that nothing is queued: the chunks exist already.
  storeChunks(work, { ...datasource, file_id: kept._id }, document.chunks)
}

/** The source of the seeds. */
interface SeederOptions {
  /** The current files, read for each new session; another list if they have changed. */
  read(): readonly SeedFile[]
  /** The creator of the records. */
  caller: Caller
  /** Called for each document that cannot be read. */
  report(problem: FileError): void
}

/** Seeds new sessions from these files, once each: `prepare` resolves when the session has been seeded. */
export function createSeeder({ read, caller, report }: SeederOptions): { prepare(session: Session): Promise<void> } {
  const onUnreadable = (file: string, { message }: UnreadableDocument) =>
    report(new FileError(`document ${file} of the seed: ${message}; the knowledge base goes without it`))
  let files: readonly SeedFile[] | undefined
  let prepared: Promise<PreparedSeed[]> | undefined
  const inForce = (): Promise<PreparedSeed[]> => {
    const found = read()
    if (prepared && found === files) return prepared
    files = found
    prepared = Promise.all(found.map((file) => prepareSeed(file, { onUnreadable })))
    return prepared
  }
  return {
    async prepare(session) {
      if (!session.records.isNew()) return
      const seeds = await inForce()
      if (seeds.length === 0) return
      await session.transact(() => {
        if (!session.records.isNew()) return
        const work = workOf(session, caller)
        for (const seed of seeds) applySeed(work, seed)
      })
    },
  }
}
