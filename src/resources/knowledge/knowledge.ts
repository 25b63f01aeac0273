// Knowledge bases, their datasources and chunks. A datasource with a file is queued, and chunked by an event.

import { z } from 'zod'
import { ApiError } from '../../contract/core/error.ts'
import { Chunk, StatusQuery } from '../../contract/workspace/chunks.ts'
import {
  Datasource,
  DatasourceBody,
  DatasourcePatch,
  Knowledge,
  KnowledgeBody,
  KnowledgePatch,
  knowledgeId,
} from '../../contract/workspace/knowledge.ts'
import type { Fields } from '../../contract/workspace/record.ts'
import { quote } from '../../schema/validation.ts'
import { defineResource, PAGED, recordOf, type Transaction } from '../define.ts'
import { projectOfRecord } from '../projects.ts'
import { saveRecord } from '../verbs.ts'
import { dispatch } from './events.ts'
import { files } from './files.ts'

/** Knowledge bases. */
export const knowledgeBases = defineResource({
  kind: 'knowledge',
  noun: 'knowledge base',
  tag: 'Knowledge',
  path: '/v2/knowledge',
  param: 'knowledge_id',
  id: knowledgeId,
  examples: {
    create: {
      handbook: { key: 'handbook', embedding_model: 'openai/text-embedding-3-small', path: 'Default' },
      external: {
        type: 'external',
        key: 'wiki',
        external_config: { name: 'Wiki', api_url: 'https://wiki.example/search', api_key: 'secret' },
      },
    },
    update: { described: { description: 'What customers ask most.' } },
  },
  descriptions: {
    create:
      'Creates a knowledge base. An external one is stored without its API key and never called; searching it returns an error.',
  },
  create: KnowledgeBody,
  update: KnowledgePatch,
  record: Knowledge,
  key: 'key',
  named: true,
  deletedStatus: 204,
  ...PAGED,
  fill: ({ external_config: external, ...input }, work, { before }) => ({
    ...input,
    ...(external !== undefined && { external_config: { ...(external as Fields), api_key: undefined } }),
    project_id: projectOfRecord(work, input, before),
  }),
  merge: mergedKnowledge,
  show: shownKnowledge,
})

/** The key of an external base is not stored, but a client's configuration must have one. */
function mergedKnowledge(before: Fields, patch: Fields): Fields {
  if (patch.type !== undefined && patch.type !== before.type) {
    const message = `'type' must stay ${quote(before.type)}, got ${quote(patch.type)}`
    throw new ApiError(400, 'invalid_value', message, { param: 'type' })
  }
  const foreign = before.type === 'internal' ? ['external_config'] : ['embedding_model', 'retrieval_settings']
  for (const param of foreign)
    if (patch[param] !== undefined) {
      const message = `'${param}' is not for knowledge bases of type ${quote(before.type)}`
      throw new ApiError(400, 'invalid_value', message, { param })
    }
  const merged = { ...before, ...patch }
  return before.type === 'internal'
    ? merged
    : { ...merged, external_config: { api_key: '', ...(merged.external_config as Fields) } }
}

/**
 * Rejects an external knowledge base, which is stored here, but not called.
 * @throws ApiError 400
 */
export function rejectExternal({ type, key }: Fields, param: string): void {
  if (type !== 'external') return
  const message = `the knowledge base ${quote(key)} is external: Understudy stores it, but does not call it`
  throw new ApiError(400, 'knowledge_is_external', message, { param })
}

/** A knowledge base as clients see it, its type first. */
function shownKnowledge({ type, embedding_model: model, ...base }: Fields): Fields {
  return { type, ...base, ...(type === 'internal' && { model }), domain_id: base.project_id }
}

/** The type of the event for a file that waits to be chunked. */
export const QUEUED = 'datasource.queued'

