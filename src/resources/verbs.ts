// The verbs of every resource. Functions that change something must be called inside a transaction.
import { ApiError } from '../contract/core/error.ts'
import type { Caller, Fields } from '../contract/workspace/record.ts'
import { readRow } from '../db/damaged-rows.ts'
import { canonicalJson } from '../lib/canonical.ts'
import { ulidOf, uuidOf } from '../lib/ids.ts'
import { parseRequest } from '../schema/validation.ts'
import type { Session } from '../sessions/sessions.ts'
import {
  oneOf,
  type Reading,
  type RecordContext,
  type Resource,
  recordIn,
  type Transaction,
  type VersionNote,
} from './define.ts'
import { addVersion } from './versions.ts'

/**
 * The context of one transaction. Create it inside, so that its instant is that of the transaction.
 * @param key distinguishes what it creates from everything else in the session: ids are then a function of it,
 *   independent of concurrent changes
 */
export function workOf({ clock, contents, name, records, seed }: Session, caller: Caller, key?: string): Transaction {
  const now = clock.now()
  return {
    records,
    contents,
    caller,
    now: new Date(now).toISOString(),
    newId(form, kind) {
      const seq = records.nextNumber()
      const purpose = key === undefined ? `${name}:${kind}` : `${name}:${kind}:${caller.workspace}:${key}`
      const count = key === undefined ? seq : 0
      const ulid = () => ulidOf(seed, now, purpose, count)
      const uuid = () => uuidOf(`${seed}:${purpose}:${count}`)
      return { seq, id: form.make({ ulid, uuid }) }
    },
  }
}

/** Path parameters by name. */
export type PathParams = Record<string, string>

/**
 * Ids of the parent records in a path, outermost first.
 * @throws ApiError 404 if one is missing, or has another parent
 */
export function parentsOf({ parent }: Resource, work: Reading, params: PathParams): string[] {
  if (!parent) return []
  const above = parentsOf(parent, work, params)
  const found = recordIn(parent, work, { parent: above.at(-1) ?? '', name: params[parent.param] ?? '' })
  return [...above, String(found._id)]
}

/**
 * The stored record that a path names.
 * @throws ApiError 404 if there is none
 */
export function findRecord(resource: Resource, work: Reading, params: PathParams): Fields {
  const parent = parentsOf(resource, work, params).at(-1) ?? ''
  return recordIn(resource, work, { parent, name: params[resource.param] ?? '' })
}

/** A stored record as clients see it. */
export function shown(resource: Resource, stored: Fields): Fields {
  if (typeof stored._id !== 'string') return stored
  const file = { name: 'the database of the session' }
  return readRow(file, { table: 'records', row: stored._id }, () => resource.show?.(stored) ?? stored)
}

const keyOf = ({ key = '' }: Resource, body: Fields): string | null =>
  body[key] === undefined ? null : String(body[key])

function refuseTaken(resource: Resource, work: Transaction, parent: string, body: Fields): void {
  const key = keyOf(resource, body)
  if (key === null) return
  const holder = work.records.byKey(resource.kind, work.caller.workspace, parent, key)
  if (!holder || holder._id === body._id) return
  throw new ApiError(
    409,
    'key_taken',
    `'${resource.key}' must be unique: there is ${oneOf(resource)} with ${resource.key} ${JSON.stringify(key)} already, ${holder._id}`,
    { param: resource.key ?? null },
  )
}

/** Creates a record from a valid body, or updates the one with the same key where the resource allows it. */
export function putRecord(resource: Resource, work: Transaction, input: Fields, params: PathParams): Fields {
  const key = resource.upsert ? keyOf(resource, input) : null
  const existing = key === null ? undefined : work.records.byKey(resource.kind, work.caller.workspace, '', key)
  return existing
    ? updateRecord(resource, work, input, { ...params, [resource.param]: String(existing._id) })
    : createRecord(resource, work, input, { params })
}

