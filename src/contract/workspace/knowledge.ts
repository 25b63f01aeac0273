// Knowledge bases: files, the datasources made from them, and their chunks.
import { z } from 'zod'
import { describedList, describedObject } from '../core/described.ts'
import { ModelId, SearchType } from '../router/shared.ts'
import { ChunkMetadata, SourceStatus } from './chunks.ts'
import { FilterBy } from './filter.ts'
import { common, Key, Path, prefixedForm, Ulid, Uuid } from './shared.ts'

/** Form of a file's id: `file_` and a ULID. */
export const fileId = prefixedForm('file')
/** Form of a knowledge base's id: `knowledge_` and a ULID. */
export const knowledgeId = prefixedForm('knowledge')

const purpose = z.enum(['retrieval', 'knowledge_datasource', 'batch'])

/** The body that uploads a file. */
export const FileBody = z.object({
  file: z
    .file({ error: 'must be a file' })
    .describe('The document. Datasources accept txt, md, html, csv, json, pdf, and docx.'),
  purpose: purpose.describe('Purpose of the upload.').default('retrieval'),
})
/** The body that changes a file. */
export const FilePatch = z.object({
  file_name: z.string().min(1).max(255).describe('Name of the uploaded file.').optional(),
})
/** A file in a response. */
export const FileRecord = z.object({
  _id: fileId.schema,
  file_name: z.string().describe('Name of the uploaded file.'),
  content_type: z.string().describe('Media type.'),
  bytes: z.int().describe('Size in bytes.'),
  purpose: purpose.describe('Purpose of the upload.'),
  ...common,
})

const topK = z.int().min(1).max(100)
const score = z.number().min(0).max(1)
const RetrievalSettings = describedObject('Default search settings.', {
  retrieval_type: SearchType.default('hybrid_search'),
  top_k: topK.default(5).describe('Maximum number of chunks.'),
  threshold: score.default(0).describe('Minimum score of a chunk.'),
  rerank_config: describedObject('A reranking model. Stored, but not called.', {
    rerank_model: ModelId,
    top_k: topK.describe('Maximum number of chunks after reranking.').default(5),
    rerank_threshold: score.describe('Minimum score after reranking.').default(0.5),
  }).nullish(),
  agentic_rag_config: describedObject('An agentic search model. Stored, but not called.', { model: ModelId }).nullish(),
})

const ExternalConfig = describedObject('A knowledge base somewhere else: kept, and never called.', {
  name: z.string().min(1).describe('Name.'),
  api_url: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).describe('URL. It is not called.'),
})
const ExternalConfigBody = ExternalConfig.extend({
  api_key: z.string().describe('API key. Not stored, because nothing is called.'),
}).describe('Location of an external knowledge base. It is never called.')

const base = {
  key: Key.describe('Must be unique in the workspace.'),
  display_name: z.string().min(1).optional(),
  description: z.string().optional(),
  path: Path,
}
const internal = { embedding_model: ModelId, retrieval_settings: RetrievalSettings.optional() }
const withDefaults = { ...base, path: Path.default('Default') }

/** The body that creates a knowledge base whose chunks are stored here. */
export const InternalKnowledgeBody = z.object({
  type: z.literal('internal').default('internal'),
  ...withDefaults,
  ...internal,
  embedding_model: ModelId.default('openai/text-embedding-3-small').describe(
    'Stored. Understudy computes its own vectors.',
  ),
})
/** The body that creates a knowledge base. */
export const KnowledgeBody = z.discriminatedUnion('type', [
  InternalKnowledgeBody,
  z.object({ type: z.literal('external'), ...withDefaults, external_config: ExternalConfigBody }),
])
/** The body that changes one. The type cannot change. */
export const KnowledgePatch = z
  .object({
    type: z.enum(['internal', 'external']).describe('The current value. It cannot be changed.'),
    ...base,
    ...internal,
    external_config: ExternalConfigBody,
  })
  .partial()
/** A knowledge base in a response. */
export const Knowledge = z.object({
  _id: knowledgeId.schema,
  type: z.enum(['internal', 'external']).describe('Whether the knowledge base is internal or external.'),
  ...base,
  model: ModelId.optional().describe('Embedding model. Only for internal knowledge bases.'),
  retrieval_settings: RetrievalSettings.optional(),
  external_config: ExternalConfig.optional().describe('Only for external knowledge bases.'),
  domain_id: Uuid.describe('The project.'),
  project_id: Uuid,
  ...common,
})
/** The stored search settings of a knowledge base. */
export type RetrievalSettings = z.infer<typeof RetrievalSettings>

