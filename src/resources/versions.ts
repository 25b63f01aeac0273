// Version records: the state of a record after each of its changes, numbered without gaps.
import type { Fields } from '../contract/workspace/record.ts'
import { ulidForm, VersionRecord } from '../contract/workspace/shared.ts'
import { checksumOf } from '../lib/canonical.ts'
import { capital } from '../lib/units.ts'
import type { Resource, Transaction, VersionNote } from './define.ts'

const kindOf = (resource: Pick<Resource, 'kind'>) => `${resource.kind}.version`

/** The semantic version of a record's nth change, from 0. */
export const versionName = (count: number): string => `1.0.${count}`

/** The name of the last version of a record; undefined if it has none. */
function lastVersion(resource: Pick<Resource, 'kind'>, { records, caller }: Transaction, id: string) {
  const [last] = records.page({ kind: kindOf(resource), workspace: caller.workspace, parent: id, limit: 1 }).data
  return last && String(last.version)
}

/** Number of versions of a record. */
export const countVersions = (resource: Pick<Resource, 'kind'>, work: Transaction, id: string): number =>
  Number(lastVersion(resource, work, id)?.split('.')[2] ?? -1) + 1

/** The next version. */
function nextVersion(last: string, increment: VersionNote['increment'] = 'patch'): string {
  const [major = 0, minor = 0, patch = 0] = last.split('.').map(Number)
  if (increment === 'major') return `${major + 1}.0.0`
  return increment === 'minor' ? `${major}.${minor + 1}.0` : `${major}.${minor}.${patch + 1}`
}

/** Stores the new version of a record. */
export function addVersion(resource: Resource, work: Transaction, data: Fields, note: VersionNote = {}): void {
  const { records, caller, now } = work
  const kind = kindOf(resource)
  const entityId = String(data._id)
  const last = lastVersion(resource, work, entityId)
  const { seq, id } = work.newId(ulidForm, kind)
  const body = {
    _id: id,
    created_at: now,
    updated_at: now,
    version: last === undefined ? versionName(0) : nextVersion(last, note.increment),
    checksum: checksumOf(data),
    entityType: resource.kind,
    entityId,
    workspace_id: caller.workspace,
    created_by_id: caller.user,
    updated_by_id: caller.user,
    description: note.description ?? (last === undefined ? 'created' : 'updated'),
    data,
  }
  records.insert({ seq, kind, id, workspace: caller.workspace, parent: entityId, key: null, body })
}

/** The versions of a resource, as a resource of their own. */
export function versionsOf(
  parent: Resource,
  options: Pick<Resource, 'shown' | 'limitDescription' | 'show'> = {},
): Resource {
  return {
    kind: kindOf(parent),
    noun: `${parent.noun} version`,
    plural: `${parent.noun} versions`,
    tag: parent.tag,
    path: `${parent.path}/:${parent.param}/versions`,
    param: 'version_id',
    parent,
    id: ulidForm,
    verbs: ['list', 'get'],
    record: VersionRecord,
    pageSize: 10,
    notFound: `${capital(parent.noun)} or version not found`,
    ...options,
  }
}
