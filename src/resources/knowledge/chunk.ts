// Chunks the file of a datasource: the event handler of a queued datasource.

import { inWorker } from '../../answers/in-worker.ts'
import { DIMENSIONS, vectorsOf } from '../../answers/vectors.ts'
import { ChunkingOptions } from '../../contract/workspace/knowledge.ts'
import type { Fields } from '../../contract/workspace/record.ts'
import { chunkedLength, chunkText, cleaned } from '../../lib/chunking.ts'
import { embed } from '../../lib/embedding.ts'
import { sliceEnd } from '../../lib/slices.ts'
import { documentText, isPlainText, UnreadableDocument } from '../../lib/text-of.ts'
import { turnsOf } from '../../lib/turns.ts'
import type { Session } from '../../sessions/sessions.ts'
import type { ChunkingJob } from '../../workers/jobs.ts'
import { unpackTexts } from '../../workers/packed-texts.ts'
import { type JobOwner, MAX_DOCUMENTS } from '../../workers/pool.ts'
import type { Transaction } from '../define.ts'
import { createRecord, saveRecord } from '../verbs.ts'
import type { EventHandler } from './events.ts'
import { files } from './files.ts'
import { chunks, datasources, QUEUED } from './knowledge.ts'

/** Characters of a standard chunk. */
const STANDARD = { size: 1_000, overlap: 0 }
/** Duration of the processing on the session's clock, in ms: long enough that a client must wait for it. */
const PROCESSING_MS = 50

/** A chunk before it is stored. */
export interface NewChunk {
  text: string
  vector: Float32Array
}

/**
 * Maximum size in bytes of a plain text that is chunked on the main thread, and of its chunks in characters: some
 * milliseconds.
 */
const CUT_HERE = 10_000
const CHUNKED_HERE = 50_000
/** Chunks that are stored together with the completed status; others are stored before, in slices. */
const STORED_TOGETHER = 200

/** Maximum number of attempts to read a document; a killed or crashed process counts as one. */
const MAX_TRIES = 2

/** Documents of all sessions that are read at the same time. */
const documentTurns = turnsOf(MAX_DOCUMENTS)

/** A document, and how it is chunked. */
interface CutDocument {
  bytes: Uint8Array
  file: Fields
  options: ChunkingOptions
}

/**
 * The chunks of a document, without repeated texts.
 * @throws UnreadableDocument, or the signal's reason if the owner disconnects
 */
export async function chunksOfFile({ bytes, file, options }: CutDocument, owner: JobOwner): Promise<NewChunk[]> {
  const { chunking_configuration: how, chunking_cleanup_options: cleanUps } = options
  const names = Object.entries(cleanUps).flatMap(([name, isOn]) => (isOn ? [name] : []))
  const lengths = how.type === 'advanced' ? { size: how.chunk_max_characters, overlap: how.chunk_overlap } : STANDARD
  const about = { name: String(file.file_name), type: String(file.content_type) }
  const isSmall = bytes.length <= CUT_HERE && chunkedLength(bytes.length, lengths) <= CHUNKED_HERE
  if (!isSmall || !isPlainText(about.name, about.type))
    return chunksApart({ bytes, ...about, cleanUps: names, ...lengths }, owner)
  const text = await documentText(bytes, about.name, about.type)
  const texts = new Set(chunkText(cleaned(text, names), lengths))
  return [...texts].map((one) => ({ text: one, vector: embed(one, DIMENSIONS) }))
}

/** The same in workers. */
async function chunksApart(job: ChunkingJob, owner: JobOwner): Promise<NewChunk[]> {
  const { signal, patient = false, limits } = owner
  const stopped = (why: string) => new UnreadableDocument(`to read it takes ${why}`)
  const packed = await inWorker('chunkDocument', job, { signal, patient, limits, stopped })
  if (typeof packed === 'string') throw new UnreadableDocument(packed)
  const texts = [...new Set(unpackTexts(packed))]
  const vectors = await vectorsOf(texts, owner)
  return texts.map((text, index) => ({ text, vector: vectors[index] ?? new Float32Array(DIMENSIONS) }))
}

/** Stores the last chunks of a datasource, from the position `first` on, and marks it as completed. */
export function storeChunks(work: Transaction, datasource: Fields, made: readonly NewChunk[], first = 0): void {
  for (const [index, chunk] of made.slice(first).entries()) storeChunk(work, datasource, chunk, first + index)
  settle(work, datasource, { status: 'completed', chunks_count: made.length, tries: undefined })
}

/** Stores a chunk of a datasource, which may have further fields, and returns its record. */
export function storeChunk(
  work: Transaction,
  { knowledge_id, _id: datasource_id }: Fields,
  { vector, ...chunk }: NewChunk,
  position: number,
): Fields {
  const knowledge = String(knowledge_id)
  const storeContent = ({ seq }: { seq: number }) =>
    work.contents.putChunk(seq, { knowledge, text: chunk.text, vector })
  const fields = { datasource_id, knowledge_id, position, enabled: true, status: 'completed', ...chunk }
  const params = { knowledge_id: knowledge, datasource_id: String(datasource_id) }
  return createRecord(chunks, work, fields, { params, storeContent })
}

