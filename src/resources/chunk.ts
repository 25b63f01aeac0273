// Cuts a datasource's file into chunks that retrieval finds: what the event of a queued datasource does.

import { ChunkingOptions } from '../contract/knowledge.ts'
import type { Fields } from '../contract/record.ts'
import { chunkText, cleaned } from '../lib/chunking.ts'
import { embed } from '../lib/embedding.ts'
import { textOf, UnreadableDocument } from '../lib/text-of.ts'
import type { Session } from '../sessions/sessions.ts'
import type { Transaction } from './define.ts'
import type { EventHandler } from './events.ts'
import { files } from './files.ts'
import { chunks, datasources, QUEUED } from './knowledge.ts'
import { createRecord, saveRecord } from './verbs.ts'

/** Numbers in the vector of a chunk. */
export const DIMENSIONS = 256
/** Characters of a standard chunk. */
const STANDARD = { size: 1_000, overlap: 0 }
/** How long a file takes on the session's clock, in ms: long enough that a client must wait for it. */
const PROCESSING_MS = 50

/** A chunk before it is stored. */
export interface NewChunk {
  text: string
  vector: Float32Array
}

/** The chunks of a document, each text once; throws `UnreadableDocument`. */
export async function chunksOfFile(bytes: Uint8Array, file: Fields, options: ChunkingOptions): Promise<NewChunk[]> {
  const { chunking_configuration: how, chunking_cleanup_options: cleanUps } = options
  const text = await textOf(bytes, String(file.file_name), String(file.content_type))
  const names = Object.keys(cleanUps).filter((name) => cleanUps[name])
  const lengths = how.type === 'advanced' ? { size: how.chunk_max_characters, overlap: how.chunk_overlap } : STANDARD
  const texts = new Set(await chunkText(cleaned(text, names), lengths))
  return [...texts].map((one) => ({ text: one, vector: embed(one, DIMENSIONS) }))
}

/** Stores the chunks of a datasource, which is then complete. */
export function storeChunks(work: Transaction, datasource: Fields, made: readonly NewChunk[]): void {
  const { knowledge_id, _id: datasource_id } = datasource
  const knowledge = String(knowledge_id)
  const at = { knowledge_id: knowledge, datasource_id: String(datasource_id) }
  for (const [position, { text, vector }] of made.entries()) {
    const beside = ({ seq }: { seq: number }) => work.contents.putChunk(seq, { knowledge, text, vector })
    createRecord(chunks, work, { datasource_id, knowledge_id, position, text }, { params: at, beside })
  }
  settle(work, datasource, { status: 'completed', chunks_count: made.length })
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
  const result = await session.clock.work(cut(session, work(), found))
  return (now) => {
    const before = current(now, data)
    if (!before) return
    if (result instanceof UnreadableDocument) settle(now, before, { status: 'failed', error: result.message })
    else storeChunks(now, before, result)
  }
}

async function cut({ contents }: Session, { records, caller }: Transaction, datasource: Fields) {
  const id = String(datasource.file_id)
  const file = records.get(files.kind, caller.workspace, id)?.body
  const bytes = contents.file(id)
  if (!file || !bytes) return new UnreadableDocument('its file was deleted')
  try {
    return await chunksOfFile(bytes, file, ChunkingOptions.parse(datasource.chunking_options ?? {}))
  } catch (error) {
    if (error instanceof UnreadableDocument) return error
    throw error
  }
}

/** What the events of datasources do. */
export const chunkHandlers: Record<string, EventHandler> = { [QUEUED]: process }
