// Chunks that clients write themselves: create several at once, change, count, search in pages, delete several.

import { z } from 'zod'
import { vectorsOf } from '../../answers/vectors.ts'
import { ApiError } from '../../contract/core/error.ts'
import type { Route } from '../../contract/core/route.ts'
import {
  Chunk,
  ChunkCount,
  ChunkFilter,
  ChunkIds,
  ChunkPatch,
  ChunkSearch,
  ChunksBody,
  ChunksDeleted,
} from '../../contract/workspace/chunks.ts'
import type { Caller, Fields } from '../../contract/workspace/record.ts'
import { listOf } from '../../contract/workspace/shared.ts'
import type { Session } from '../../sessions/sessions.ts'
import type { JobOwner } from '../../workers/pool.ts'
import { type ResourceDeps, recordRoute } from '../routes.ts'
import { deleteRecords, findRecord, shown, updateRecord, workOf } from '../verbs.ts'
import { storeChunk } from './chunk.ts'
import { chunks, countChunks, datasources, includesChunk } from './knowledge.ts'

/** The owner of work for a client, in a session that may be reset. */
const goneWith = ({ ended, jobLimits: limits }: Session, { signal }: Request): JobOwner => ({
  signal: AbortSignal.any([ended, signal]),
  limits,
})

/** The chunks of a datasource, in order. */
const chunksIn = ({ records }: Pick<Session, 'records'>, { workspace }: Caller, { _id }: Fields): Fields[] =>
  records.page({ kind: chunks.kind, workspace, parent: String(_id) }).data.reverse()

/** @throws ApiError 409 while a file is being chunked, whose chunks will replace all others */
function refuseUnderWay({ _id, status }: Fields): void {
  if (status !== 'queued' && status !== 'processing') return
  const message = `the datasource ${_id} is ${status}: add chunks when it is completed or failed`
  throw new ApiError(409, 'datasource_busy', message, { param: datasources.param })
}

/** The routes of chunks other than reading them one by one. */
export const chunkRoutes = (deps: ResourceDeps): Route[] => [
  recordRoute(datasources, deps, {
    path: chunks.path,
    method: 'post',
    summary: 'Create chunks',
    description: 'Adds an array of chunks to a datasource. The datasource must not be processing.',
    operationId: 'createChunks',
    examples: { two: [{ text: 'Returns are free.', metadata: { topic: 'returns' } }, { text: 'Shipping is not.' }] },
    body: ChunksBody,
    response: z.array(Chunk),
    async handle({ request, params, body, session, caller }) {
      const texts = body.map(({ text }) => text)
      const vectors = await session.clock.work(vectorsOf(texts, goneWith(session, request)))
      const made = await session.transact(() => {
        const work = workOf(session, caller)
        const datasource = findRecord(datasources, work, params)
        refuseUnderWay(datasource)
        const { _id: datasource_id, knowledge_id } = datasource
        const first = Number(chunksIn(work, caller, datasource).at(-1)?.position ?? -1) + 1
        const records = body.map((chunk, index) =>
          storeChunk(work, datasource, { ...chunk, vector: vectors[index] ?? new Float32Array() }, first + index),
        )
        if (records.length > 0) countChunks(work, [String(knowledge_id), String(datasource_id)], records.length)
        return records
      })
      return made.map((record) => shown(chunks, record))
    },
  }),
  recordRoute(chunks, deps, {
    method: 'patch',
    path: `${chunks.path}/:${chunks.param}`,
    summary: 'Update a chunk',
    description: 'Updates the given fields. A new text is indexed again.',
    operationId: 'updateChunk',
    examples: { corrected: { text: 'Returns are free within 30 days.' } },
    body: ChunkPatch,
    response: Chunk,
    async handle({ request, params, body, session, caller }) {
      const { text } = body
      const [vector] = text === undefined ? [] : await session.clock.work(vectorsOf([text], goneWith(session, request)))
      const changed = await session.transact(() => {
        const work = workOf(session, caller)
        const record = updateRecord(chunks, work, body, params)
        if (text !== undefined && vector) work.contents.changeChunk(String(record._id), { text, vector })
        return record
      })
      return shown(chunks, changed)
    },
  }),
  recordRoute(datasources, deps, {
    path: chunks.path,
    method: 'delete',
    summary: 'Delete chunks',
    description: 'Deletes several chunks of a datasource and returns the ids that were not found.',
    operationId: 'deleteChunks',
    examples: { one: { chunk_ids: ['01JGFJJZ00Q8VN5K2ZC3R7WXYA'] } },
    body: ChunkIds,
    response: ChunksDeleted,
    handle({ params, body: { chunk_ids }, session, caller }) {
      return session.transact(() => {
        const work = workOf(session, caller)
        const ids = new Set(chunk_ids)
        const found = chunksIn(work, caller, findRecord(datasources, work, params)).filter(({ _id }) =>
          ids.delete(String(_id)),
        )
        deleteRecords(chunks, work, found, params)
        return { deleted_count: found.length, ...(ids.size > 0 && { failed_ids: [...ids] }) }
      })
    },
  }),
  recordRoute(datasources, deps, {
    method: 'post',
    path: `${chunks.path}/list`,
    summary: 'Find chunks in a datasource',
    description: 'The chunks that contain a text, in document order, by page number.',
    operationId: 'findChunks',
    examples: { returns: { q: 'returns', limit: 10 } },
    body: ChunkSearch,
    response: listOf(Chunk),
    handle({ body: { limit, page, ...filter }, session, caller, record }) {
      const found = chunksIn(session, caller, record).filter((chunk) => includesChunk(chunk, filter))
      const data = found.slice((page - 1) * limit, page * limit).map((chunk) => shown(chunks, chunk))
      return { object: 'list', data, has_more: found.length > page * limit }
    },
  }),
  recordRoute(datasources, deps, {
    method: 'post',
    path: `${chunks.path}/count`,
    summary: 'Count chunks of a datasource',
    description: 'The number of chunks that contain a text.',
    operationId: 'countChunks',
    examples: { all: {} },
    body: ChunkFilter,
    response: ChunkCount,
    handle: ({ body, session, caller, record }) => ({
      count: chunksIn(session, caller, record).filter((chunk) => includesChunk(chunk, body)).length,
    }),
  }),
]