/** Datasources of a knowledge base (the specification, "Datasource"). */
export const datasources = defineResource({
  kind: 'datasource',
  noun: 'datasource',
  tag: 'Knowledge',
  path: '/v2/knowledge/:knowledge_id/datasources',
  param: 'datasource_id',
  parent: knowledgeBases,
  shown: ['create'],
  deletedStatus: 204,
  mostInPage: PAGED.mostInPage,
  filter: {
    query: {
      q: z.string().optional().describe('Text contained in the name. Case-insensitive.'),
      status: StatusQuery,
    },
    includes: ({ display_name, status }, { q, status: expected }) =>
      holdsText(display_name, q) && isAmong(status, expected),
  },
  descriptions: {
    create:
      "Creates a datasource. With a `file_id`, its status changes from `queued` to `processing`, and to `completed` when its chunks are searchable, or to `failed` if the file cannot be read. Processing runs on the session's clock.",
  },
  examples: {
    create: { empty: { display_name: 'Returns' } },
    update: { renamed: { display_name: 'Returns and refunds' } },
  },
  create: DatasourceBody,
  update: DatasourcePatch,
  record: Datasource,
  fill(input, work, { parents, before }) {
    rejectExternal(recordOf(knowledgeBases, work, parents[0] ?? '').body, 'knowledge_id')
    const file =
      typeof input.file_id === 'string' && !before ? recordOf(files, work, input.file_id, 'file_id').body : null
    return {
      ...input,
      display_name: input.display_name ?? file?.file_name ?? 'Untitled',
      knowledge_id: parents[0],
      status: before?.status ?? (file ? 'queued' : 'pending'),
      chunks_count: before?.chunks_count ?? 0,
      ...(before?.error !== undefined && { error: before.error }),
    }
  },
  // The specification spells the field so.
  stamp: () => (body) => ({ ...body, update_by_id: body.updated_by_id }),
  changed(work, { verb, parents, records }) {
    for (const { _id, status } of records)
      if (verb === 'create' && status === 'queued')
        dispatch(work, {
          type: QUEUED,
          subject: String(_id),
          data: { knowledge_id: parents[0], datasource_id: _id },
        })
  },
  show: ({ chunking_options: _, tries: __, ...datasource }) => datasource,
})

/** Chunks of a datasource. */
export const chunks = defineResource({
  kind: 'chunk',
  noun: 'chunk',
  tag: 'Knowledge',
  path: '/v2/knowledge/:knowledge_id/datasources/:datasource_id/chunks',
  param: 'chunk_id',
  parent: datasources,
  deletedStatus: 204,
  ...PAGED,
  verbs: ['list', 'get', 'delete'],
  record: Chunk,
  filter: {
    query: {
      q: z.string().optional().describe('Text contained in the chunk. Case-insensitive.'),
      status: StatusQuery,
    },
    includes: includesChunk,
  },
  changed(work, { verb, parents, records: { length } }) {
    // Callers that create chunks count them.
    if (verb === 'delete') countChunks(work, parents, -length)
  },
  // Clients see these two first.
  show: ({ embedding: _, enabled, status, ...chunk }) => ({ enabled, status, ...chunk }),
})

/** Updates the chunk count of a datasource, which is completed, even if its file could not be read. */
export function countChunks(work: Transaction, [knowledge = '', datasource = '']: readonly string[], by: number): void {
  const before = recordOf(datasources, work, datasource).body
  const { error: _, ...source } = before
  const body = { ...source, status: 'completed', chunks_count: Math.max(0, Number(before.chunks_count) + by) }
  saveRecord(datasources, work, { parents: [knowledge], before }, body)
}

const holdsText = (text: unknown, expected: unknown): boolean =>
  expected === undefined || String(text).toLowerCase().includes(String(expected).toLowerCase())
const isAmong = (value: unknown, expected: unknown): boolean =>
  expected === undefined || (Array.isArray(expected) ? expected.includes(value) : expected === value)

/** Whether a filter selects a chunk. */
export function includesChunk(chunk: Fields, { q, enabled, status }: Fields): boolean {
  return holdsText(chunk.text, q) && isAmong(chunk.enabled, enabled) && isAmong(chunk.status, status)
}