/** Stores all but the last of many chunks in slices, and returns their number. */
async function storeFirst(session: Session, work: () => Transaction, data: Fields, made: readonly NewChunk[]) {
  let stored = 0
  while (stored < made.length - STORED_TOGETHER) {
    const from = stored
    stored = await session.transact(() => {
      const now = work()
      const before = current(now, data)
      // It was deleted: there is nothing to store.
      if (!before) return made.length
      const isSliceOver = sliceEnd()
      const end = made.length - STORED_TOGETHER
      let next = from
      for (let chunk = made[next]; chunk && next < end && !isSliceOver(); chunk = made[next])
        storeChunk(now, before, chunk, next++)
      return next
    })
  }
  return stored
}

/** Removes what an earlier attempt has stored, in slices. */
async function removeChunks(session: Session, work: () => Transaction, { datasource_id }: Fields): Promise<void> {
  const list = (now: Transaction) =>
    now.records.page({
      ...{ kind: chunks.kind, workspace: now.caller.workspace, parent: String(datasource_id) },
      ...{ limit: STORED_TOGETHER, after: undefined, before: undefined },
    })
  for (let more = true; more; ) {
    more = await session.transact(() => {
      const now = work()
      const { data, hasMore } = list(now)
      now.records.remove(data.map(({ _id }) => String(_id)))
      return hasMore
    })
  }
}

const settle = (work: Transaction, before: Fields, change: Fields) =>
  saveRecord(datasources, work, { parents: [String(before.knowledge_id)], before }, { ...before, ...change })

const current = ({ records, caller }: Transaction, { datasource_id }: Fields) =>
  records.get(datasources.kind, caller.workspace, String(datasource_id))?.body

const process: EventHandler = async (data, session, work) => {
  const found = await session.transact(() => {
    const now = work()
    const before = current(now, data)
    return before && settle(now, before, { status: 'processing' })
  })
  if (!found) return () => {}
  await session.clock.sleep(PROCESSING_MS, session.ended)
  const turn = { signal: session.ended, key: session }
  const { result, stored } = await session.clock.work(documentTurns.take(turn, () => tried(session, work, data)))
  return (now) => {
    const before = current(now, data)
    if (!before) return
    if (result instanceof UnreadableDocument)
      settle(now, before, { status: 'failed', error: result.message, tries: undefined })
    else storeChunks(now, before, result, stored)
  }
}

/**
 * The result of an attempt to read a document, and the number of its stored chunks. It is counted before it starts, so
 * that a document that crashes the process is not read at every start.
 */
async function tried(
  session: Session,
  work: () => Transaction,
  data: Fields,
): Promise<{ result: NewChunk[] | UnreadableDocument; stored: number }> {
  const { ended } = session
  const count = (by: 1 | -1) =>
    session.transact(() => {
      const now = work()
      const before = current(now, data)
      return before && settle(now, before, { tries: Number(before.tries ?? 0) + by })
    })
  const before = current(work(), data)
  if (!before) return { result: [], stored: 0 }
  if (Number(before.tries ?? 0) >= MAX_TRIES) return { result: new UnreadableDocument(TRIED), stored: 0 }
  await count(1)
  // A shutdown or a reset is another reason for the end of an attempt: this is committed on the way.
  const uncount = () => void count(-1).catch(() => {})
  ended.addEventListener('abort', uncount, { once: true })
  try {
    await removeChunks(session, work, data)
    const result = await cut(session, work(), before)
    const stored = result instanceof UnreadableDocument ? 0 : await storeFirst(session, work, data, result)
    return { result, stored }
  } catch (error) {
    if (!ended.aborted) await count(-1)
    throw error
  } finally {
    ended.removeEventListener('abort', uncount)
  }
}

const TRIED = `the process ended ${MAX_TRIES} times while it was read; make the datasource again to try it once more`

async function cut(
  { contents, ended, jobLimits: limits }: Session,
  { records, caller }: Transaction,
  datasource: Fields,
) {
  const id = String(datasource.file_id)
  const file = records.get(files.kind, caller.workspace, id)?.body
  const bytes = contents.file(id)
  if (!file || !bytes) return new UnreadableDocument('its file was deleted')
  try {
    const options = ChunkingOptions.parse(datasource.chunking_options ?? {})
    return await chunksOfFile({ bytes, file, options }, { signal: ended, patient: true, limits })
  } catch (error) {
    if (error instanceof UnreadableDocument) return error
    throw error
  }
}

/** The handlers of datasource events. */
export const chunkHandlers: Record<string, EventHandler> = { [QUEUED]: process }