const cleanUps = describedObject('Cleanup before chunking. Default: all.', {
  delete_emails: z.boolean().describe('Whether to remove e-mail addresses.').default(true),
  delete_credit_cards: z.boolean().describe('Whether to remove credit card numbers.').default(true),
  delete_phone_numbers: z.boolean().describe('Whether to remove telephone numbers.').default(true),
  clean_bullet_points: z.boolean().describe('Whether to remove list bullets.').default(true),
  clean_numbered_list: z.boolean().describe('Whether to remove list numbers.').default(true),
  clean_unicode: z.boolean().describe('Whether to replace or remove non-ASCII characters.').default(true),
  clean_dashes: z.boolean().describe('Whether to replace dashes with spaces.').default(true),
  clean_whitespaces: z.boolean().describe('Whether to collapse whitespace.').default(true),
})
const configuration = z.discriminatedUnion('type', [
  z.object({ type: z.literal('default') }),
  z
    .object({
      type: z.literal('advanced'),
      chunk_max_characters: z
        .int()
        .min(1)
        .max(100_000)
        .describe('Maximum number of characters per chunk.')
        .default(500),
      chunk_overlap: z.int().min(0).describe('Number of characters shared with the previous chunk.').default(0),
    })
    .refine((options) => options.chunk_overlap < options.chunk_max_characters, {
      error: 'must be less than chunk_max_characters',
      path: ['chunk_overlap'],
    }),
])
/** How a file is cut into chunks. */
export const ChunkingOptions = describedObject('How to chunk the file. Default: standard chunking.', {
  chunking_configuration: configuration
    .describe('Standard chunking, or chunking with a custom size.')
    .prefault({ type: 'default' }),
  chunking_cleanup_options: cleanUps.prefault({}),
})
export type ChunkingOptions = z.infer<typeof ChunkingOptions>

const source = {
  display_name: z.string().min(1).optional().describe('Default: the file name.'),
  description: z.string().optional(),
}
/** The body that creates a datasource. */
export const DatasourceBody = z.object({
  ...source,
  file_id: z.string().nullish().describe('File to chunk. It is queued immediately.'),
  chunking_options: ChunkingOptions.optional(),
})
/** The body that changes one. */
export const DatasourcePatch = z.object(source)
/** A datasource in a response. */
export const Datasource = z.object({
  _id: Ulid,
  display_name: z.string(),
  description: z.string().optional(),
  status: SourceStatus.describe('Processing status. Searches include it when it is `completed`.'),
  knowledge_id: knowledgeId.schema,
  chunks_count: z.int().describe('Number of chunks.'),
  file_id: fileId.schema.describe('The source file.').nullish(),
  error: z.string().optional().describe('Why it failed.'),
  update_by_id: Uuid.describe('The last editor: the user of the token.'),
  ...common,
})

/** The body that searches a knowledge base. */
export const SearchBody = z.object({
  query: z.string().min(1).describe('Search query.'),
  top_k: topK.optional().describe('Maximum number of chunks. Default: the setting of the knowledge base, or 5.'),
  threshold: score.optional().describe('Minimum score. Default: the setting of the knowledge base, or 0.'),
  search_type: SearchType.optional(),
  filter_by: FilterBy.optional(),
  search_options: z
    .object({
      include_vectors: z.boolean().describe('Whether to include vectors.').default(false),
      include_metadata: z.boolean().describe('Whether to include metadata.').default(true),
      include_scores: z.boolean().describe('Whether to include scores.').default(true),
    })
    .prefault({})
    .describe('What to include for each match.'),
  rerank_config: z
    .looseObject({
      model: ModelId.optional(),
      top_k: z.int().min(1).describe('Maximum number of chunks after reranking.').optional(),
      threshold: z.number().describe('Minimum score after reranking.').optional(),
    })
    .nullish()
    .describe('Rerank settings. No model is called; `top_k` and `threshold` apply to the search scores.'),
})
/** The result of a search, best first. */
export const SearchAnswer = z.object({
  matches: describedList('The matching chunks, best first.', {
    id: Ulid.describe('Id of the chunk.'),
    text: z.string().describe('Text of the chunk.'),
    vector: z
      .array(z.number())
      .describe('The vector, if requested: the given `embedding`, or one computed by Understudy.')
      .optional(),
    metadata: ChunkMetadata.optional(),
    scores: describedObject('Score: 1 is best.', {
      search_score: z.number().describe('The search score, by words, vectors, or both.'),
      rerank_score: z.number().describe('Same as the search score, because no rerank model is called.').optional(),
    }).optional(),
  }),
})
