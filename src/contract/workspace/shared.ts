// Shared shapes of the workspace resources: ids, paths, pages, and the fields of every record.
import { z } from 'zod'

/** The form of a resource's ids, and how they are created. */
export interface IdForm {
  readonly pattern: RegExp
  /** Completes the sentence "... must be". */
  readonly requirement: string
  readonly schema: z.ZodString
  /** The id of a new record, from a new ULID or UUID. */
  make(fresh: { ulid(): string; uuid(): string }): string
}

const ULID = '[0-9A-HJKMNP-TV-Z]{26}'
const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const form = (pattern: string, says: string, make: IdForm['make']): IdForm => {
  const whole = new RegExp(`^${pattern}$`)
  return { pattern: whole, requirement: says, make, schema: z.string().regex(whole, { error: `must be ${says}` }) }
}

/**
 * Form of ids that are a ULID: 26 digits and capital letters.
 * @example
 * ulidForm.schema.safeParse('01ARZ3NDEKTSV4RRFFQ69G5FAV').success // => true
 * ulidForm.schema.safeParse('17').success // => false
 */
export const ulidForm = form(ULID, 'a ULID (26 digits and capital letters)', ({ ulid }) => ulid())
/** Form of ids that are a UUID in lower case (RFC 9562). */
export const uuidForm = form(UUID, 'a UUID in lower case', ({ uuid }) => uuid())
/** The form of ids such as `tool_01J...`. */
export const prefixedForm = (prefix: string): IdForm =>
  form(
    `${prefix}_${ULID}`,
    `'${prefix}_' and a ULID (26 digits and capital letters)`,
    ({ ulid }) => `${prefix}_${ulid()}`,
  )

/** Schema of a ULID. */
export const Ulid = ulidForm.schema
/** Schema of a UUID in lower case. */
export const Uuid = uuidForm.schema

/** A path: `project/folder/subfolder`. */
export const Path = z
  .string()
  .min(1)
  .regex(/^[^/]+(?:\/[^/]+)*$/, { error: "must be names with '/' between them, such as 'Default/support'" })
  .describe(
    'Storage path `project/folder/...`. Missing projects and folders are created. With a project token, the first segment is a folder.',
  )
  .meta({ examples: ['Default'] })

/** A key: letters and digits, with `_` and `-` inside. */
export const Key = z
  .string()
  .min(1)
  .regex(/^[a-zA-Z0-9]([a-zA-Z0-9_-]*[a-zA-Z0-9])?$/, {
    error: "must be letters and digits, with '_' and '-' only between them",
  })

/** An instant in a record. */
export const timestamp = z.iso.datetime().describe('ISO 8601, UTC, with milliseconds.')

/** Fields of every record. */
export const common = {
  workspace_id: Uuid,
  created_by_id: Uuid,
  updated_by_id: Uuid,
  created: timestamp,
  updated: timestamp,
}

/** Default maximum number of records in a page. */
const MAX_IN_PAGE = 200

interface PageQueryOptions {
  most?: number | undefined
  /** Description of `limit`. */
  described?: string | undefined
  /** Parameters that filter the list. */
  filter?: z.ZodRawShape | undefined
}
/**
 * The parameters `limit`, `starting_after` and `ending_before` of every list; `size` is the default limit, null for
 * all.
 */
export function pageQuery(size: number | null, { most = MAX_IN_PAGE, described, filter = {} }: PageQueryOptions = {}) {
  const limit = z
    .string()
    .regex(/^\d+$/, { error: 'must be a whole number' })
    .transform(Number)
    .pipe(z.int().min(1).max(most))
    .optional()
    .meta(size === null ? {} : { default: size })
    .describe(described ?? `1 to ${most}; ${size === null ? 'default all records' : `default ${size}`}.`)
  return z
    .strictObject({
      ...(filter as object),
      limit,
      starting_after: z.string().optional().describe('Cursor: the page starts after the record with this id.'),
      ending_before: z.string().optional().describe('Cursor: the page ends before the record with this id.'),
    })
    .refine((query) => query.starting_after === undefined || query.ending_before === undefined, {
      error: "must not be given together with 'starting_after'",
      path: ['ending_before'],
    })
}
/** Query parameters of a paged list: cursors and the page size. */
export type PageQuery = z.infer<ReturnType<typeof pageQuery>>

/** A page of a list. */
export const listOf = (record: z.ZodType) =>
  z.object({
    object: z.literal('list'),
    data: z.array(record),
    has_more: z.boolean().describe('Whether there are more pages in this direction.'),
  })

/** The response to a delete. */
export const Deleted = z.object({
  _id: z.string(),
  deleted: z.literal(true).describe('Whether the record was deleted.'),
})

/** The version that a change creates, and its description. */
export const VersionPatch = {
  version_increment: z
    .enum(['major', 'minor', 'patch'])
    .optional()
    .describe('Which part of the version number to increase.'),
  version_description: z.string().optional().describe('Description of the version.'),
}

/** The state of an evaluator or a tool after one change. */
export const VersionRecord = z.object({
  _id: Ulid,
  created_at: timestamp,
  updated_at: timestamp,
  version: z
    .string()
    .describe('Semantic version: 1.0.0, 1.0.1, ...')
    .meta({ examples: ['1.0.0'] }),
  checksum: z.string().describe('SHA-256 of the canonical JSON of `data`, in hexadecimal.'),
  entityType: z.string().describe('Type of the versioned record.'),
  entityId: z.string().describe('Id of the versioned record.'),
  workspace_id: Uuid,
  created_by_id: Uuid,
  updated_by_id: Uuid,
  description: z.string(),
  data: z.looseObject({}).describe('The record at this version.'),
})
