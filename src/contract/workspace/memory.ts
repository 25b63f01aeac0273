// Memory stores, the memories of entities in them, and the documents of a memory.
import { z } from 'zod'
import { ModelId } from '../router/shared.ts'
import { common, Key, Path, Ulid, Uuid } from './shared.ts'

const by = { created_by_id: Uuid, updated_by_id: Uuid }
const dates = { created: common.created, updated: common.updated }
const store = {
  key: Key.max(255).describe('Must be unique in the workspace.'),
  description: z.string(),
  embedding_config: z.looseObject({ model: ModelId }).describe('Embedding model.'),
  path: Path,
  ttl: z.number().min(0).optional().describe('Lifetime of a document in seconds. If omitted, documents do not expire.'),
}
/** The body that creates a memory store. */
export const MemoryStoreBody = z.object({ ...store, path: Path.default('Default') })
/** The body that changes one. */
export const MemoryStorePatch = z.object(store).partial()
/** A memory store in a response. */
export const MemoryStore = z.object({ _id: Ulid, ...store, ...by, ...dates }).omit({ path: true })

const metadata = z.record(z.string(), z.string()).optional()
const entity = { entity_id: z.string().min(1).max(255).describe('The entity that it belongs to.'), metadata }
/** The body that creates the memory of an entity. */
export const MemoryBody = z.object(entity)
/** The body that changes one. */
export const MemoryPatch = z.object({ metadata })
/** A memory in a response. */
export const Memory = z.object({
  _id: Ulid,
  ...entity,
  store_id: Ulid.describe('The memory store.'),
  documents_count: z.int().min(0).describe('Number of documents.'),
  workspace_id: Uuid,
  ...by,
  ...dates,
})

const document = { text: z.string().trim().min(1).describe('Instructions about what to remember.'), metadata }
/** The body that creates a document. */
export const MemoryDocumentBody = z.object(document)
/** The body that changes one. */
export const MemoryDocumentPatch = z.object(document).partial()
/** A document in a response. */
export const MemoryDocument = z.object({
  _id: Ulid,
  memory_id: Ulid.describe('The memory of the document.'),
  store_id: Ulid.describe('The memory store.'),
  ...document,
  text: document.text.describe('The remembered text.'),
  workspace_id: Uuid,
  ...by,
  ...dates,
})
