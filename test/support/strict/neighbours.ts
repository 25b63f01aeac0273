// What a strict client of the operations beside the twenty accepts, written from what such clients declare: a status that is
// not the one, a field that is missing, null where nothing says so, or another value of a closed list make it throw.
import { z } from 'zod'
import { strictAgent } from './agents.ts'
import { strict } from './workspace.ts'

const text = z.string()
const by = { created_by_id: text.optional(), updated_by_id: text.optional() }
const times = { created: text, updated: text }
const list = <Item extends z.ZodType>(item: Item) =>
  z.looseObject({ object: z.literal('list'), data: z.array(item), has_more: z.boolean() })
const known = (kind: string) => strict[kind] as z.ZodType<Record<string, unknown>>

const file = z.looseObject({
  _id: text,
  bytes: z.int(),
  created: text,
  file_name: text,
  purpose: z.enum(['retrieval', 'knowledge_datasource', 'batch']),
  workspace_id: text,
})

const model = z.looseObject({ model: text })
const searchType = z.enum(['hybrid_search', 'vector_search', 'keyword_search'])
const knowledge = {
  _id: text,
  key: text,
  ...times,
  domain_id: text,
  description: text.optional(),
  path: text.optional(),
  ...by,
  retrieval_settings: z
    .looseObject({
      retrieval_type: searchType.optional(),
      top_k: z.number().optional(),
      threshold: z.number().optional(),
      rerank_config: z
        .looseObject({ rerank_model: text, top_k: z.number().optional(), rerank_threshold: z.number().optional() })
        .nullish(),
      agentic_rag_config: model.nullish(),
    })
    .optional(),
}
const knowledgeBase = z.discriminatedUnion('type', [
  z.looseObject({ ...knowledge, type: z.literal('internal'), model: text }),
  z.looseObject({
    ...knowledge,
    type: z.literal('external'),
    external_config: z.strictObject({ name: text, api_url: text }),
  }),
])
const flat = z.record(text, z.union([text, z.number(), z.boolean()]))
const matches = z.strictObject({
  matches: z.array(
    z.looseObject({
      id: text,
      text,
      vector: z.array(z.number()).optional(),
      metadata: flat.optional(),
      scores: z.looseObject({ rerank_score: z.number().optional(), search_score: z.number().optional() }).optional(),
    }),
  ),
})
const chunk = z.looseObject({
  _id: text,
  text,
  enabled: z.boolean(),
  status: z.enum(['pending', 'processing', 'completed', 'failed', 'queued']),
  ...times,
  ...by,
  metadata: flat.optional(),
})

const llm = known('evaluator')
const evaluator = z.union([
  llm,
  z.looseObject({
    _id: text,
    key: text,
    type: z.literal('json_schema'),
    description: text,
    created: text.optional(),
    updated: text.optional(),
    guardrail_config: z.looseObject({ enabled: z.boolean() }).nullish(),
    schema: text,
  }),
])
const value = z.union([z.number(), z.boolean(), text]).nullable()
const invoked = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('boolean'), value: z.union([z.boolean(), text, z.number()]).nullable() }),
  z.looseObject({
    type: z.literal('llm_evaluator'),
    value: z.looseObject({ workflow_run_id: text, value, explanation: text.nullish() }),
  }),
])

const store = z.strictObject({
  _id: text,
  key: text,
  description: text,
  embedding_config: model,
  ttl: z.number().optional(),
  ...times,
  ...by,
})
const inStore = { _id: text, store_id: text, workspace_id: text, ...times, ...by }
const metadata = z.record(text, text).optional()
const memory = z.looseObject({ ...inStore, entity_id: text, documents_count: z.number(), metadata })
const document = z.looseObject({ ...inStore, memory_id: text, text, metadata })

/** What such a client parses of each good answer. */
export const neighbours = {
  dataset: known('dataset'),
  datasets: list(known('dataset')),
  datapoint: known('datapoint'),
  newDatapoints: z.array(known('datapoint')),
  datapoints: list(known('datapoint')),
  file,
  files: z.looseObject({ object: z.literal('list'), data: z.array(file).nullable(), has_more: z.boolean() }),
  knowledgeBase,
  knowledgeBases: list(knowledgeBase),
  matches,
  datasource: known('datasource'),
  datasources: list(known('datasource')),
  chunk,
  newChunks: z.array(chunk),
  chunks: list(chunk),
  chunkCount: z.looseObject({ count: z.number() }),
  chunksDeleted: z.looseObject({ deleted_count: z.number(), failed_ids: z.array(text).optional() }),
  evaluator,
  evaluators: list(evaluator),
  invoked,
  reviewSet: known('human_review_set'),
  reviewSets: z.array(known('human_review_set')),
  tool: known('tool'),
  tools: list(known('tool')),
  versions: list(known('version')),
  contact: known('contact'),
  contacts: list(known('contact')),
  agent: strictAgent,
  agents: list(strictAgent),
  store,
  stores: list(store),
  memory,
  memories: list(memory),
  document,
  documents: list(document),
} as const
/** The name of such an answer. */
export type Neighbour = keyof typeof neighbours

/** The 404 that such a client parses; on a tool that is changed, `error` is a text. */
export const strictNotFound = z.looseObject({ code: text.optional(), message: text })
export const strictTextNotFound = z.looseObject({ error: text, message: text })
