// A workspace resource as data: what create, list, get, update and delete need.
import type { z } from 'zod'
import { ApiError } from '../contract/core/error.ts'
import type { Caller, Fields } from '../contract/workspace/record.ts'
import { type IdForm, ulidForm } from '../contract/workspace/shared.ts'
import type { Contents } from '../db/content-store.ts'
import type { Records } from '../db/record-store.ts'
import { capital } from '../lib/units.ts'
import { quote } from '../schema/validation.ts'

const VERBS = ['create', 'list', 'get', 'update', 'delete'] as const
/** An operation of a resource. */
export type Verb = (typeof VERBS)[number]

/** The context of a change. All of it happens in one transaction, at one instant. */
export interface Transaction {
  readonly records: Records
  readonly contents: Contents
  readonly caller: Caller
  /** The instant, as ISO 8601 with milliseconds. */
  readonly now: string
  /** A number for a new record of a kind, and its id. */
  newId(form: IdForm, kind: string): { seq: number; id: string }
  /** Ids of the built-in guardrails; absent when files are read, which may be written for another namespace. */
  guardrailIds?(): readonly string[]
}

/** The context of a read. */
export type Reading = Pick<Transaction, 'records' | 'caller'>

/** A client's note on the version that a change creates. */
export interface VersionNote {
  increment?: 'major' | 'minor' | 'patch' | undefined
  description?: string | undefined
}

/** Where a record will be stored. */
export interface RecordContext {
  /** Ids of its parent records, outermost first. */
  parents: readonly string[]
  before?: Fields | undefined
  /** The client's note on the version. */
  note?: VersionNote
}

/** A change of records, for its side effects. */
interface RecordChange {
  verb: 'create' | 'update' | 'delete'
  /** Ids of the parent records, outermost first. */
  parents: readonly string[]
  /** The new records, or the deleted ones; several if one call creates or deletes several. */
  records: readonly Fields[]
}

/** The filter of a list. */
interface ListFilter {
  /** The parameters of the query. */
  readonly query: z.ZodRawShape
  /** Whether a stored record is in the list. Undefined parameters are ignored. */
  includes(record: Fields, query: Fields): boolean
}

/** A kind of workspace record. */
export interface Resource {
  /** Name in storage and in error codes, such as `human_review_set`. */
  readonly kind: string
  /** Name in messages, such as `human review set`. */
  readonly noun: string
  readonly plural: string
  readonly tag: string
  /** Path of the list, with a parameter for each parent record. */
  readonly path: string
  /** Name of the path parameter with a record's id. */
  readonly param: string
  readonly parent?: Resource
  /** Whether a new record may refer to others by id, which must exist. */
  readonly refers?: boolean
  readonly id: IdForm
  readonly verbs: readonly Verb[]
  /** Verbs that are in the specification; the others are marked as extensions. */
  readonly shown?: readonly Verb[]
  readonly descriptions?: Partial<Record<Verb, string>>
  readonly examples?: Partial<Record<'create' | 'update', Record<string, object>>>
  /** Schema of a whole record: the body of `create`, and valid after an update. */
  readonly create?: z.ZodType
  /** Schema of an update, without defaults. */
  readonly update?: z.ZodType
  readonly record: z.ZodType
  /** Schema of fields that every version has stored, besides the id: a record without them is damaged. */
  readonly stored?: z.ZodType
  /** The field whose value is unique for its kind in the workspace. */
  readonly key?: string
  /** Whether creating one with a known key updates it instead of failing. */
  readonly upsert?: boolean
  /** Whether paths may name a record by its key instead of its id. */
  readonly named?: boolean
  /** Status of the response to `create`, default 200. */
  readonly createdStatus?: 201
  /** Status of the response to `delete`, default 200 with the id. */
  readonly deletedStatus?: 204
  /** Default number of records in a page; null for all. */
  readonly pageSize?: number | null
  /** Maximum number of records in a page. */
  readonly mostInPage?: number
  /** Whether a list is a plain array of all records, without pages. */
  readonly plainList?: boolean
  readonly filter?: ListFilter
  /** Maximum number of records that one call may create, as an array; absent if a call creates one. */
  readonly mostAtOnce?: number
  /** Verbs whose 404 has a text as `error`, as clients expect there. */
  readonly textErrors?: readonly Verb[]
  readonly limitDescription?: string
  /** Whether each change creates a version record. */
  readonly versioned?: boolean
  /** Start of the message for an unknown id; default: the noun. */
  readonly notFound?: string
  /** The fields to store, from the client's input. For an update, they are merged into the stored record `before`. */
  fill?(input: Fields, work: Transaction, at: RecordContext): Fields
  /**
   * Returns a function that completes records before they are stored, changed or new, all of them with the same
   * context.
   */
  stamp?(work: Transaction, at: RecordContext): (body: Fields) => Fields
  /** The record as a client would write it now, from the stored one and an update; default: field by field. */
  merge?(before: Fields, patch: Fields): Fields
  /** Side effects of a change. */
  changed?(work: Transaction, change: RecordChange): void
  /**
   * Checks a deletion.
   * @throws ApiError if the record must stay
   */
  keep?(work: Transaction, record: Fields): void
  /** Removes expired records before a path is read or changed. */
  tidy?(work: Transaction, params: Record<string, string>): void
  /** The part of a stored record that clients see. */
  show?(stored: Fields): Fields
}

/** Default page sizes. */
export const PAGED = { pageSize: 10, mostInPage: 50 } as const

type Defaults = Pick<Resource, 'plural' | 'id' | 'verbs'>

/** Defines a resource. By default it has all verbs, ULIDs, and a plural with `s`. */
export const defineResource = (resource: Omit<Resource, keyof Defaults> & Partial<Defaults>): Resource => ({
  plural: `${resource.noun}s`,
  id: ulidForm,
  verbs: VERBS,
  ...resource,
})

/** The noun with its article: `a dataset`, `an evaluator`. */
export const oneOf = ({ noun }: Pick<Resource, 'noun'>): string => `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`

/** The 404 for an unknown record, in the words that clients know. */
export function notFound(resource: Resource, id: string, param: string = resource.param): ApiError {
  const what = resource.notFound ?? `${capital(resource.noun)} not found`
  return new ApiError(
    404,
    `${resource.kind.replace('.', '_')}_not_found`,
    `${what}: there is no ${resource.noun} with the id ${quote(id)} in this workspace`,
    { param },
  )
}

/**
 * The stored record with an id.
 * @throws ApiError 404 if there is none, whatever the form of the id
 */
export function recordOf(
  resource: Resource,
  { records, caller }: Reading,
  id: string,
  param: string = resource.param,
): { parent: string; body: Fields } {
  const found = records.get(resource.kind, caller.workspace, id)
  if (!found) throw notFound(resource, id, param)
  return found
}

/**
 * The record that a path names inside a parent, by its id or, where the resource allows it, by its key.
 * @throws ApiError 404 if there is none
 */
export function recordIn(
  resource: Resource,
  { records, caller }: Reading,
  { parent, name }: { parent: string; name: string },
): Fields {
  const keyed = resource.named ? records.byKey(resource.kind, caller.workspace, parent, name) : undefined
  if (keyed) return keyed
  const found = records.get(resource.kind, caller.workspace, name)
  if (found?.parent !== parent) throw notFound(resource, name)
  return found.body
}
