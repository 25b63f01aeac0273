// A workspace resource as data: what create, list, get, update and delete need to know of it.
import type { z } from 'zod'
import { ApiError } from '../contract/core/error.ts'
import type { Caller, Contents, Fields, Records } from '../contract/workspace/record.ts'
import type { IdForm } from '../contract/workspace/shared.ts'
import { quote } from '../schema/validation.ts'

/** The verbs that every resource may have. */
/** What a resource can do unless it says otherwise. */
export const VERBS = ['create', 'list', 'get', 'update', 'delete'] as const
/** An operation of a resource. */
export type Verb = (typeof VERBS)[number]

/** What a change is made with. All of it happens inside one transaction, at one instant. */
export interface Transaction {
  readonly records: Records
  readonly contents: Contents
  readonly caller: Caller
  /** The instant, as ISO 8601 with milliseconds. */
  readonly now: string
  /** A number for a new record of a kind, and the id that it makes. */
  newId(form: IdForm, kind: string): { seq: number; id: string }
  /** Ids of the guardrails that are built in; absent where files are read, which may be written for another namespace. */
  guardrailIds?(): readonly string[]
}

/** What a client says of the version that a change makes. */
export interface VersionNote {
  increment?: 'major' | 'minor' | 'patch' | undefined
  description?: string | undefined
}

/** Where a record is going to be stored. */
export interface RecordContext {
  /** Ids of the records it lies in, outermost first. */
  parents: readonly string[]
  before?: Fields | undefined
  /** What the client says of the version that the change makes. */
  note?: VersionNote
}

/** One change of a record, for what follows from it. */
interface RecordChange {
  verb: 'create' | 'update' | 'delete'
  /** Ids of the records it lies in, outermost first. */
  parents: readonly string[]
  /** The records as they are now, or were when they were deleted; more than one when one call makes or deletes several. */
  records: readonly Fields[]
}

/** What a list is narrowed by, besides its pages. */
interface ListFilter {
  /** The parameters of the query. */
  readonly query: z.ZodRawShape
  /** Whether a stored record is in the list; undefined parameters narrow nothing. */
  includes(record: Fields, query: Fields): boolean
}

/** One kind of workspace record. */
export interface Resource {
  /** Name in storage and in error codes, such as `human_review_set`. */
  readonly kind: string
  /** As a person calls one, such as `human review set`. */
  readonly noun: string
  readonly plural: string
  readonly tag: string
  /** Path of the list, with a parameter for each record it lies in. */
  readonly path: string
  /** Name of the path parameter that is one record's id. */
  readonly param: string
  readonly parent?: Resource
  /** Whether a new record may name others by id, which then must be there. */
  readonly refers?: boolean
  readonly id: IdForm
  readonly verbs: readonly Verb[]
  /** Verbs that the specification shows; the others are marked as extensions. */
  readonly shown?: readonly Verb[]
  readonly descriptions?: Partial<Record<Verb, string>>
  readonly examples?: Partial<Record<'create' | 'update', Record<string, object>>>
  /** A whole record as a client writes it: what `create` takes, and what must hold after an update. */
  readonly create?: z.ZodType
  /** The fields that an update may name, without defaults. */
  readonly update?: z.ZodType
  readonly record: z.ZodType
  /** What a stored record holds whatever version has stored it, besides its id: one without is damaged. */
  readonly stored?: z.ZodType
  /** The field whose value is unique among its kind in the workspace. */
  readonly key?: string
  /** Whether creating one whose key is known already changes that one instead of being refused. */
  readonly upsert?: boolean
  /** Whether paths may name a record by its key instead of its id. */
  readonly named?: boolean
  /** Status of the answer to `create`, 200 when left out. */
  readonly createdStatus?: 201
  /** Status of the answer to `delete`, 200 with the id when left out. */
  readonly deletedStatus?: 204
  /** Records in a page when the query does not say; all of them when null. */
  readonly pageSize?: number | null
  /** Most records in a page. */
  readonly mostInPage?: number
  /** Whether a list is a plain array of all records, without pages. */
  readonly plainList?: boolean
  readonly filter?: ListFilter
  /** Most records that one call may make, as an array; absent where a call makes one. */
  readonly mostAtOnce?: number
  /** Verbs whose 404 has a text as `error`, as clients read it there. */
  readonly textErrors?: readonly Verb[]
  readonly limitDescription?: string
  /** Whether each change leaves a version record. */
  readonly versioned?: boolean
  /** How the message for an id that is not there begins, when not with the noun. */
  readonly notFound?: string
  /** The fields to store, from what the client wrote: of an update, merged into what was stored `before`. */
  fill?(input: Fields, work: Transaction, at: RecordContext): Fields
  /** Gives what makes the last touches to records that are going to be stored, changed or new, all beside each other. */
  stamp?(work: Transaction, at: RecordContext): (body: Fields) => Fields
  /** The record as a client would write it now, from what was stored and an update; field by field when left out. */
  merge?(before: Fields, patch: Fields): Fields
  /** What else follows from a change. */
  changed?(work: Transaction, change: RecordChange): void
  /** Refuses to delete. */
  keep?(work: Transaction, record: Fields): void
  /** Removes what has come to its end by now, before a path is read or changed. */
  tidy?(work: Transaction, params: Record<string, string>): void
  /** What clients see of a stored record. */
  show?(stored: Fields): Fields
}

/** Pages as most lists have them. */
export const PAGED = { pageSize: 10, mostInPage: 50 } as const

/** A resource; the type holds what is written to the interface. */
export const defineResource = (resource: Resource): Resource => resource

/** `a dataset`, `an evaluator`. */
export const oneOf = ({ noun }: Pick<Resource, 'noun'>): string => `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`

/** 404: no such record, in the words that clients of the API know. */
export function notFound(resource: Resource, id: string, param: string = resource.param): ApiError {
  const what = resource.notFound ?? `${resource.noun.charAt(0).toUpperCase()}${resource.noun.slice(1)} not found`
  return new ApiError(
    404,
    `${resource.kind.replace('.', '_')}_not_found`,
    `${what}: there is no ${resource.noun} with the id ${quote(id)} in this workspace`,
    { param },
  )
}

/** The record of an id, as stored; 404 when there is none, whatever the id looks like. */
export function recordOf(
  resource: Resource,
  { records, caller }: Pick<Transaction, 'records' | 'caller'>,
  id: string,
  param: string = resource.param,
): { parent: string; body: Fields } {
  const found = records.get(resource.kind, caller.workspace, id)
  if (!found) throw notFound(resource, id, param)
  return found
}

/** The record that a path means inside a parent, by its id or, where the resource allows it, by its key; 404 when there is none. */
export function recordIn(
  resource: Resource,
  { records, caller }: Pick<Transaction, 'records' | 'caller'>,
  { parent, name, param = resource.param }: { parent: string; name: string; param?: string },
): Fields {
  const keyed = resource.named ? records.byKey(resource.kind, caller.workspace, parent, name) : undefined
  if (keyed) return keyed
  const found = records.get(resource.kind, caller.workspace, name)
  if (found?.parent !== parent) throw notFound(resource, name, param)
  return found.body
}