/** The position of a new record, and its binary content, stored under its number. */
interface NewRecordOptions {
  params?: PathParams
  storeContent?: ((made: { seq: number }) => void) | undefined
}

/** Creates a record from a valid body. */
export function createRecord(resource: Resource, work: Transaction, input: Fields, at: NewRecordOptions = {}): Fields {
  const [record = {}] = createRecords(resource, work, [input], at)
  return record
}

/** Creates several records from valid bodies, in order, with one common side effect. */
export function createRecords(
  resource: Resource,
  work: Transaction,
  inputs: readonly Fields[],
  { params = {}, storeContent }: NewRecordOptions,
): Fields[] {
  const { records, caller, now } = work
  const { kind } = resource
  const parents = parentsOf(resource, work, params)
  const parent = parents.at(-1) ?? ''
  const stamp = resource.stamp?.(work, { parents })
  const created = inputs.map((input) => {
    const fields = resource.fill?.(input, work, { parents }) ?? input
    const { seq, id } = work.newId(resource.id, kind)
    const made: Fields = {
      _id: id,
      ...fields,
      workspace_id: caller.workspace,
      created_by_id: caller.user,
      updated_by_id: caller.user,
      created: now,
      updated: now,
    }
    const body = stamp?.(made) ?? made
    refuseTaken(resource, work, parent, body)
    records.insert({ seq, kind, id, workspace: caller.workspace, parent, key: keyOf(resource, body), body })
    storeContent?.({ seq })
    if (resource.versioned) addVersion(resource, work, body)
    return body
  })
  if (created.length > 0) resource.changed?.(work, { verb: 'create', parents, records: created })
  return created
}

/** Merges a valid patch into a record. A patch that changes nothing is not stored. */
export function updateRecord(resource: Resource, work: Transaction, given: Fields, params: PathParams): Fields {
  const { version_increment, version_description, ...patch } = given
  const note = { increment: version_increment, description: version_description } as VersionNote
  const before = findRecord(resource, work, params)
  const parents = parentsOf(resource, work, params)
  const merged = resource.merge?.(before, patch) ?? { ...before, ...patch }
  const input = resource.create ? (parseRequest(resource.create, merged) as Fields) : merged
  const fields = resource.fill?.(input, work, { parents, before }) ?? input
  const { _id, workspace_id, created_by_id, updated_by_id, created, updated } = before
  const body: Fields = { _id, ...fields, workspace_id, created_by_id, updated_by_id, created, updated }
  const same = note.increment === undefined && canonicalJson(body) === canonicalJson(before)
  return same ? before : saveRecord(resource, work, { parents, before, note }, body)
}

/** Stores a changed record, with time and author. */
export function saveRecord(resource: Resource, work: Transaction, at: RecordContext, changed: Fields): Fields {
  const { parents } = at
  const signed: Fields = { ...changed, updated_by_id: work.caller.user, updated: work.now }
  const body = resource.stamp?.(work, at)(signed) ?? signed
  refuseTaken(resource, work, parents.at(-1) ?? '', body)
  work.records.update(String(body._id), { key: keyOf(resource, body), body })
  if (resource.versioned) addVersion(resource, work, body, at.note)
  resource.changed?.(work, { verb: 'update', parents, records: [body] })
  return body
}

/** Deletes a record with all its children. */
export function deleteRecord(resource: Resource, work: Transaction, params: PathParams): Fields {
  const record = findRecord(resource, work, params)
  resource.keep?.(work, record)
  deleteRecords(resource, work, [record], params)
  return { _id: record._id, deleted: true }
}

/** Deletes several records of one list, with one common side effect. */
export function deleteRecords(
  resource: Resource,
  work: Transaction,
  records: readonly Fields[],
  params: PathParams,
): void {
  const parents = parentsOf(resource, work, params)
  work.records.remove(records.map(({ _id }) => String(_id)))
  if (records.length > 0) resource.changed?.(work, { verb: 'delete', parents, records })
}
