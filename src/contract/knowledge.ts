// Knowledge bases: files, the datasources made of them, and the chunks that answers are found in.
import { z } from 'zod'
import { CLEAN_UPS } from '../lib/chunking.ts'
import { ChunkMetadata, SourceStatus } from './chunks.ts'
import { FilterBy } from './filter.ts'
import { ModelId, SearchType } from './shared.ts'
import { common, Key, Path, prefixedForm, Ulid, Uuid } from './workspace.ts'

export const fileId = prefixedForm('file')
export const knowledgeId = prefixedForm('knowledge')

/** What a file may be for. */
export const FILE_PURPOSES = ['retrieval', 'knowledge_datasource', 'batch'] as const
const purpose = z.enum(FILE_PURPOSES)

/** What uploads a file. */
export const FileBody = z.object({
  file: z
    .file({ error: 'must be a file' })
    .describe('The document: txt, md, html, csv, json, pdf or docx can be made a datasource.'),
  purpose: purpose.default('retrieval'),
})
/** What changes a file. */
export const FilePatch = z.object({ file_name: z.string().min(1).max(255).optional() })
/** A file as it is answered. */
export const FileRecord = z.object({
  _id: fileId.schema,
  file_name: z.string(),
  content_type: z.string(),
  bytes: z.int(),
  purpose,
  ...common,
})

const RetrievalSettings = z
  .object({
    retrieval_type: SearchType.default('hybrid_search'),
    top_k: z.int().min(1).max(100).default(5).describe('Most chunks.'),
    threshold: z.number().min(0).max(1).default(0).describe('Least score of a chunk.'),
    rerank_config: z
      .object({
        rerank_model: ModelId,
        top_k: z.int().min(1).max(100).default(5),
        rerank_threshold: z.number().min(0).max(1).default(0.5),
      })
      .nullish(),
    agentic_rag_config: z.object({ model: ModelId }).nullish(),
  })
  .describe('How it is searched when a search does not say.')

const ExternalConfig = z
  .object({ name: z.string().min(1), api_url: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }) })
  .describe('A knowledge base somewhere else: kept, and never called.')
const ExternalConfigBody = ExternalConfig.extend({ api_key: z.string().describe('Not kept: nothing is called.') })

const base = {
  key: Key.describe('Unique in the workspace.'),
  display_name: z.string().min(1).optional(),
  description: z.string().optional(),
  path: Path,
}
const internal = { embedding_model: ModelId, retrieval_settings: RetrievalSettings.optional() }
/** The embedding model of a knowledge base that names none. */
export const EMBEDDING_MODEL = 'openai/text-embedding-3-small'
const withDefaults = { ...base, path: Path.default('Default') }

/** What makes a knowledge base whose chunks are here. */
export const InternalKnowledgeBody = z.object({
  type: z.literal('internal').default('internal'),
  ...withDefaults,
  ...internal,
  embedding_model: ModelId.default(EMBEDDING_MODEL).describe('Kept; the vectors are our own.'),
})
/** What makes a knowledge base. */
export const KnowledgeBody = z.discriminatedUnion('type', [
  InternalKnowledgeBody,
  z.object({ type: z.literal('external'), ...withDefaults, external_config: ExternalConfigBody }),
])
/** What changes one; its type stays. */
export const KnowledgePatch = z
  .object({ type: z.enum(['internal', 'external']), ...base, ...internal, external_config: ExternalConfigBody })
  .partial()
/** A knowledge base as it is answered. */
export const Knowledge = z.object({
  _id: knowledgeId.schema,
  type: z.enum(['internal', 'external']),
  ...base,
  model: ModelId.optional().describe('The embedding model of an internal one.'),
  retrieval_settings: RetrievalSettings.optional(),
  external_config: ExternalConfig.optional().describe('Only of an external one.'),
  domain_id: Uuid.describe('The project.'),
  project_id: Uuid,
  ...common,
})
/** What a stored knowledge base says of searches. */
export type RetrievalSettings = z.infer<typeof RetrievalSettings>

const cleanUps = z
  .object(Object.fromEntries(Object.keys(CLEAN_UPS).map((name) => [name, z.boolean().default(true)])))
  .describe('What is taken out of the text first; everything when left out.')
const configuration = z.discriminatedUnion('type', [
  z.object({ type: z.literal('default') }),
  z
    .object({
      type: z.literal('advanced'),
      chunk_max_characters: z.int().min(1).max(100_000).default(500),
      chunk_overlap: z.int().min(0).default(0),
    })
    .refine((given) => given.chunk_overlap < given.chunk_max_characters, {
      error: 'must be less than chunk_max_characters',
      path: ['chunk_overlap'],
    }),
])
/** How a file is cut into chunks. */
export const ChunkingOptions = z
  .object({
    chunking_configuration: configuration.prefault({ type: 'default' }),
    chunking_cleanup_options: cleanUps.prefault({}),
  })
  .describe('How the file is cut; standard chunking when left out.')
export type ChunkingOptions = z.infer<typeof ChunkingOptions>

const source = {
  display_name: z.string().min(1).optional().describe('The name of the file when left out.'),
  description: z.string().optional(),
}
/** What makes a datasource. */
export const DatasourceBody = z.object({
  ...source,
  file_id: z.string().nullish().describe('When given, the file is queued for chunking at once.'),
  chunking_options: ChunkingOptions.optional(),
})
/** What changes one. */
export const DatasourcePatch = z.object(source)
/** A datasource as it is answered. */
export const Datasource = z.object({
  _id: Ulid,
  display_name: z.string(),
  description: z.string().optional(),
  status: SourceStatus,
  knowledge_id: knowledgeId.schema,
  chunks_count: z.int(),
  file_id: fileId.schema.nullish(),
  error: z.string().optional().describe('Why it has failed.'),
  update_by_id: Uuid,
  ...common,
})

/** What searches a knowledge base. */
export const SearchBody = z.object({
  query: z.string().min(1),
  top_k: z.int().min(1).max(100).optional().describe('Most chunks; that of the knowledge base when left out, else 5.'),
  threshold: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe('Least score; that of the knowledge base when left out, else 0.'),
  search_type: SearchType.optional(),
  filter_by: FilterBy.optional(),
  search_options: z
    .object({
      include_vectors: z.boolean().default(false),
      include_metadata: z.boolean().default(true),
      include_scores: z.boolean().default(true),
    })
    .prefault({})
    .describe('What is said of each match.'),
  rerank_config: z
    .looseObject({ model: ModelId.optional(), top_k: z.int().min(1).optional(), threshold: z.number().optional() })
    .nullish()
    .describe('No model is asked: the score of the search stands, and `top_k` and `threshold` hold.'),
})
/** What it finds, best first. */
export const SearchAnswer = z.object({
  matches: z.array(
    z.object({
      id: Ulid,
      text: z.string(),
      vector: z.array(z.number()).optional(),
      metadata: ChunkMetadata.optional(),
      scores: z.object({ search_score: z.number(), rerank_score: z.number().optional() }).optional(),
    }),
  ),
})
