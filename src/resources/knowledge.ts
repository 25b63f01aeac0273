// Knowledge bases, their datasources and chunks. A datasource with a file is queued, and cut into chunks by an event.
import {
  Chunk,
  Datasource,
  DatasourceBody,
  DatasourcePatch,
  Knowledge,
  KnowledgeBody,
  KnowledgePatch,
  knowledgeId,
} from '../contract/knowledge.ts'
import { ulidForm } from '../contract/workspace.ts'
import { defineResource, recordOf } from './define.ts'
import { dispatch } from './events.ts'
import { files } from './files.ts'
import { projectOf } from './projects.ts'

const VERBS = ['create', 'list', 'get', 'update', 'delete'] as const

export const knowledgeBases = defineResource({
  kind: 'knowledge',
  noun: 'knowledge base',
  plural: 'knowledge bases',
  tag: 'Knowledge',
  path: '/v2/knowledge',
  param: 'knowledge_id',
  id: knowledgeId,
  verbs: VERBS,
  examples: {
    create: { help: { key: 'help', display_name: 'Help pages', path: 'Default' } },
    update: { described: { description: 'What customers ask most.' } },
  },
  create: KnowledgeBody,
  update: KnowledgePatch,
  record: Knowledge,
  key: 'key',
  fill: (input, work) => ({ ...input, project_id: projectOf(work, String(input.path)) }),
})

/** The event that a file waits to be cut. */
export const QUEUED = 'datasource.queued'

export const datasources = defineResource({
  kind: 'datasource',
  noun: 'datasource',
  plural: 'datasources',
  tag: 'Knowledge',
  path: '/v2/knowledge/:knowledge_id/datasources',
  param: 'datasource_id',
  parent: knowledgeBases,
  id: ulidForm,
  verbs: VERBS,
  shown: ['create'],
  descriptions: {
    create:
      "Makes a datasource. With a `file_id` it is `queued`, then `processing`, and `completed` once its chunks can be found; `failed` when the file cannot be read. All of it happens on the session's clock.",
  },
  examples: {
    create: { empty: { display_name: 'Returns' } },
    update: { renamed: { display_name: 'Returns and refunds' } },
  },
  create: DatasourceBody,
  update: DatasourcePatch,
  record: Datasource,
  fill(input, work, { parents, before }) {
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
  // The field is spelled so in the specification.
  stamp: (body) => ({ ...body, update_by_id: body.updated_by_id }),
  changed(work, { verb, parents, record }) {
    if (verb === 'create' && record.status === 'queued') {
      dispatch(work, {
        type: QUEUED,
        subject: String(record._id),
        data: { knowledge_id: parents[0], datasource_id: record._id },
      })
    }
  },
  show: ({ chunking_options: _, ...datasource }) => datasource,
})

export const chunks = defineResource({
  kind: 'chunk',
  noun: 'chunk',
  plural: 'chunks',
  tag: 'Knowledge',
  path: '/v2/knowledge/:knowledge_id/datasources/:datasource_id/chunks',
  param: 'chunk_id',
  parent: datasources,
  id: ulidForm,
  verbs: ['list', 'get'],
  record: Chunk,
})
