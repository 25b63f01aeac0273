// Calls to the workspace, and a body that makes a record of each resource.
import type { Resource } from '../../src/resources/define.ts'
import { resources } from '../../src/resources/index.ts'
import type { createTestApp } from './app.ts'
import { strict } from './strict/workspace.ts'

export type Json = Record<string, unknown>
export type Workspace = ReturnType<typeof workspaceOf>

/** Calls of one session; each answer of a resource that strict clients know is parsed as they would. */
export function workspaceOf(app: ReturnType<typeof createTestApp>, headers: Record<string, string> = {}) {
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await app.fetch(path, {
      method,
      headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const { status, headers: answered } = answer
    return { status, headers: answered, body: status === 204 ? {} : (answer.json() as Json) }
  }
  /** The answer's body, empty for 204; throws when the call failed. */
  const ok = async (method: string, path: string, body?: unknown): Promise<Json> => {
    const answer = await call(method, path, body)
    if (answer.status > 204) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  return { call, ok }
}

/** Parses a record as a strict client does; resources that such clients do not know pass. */
export const parsed = (resource: Resource, record: unknown): Json =>
  (strict[resource.kind]?.parse(record) ?? record) as Json

/** Resources that clients make themselves. */
export const made = resources.filter(({ verbs }) => verbs.includes('create') && verbs.includes('update'))

let unique = 0
/** A body that makes a record, different each time where something must be unique. */
export function bodyOf(resource: Resource): Json {
  const [example] = Object.values(resource.examples?.create ?? {})
  if (!example) throw new Error(`${resource.kind} has no example`)
  return { ...example, ...(resource.key && { [resource.key]: `unique-${++unique}` }) }
}

/** A patch that changes a record made of `bodyOf`. */
export function patchOf(resource: Resource): Json {
  const [example] = Object.values(resource.examples?.update ?? {})
  if (!example) throw new Error(`${resource.kind} has no example`)
  return { ...example }
}

/** The path of a resource's list, inside records that are made for it. */
export async function listPathOf(resource: Resource, workspace: Workspace): Promise<string> {
  if (!resource.parent) return resource.path
  const outer = await listPathOf(resource.parent, workspace)
  const parent = await workspace.ok('POST', outer, bodyOf(resource.parent))
  const inner = resource.path.slice(`${resource.parent.path}/:${resource.parent.param}`.length)
  return `${outer}/${parent._id}${inner}`
}
