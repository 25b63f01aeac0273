// Knowledge bases: files, the datasources made of them, and the chunks that answers are found in.
import { z } from 'zod'
import { ModelId, SearchType } from '../router/shared.ts'
import { ChunkMetadata, SourceStatus } from './chunks.ts'
import { FilterBy } from './filter.ts'
import { common, Key, Path, prefixedForm, Ulid, Uuid } from './shared.ts'

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
  purpose: purpose.describe('What it was uploaded for.').default('retrieval'),
})
/** What changes a file. */
export const FilePatch = z.object({
  file_name: z.string().min(1).max(255).describe('Name of the file as it was uploaded.').optional(),
})
/** A file as it is answered. */
export const FileRecord = z.object({
  _id: fileId.schema,
  file_name: z.string().describe('Name of the file as it was uploaded.'),
  content_type: z.string().describe('Media type.'),
  bytes: z.int().describe('Its size.'),
  purpose: purpose.describe('What it was uploaded for.'),
  ...common,
})

const RetrievalSettings = z
  .object({
    retrieval_type: SearchType.default('hybrid_search'),
    top_k: z.int().min(1).max(100).default(5).describe('Maximum number of chunks.'),
    threshold: z.number().min(0).max(1).default(0).describe('Minimum score of a chunk.'),
    rerank_config: z
      .object({
        rerank_model: ModelId,
        top_k: z.int().min(1).max(100).describe('Most chunks after it.').default(5),
        rerank_threshold: z.number().min(0).max(1).describe('Least score after it.').default(0.5),
      })
      .describe('A model that orders what was found; kept, and not asked.')
      .nullish(),
    agentic_rag_config: z
      .object({ model: ModelId })
      .describe('A model that searches by itself; kept, and not asked.')
      .nullish(),
  })
  .describe('How it is searched when a search does not say.')

const ExternalConfig = z
  .object({
    name: z.string().min(1).describe('Name.'),
    api_url: z
      .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
      .describe('Its address. Nothing is sent.'),
  })
  .describe('A knowledge base somewhere else: kept, and never called.')
const ExternalConfigBody = ExternalConfig.extend({ api_key: z.string().describe('Not kept: nothing is called.') })

const base = {
  key: Key.describe('Must be unique in the workspace.'),
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
  z.object({
    type: z.literal('external'),
    ...withDefaults,
    external_config: ExternalConfigBody.describe('Where an external one is. It is never called.'),
  }),
])
/** What changes one; its type stays. */
export const KnowledgePatch = z
  .object({
    type: z.enum(['internal', 'external']).describe('That which it has: it stays.'),
    ...base,
    ...internal,
    external_config: ExternalConfigBody.describe('Where an external one is. It is never called.'),
  })
  .partial()
/** A knowledge base as it is answered. */
export const Knowledge = z.object({
  _id: knowledgeId.schema,
  type: z.enum(['internal', 'external']).describe('Whether its chunks are here or somewhere else.'),
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
  .object({
    delete_emails: z.boolean().describe('Whether e-mail addresses are taken out.').default(true),
    delete_credit_cards: z.boolean().describe('Whether numbers of credit cards are taken out.').default(true),
    delete_phone_numbers: z.boolean().describe('Whether telephone numbers are taken out.').default(true),
    clean_bullet_points: z.boolean().describe('Whether the marks of lists are taken out.').default(true),
    clean_numbered_list: z.boolean().describe('Whether the numbers of lists are taken out.').default(true),
    clean_unicode: z.boolean().describe('Whether characters beyond ASCII are replaced or taken out.').default(true),
    clean_dashes: z.boolean().describe('Whether dashes become spaces.').default(true),
    clean_whitespaces: z.boolean().describe('Whether runs of white space become one space.').default(true),
  })
  .describe('What is taken out of the text first; everything when left out.')
const configuration = z.discriminatedUnion('type', [
  z.object({ type: z.literal('default') }),
  z
    .object({
      type: z.literal('advanced'),
      chunk_max_characters: z.int().min(1).max(100_000).describe('Most characters of a chunk.').default(500),
      chunk_overlap: z.int().min(0).describe('How many characters a chunk shares with the one before.').default(0),
    })
    .refine((given) => given.chunk_overlap < given.chunk_max_characters, {
      error: 'must be less than chunk_max_characters',
      path: ['chunk_overlap'],
    }),
])
/** How a file is cut into chunks. */
export const ChunkingOptions = z
  .object({
    chunking_configuration: configuration
      .describe('Standard chunks, or chunks of a size of your own.')
      .prefault({ type: 'default' }),
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
  status: SourceStatus.describe('How far it has come; it can be searched when it is `completed`.'),
  knowledge_id: knowledgeId.schema,
  chunks_count: z.int().describe('How many chunks it has.'),
  file_id: fileId.schema.describe('The file that it was cut from.').nullish(),
  error: z.string().optional().describe('Why it has failed.'),
  update_by_id: Uuid.describe('The last editor: the user of the token.'),
  ...common,
})

/** What searches a knowledge base. */
export const SearchBody = z.object({
  query: z.string().min(1).describe('What is looked for, in words.'),
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
      include_vectors: z.boolean().describe('Whether matches have their vectors.').default(false),
      include_metadata: z.boolean().describe('Whether matches have their metadata.').default(true),
      include_scores: z.boolean().describe('Whether matches have their scores.').default(true),
    })
    .prefault({})
    .describe('What is said of each match.'),
  rerank_config: z
    .looseObject({
      model: ModelId.optional(),
      top_k: z.int().min(1).describe('Most chunks after it.').optional(),
      threshold: z.number().describe('Least score after it.').optional(),
    })
    .nullish()
    .describe('No model is asked: the score of the search stands, and `top_k` and `threshold` hold.'),
})
/** What it finds, best first. */
export const SearchAnswer = z.object({
  matches: z
    .array(
      z.object({
        id: Ulid.describe('Id of the chunk.'),
        text: z.string().describe('What the chunk says.'),
        vector: z
          .array(z.number())
          .describe('Its vector, when asked for: the `embedding` that was given, else our own.')
          .optional(),
        metadata: ChunkMetadata.optional(),
        scores: z
          .object({
            search_score: z.number().describe('The score by words, vectors or both.'),
            rerank_score: z.number().describe('The same: no model is asked to rerank.').optional(),
          })
          .describe('How well it fits: 1 is best.')
          .optional(),
      }),
    )
    .describe('The chunks that were found, best first.'),
})
