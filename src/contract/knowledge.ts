// Knowledge bases: files, the datasources made of them, and the chunks that answers are found in.
import { z } from 'zod'
import { CLEAN_UPS } from '../lib/chunking.ts'
import { FilterBy } from './filter.ts'
import { SearchType } from './shared.ts'
import { common, Key, Path, prefixedForm, Ulid, Uuid } from './workspace.ts'

export const fileId = prefixedForm('file')
export const knowledgeId = prefixedForm('knowledge')

/** What uploads a file. */
export const FileBody = z.object({
  file: z
    .file({ error: 'must be a file' })
    .describe('The document: txt, md, html, csv, json, pdf or docx can be made a datasource.'),
  purpose: z.string().default('retrieval'),
})
/** A file as it is answered. */
export const FileRecord = z.object({
  _id: fileId.schema,
  file_name: z.string(),
  content_type: z.string(),
  bytes: z.int(),
  purpose: z.string(),
  ...common,
})

const base = {
  key: Key.describe('Unique in the workspace.'),
  display_name: z.string().min(1).optional(),
  description: z.string().optional(),
  path: Path,
}
/** What makes a knowledge base. */
export const KnowledgeBody = z.object({ ...base, path: Path.default('Default') })
/** What changes one. */
export const KnowledgePatch = z.object(base).partial()
/** A knowledge base as it is answered. */
export const Knowledge = z.object({ _id: knowledgeId.schema, ...base, project_id: Uuid, ...common })

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
  status: z.enum(['pending', 'processing', 'completed', 'failed', 'queued']),
  knowledge_id: knowledgeId.schema,
  chunks_count: z.int(),
  file_id: fileId.schema.nullish(),
  error: z.string().optional().describe('Why it has failed.'),
  update_by_id: Uuid,
  ...common,
})

/** A chunk as it is answered. */
export const Chunk = z.object({
  _id: Ulid,
  datasource_id: Ulid,
  knowledge_id: knowledgeId.schema,
  position: z.int().describe('Its place in the datasource, from 0.'),
  text: z.string(),
  ...common,
})

/** What searches a knowledge base. */
export const SearchBody = z.object({
  query: z.string().min(1),
  top_k: z.int().min(1).max(100).default(5).describe('Most chunks.'),
  threshold: z.number().min(0).max(1).default(0).describe('Least score.'),
  search_type: SearchType.default('hybrid_search'),
  filter_by: FilterBy.optional(),
})
/** What it finds, best first. */
export const SearchAnswer = z.object({
  object: z.literal('list'),
  data: z.array(z.object({ score: z.number(), chunk: Chunk })),
})
