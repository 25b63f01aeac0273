// Chunks: the texts that searches of a knowledge base find, made from files or by clients.
import { z } from 'zod'
import { common, Ulid } from './shared.ts'

/** The metadata of a chunk. */
export const ChunkMetadata = z
  .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
  .describe('Strings, numbers, and booleans by name. Searches can filter by them.')
const embedding = z
  .array(z.number())
  .min(1)
  .max(10_000)
  .optional()
  .describe('Stored and returned by searches. Searches use vectors computed by Understudy.')
const chunk = { text: z.string().min(1).describe('Text.'), embedding, metadata: ChunkMetadata.optional() }
/** The body that creates a chunk. */
const ChunkBody = z.object(chunk)
/** Maximum number of chunks that one call can create. */
const MAX_CHUNKS = 1_000
/** The body that creates chunks. */
export const ChunksBody = z.array(ChunkBody).max(MAX_CHUNKS)
/** The body that changes one. */
export const ChunkPatch = z.object({ ...chunk, text: chunk.text.describe('The new text.') }).partial()

const STATUSES = ['pending', 'processing', 'completed', 'failed', 'queued'] as const
/** The progress of a datasource or a chunk. */
export const SourceStatus = z.enum(STATUSES)
const statuses = z.union([SourceStatus, z.array(SourceStatus)])
/** One status or several in a query: `status=a&status=b` or `status=a,b`. */
export const StatusQuery = z
  .union([z.string(), z.array(z.string())])
  .transform((value) => [value].flat().flatMap((one) => one.split(',')))
  .pipe(z.array(SourceStatus))
  .optional()
  .describe(`One status, or several separated by commas: ${STATUSES.join(', ')}.`)
/** Selects chunks. */
export const ChunkFilter = z.object({
  q: z.string().default('').describe('Text contained in the chunk. Case-insensitive.'),
  enabled: z.boolean().describe('Whether searches include it.').optional(),
  status: statuses.describe('One or several statuses.').optional(),
})
/** A page of the selected chunks. */
export const ChunkSearch = ChunkFilter.extend({
  limit: z.int().min(1).max(200).default(100).describe('Chunks per page.'),
  page: z.int().min(1).default(1).describe('Page number, from 1.'),
})
/** The response to counting the chunks of a datasource. */
export const ChunkCount = z.object({ count: z.int().min(0).describe('Number of records.') })
/** The body that deletes chunks. */
export const ChunkIds = z.object({
  chunk_ids: z.array(z.string()).min(1).max(MAX_CHUNKS).describe('Ids of the chunks.'),
})
/** The response to deleting several chunks by id. */
export const ChunksDeleted = z.object({
  deleted_count: z.int().min(0).describe('Number of deleted chunks.'),
  failed_ids: z.array(z.string()).optional().describe('Ids that were not found in the datasource.'),
})

/** A chunk in a response. */
export const Chunk = z.object({
  _id: Ulid,
  enabled: z.boolean().describe('Whether searches include it.'),
  status: SourceStatus.describe('Status.'),
  metadata: ChunkMetadata.optional(),
  datasource_id: Ulid.describe('The datasource of the chunk.'),
  knowledge_id: z.string(),
  position: z.int().describe('Position in the datasource, from 0.'),
  text: z.string().describe('Text.'),
  ...common,
})
