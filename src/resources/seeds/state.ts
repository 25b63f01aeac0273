// The state of a session as a whole: save, load, count, and seed.
import { z } from 'zod'
import { ApiError } from '../../contract/core/error.ts'
import { asRoute, type Route } from '../../contract/core/route.ts'
import { storageError } from '../../contract/core/storage-error.ts'
import type { RecordShapes } from '../../db/record-shapes.ts'
import { SNAPSHOT_FORMAT, type Snapshot } from '../../db/snapshot.ts'
import { checkedSnapshot } from '../../db/snapshot-rows.ts'
import { canonicalInSlices } from '../../lib/json-slices.ts'
import { UnreadableDocument } from '../../lib/text-of.ts'
import { FileError } from '../../schema/source.ts'
import { REQUEST_LIMITS } from '../../schema/yaml-text.ts'
import type { Session } from '../../sessions/sessions.ts'
import type { ResourceDeps } from '../routes.ts'
import { workOf } from '../verbs.ts'
import { applySeed, prepareSeed, type SeedProgress } from './seed.ts'
import { parseSeed } from './seed-file.ts'

const SnapshotBody = z.object({
  understudy_snapshot: z
    .int()
    .min(1)
    .max(SNAPSHOT_FORMAT, { error: `must be at most ${SNAPSHOT_FORMAT}: a newer understudy has written this snapshot` })
    .describe('Version of the format.'),
  // Each row is validated by the schema of its table, in slices: validating all of them at once would block other
  // calls.
  tables: z
    .record(z.string(), z.array(z.unknown().meta({ type: 'object' })))
    .describe('The rows of each table. The format can change between versions.'),
})
const SeedBody = z.strictObject({
  name: z.string().default('seed').describe('File name for error messages.'),
  yaml: z.string().describe('The text of the seed file.'),
  documents: z.record(z.string(), z.base64()).default({}).describe('The referenced documents, in base64.'),
})
const Done = z.object({ sessions: z.array(z.string()).describe('The changed sessions.') })
const Progress = z.object({
  done: z.int().min(0).describe('Completed steps.'),
  total: z.int().min(0).describe('Total steps: one per document, and one for storing. 0 if nothing is being seeded.'),
})
const Counts = z.object({
  object: z.literal('record_counts'),
  session: z.string(),
  counts: z
    .record(z.string(), z.int().min(0))
    .describe('Number of records by kind, such as `dataset` or `tool`. Kinds without records are absent.'),
})
const shared = { tag: 'Emulator', anySize: true }

function seedRoutes({ callOf, sessionOf }: ResourceDeps): Route[] {
  const underWay = new WeakMap<Session, SeedProgress>()
  const progress = asRoute({
    method: 'get',
    path: '/_understudy/seed',
    tag: 'Emulator',
    operationId: 'getSeedProgress',
    summary: 'Get the seeding progress',
    description: 'The progress of the seed file that is being loaded into the session.',
    response: Progress,
    handle: ({ request }) => underWay.get(sessionOf(request)) ?? { done: 0, total: 0 },
  })
  const seed = asRoute({
    ...shared,
    method: 'post',
    path: '/_understudy/seed',
    operationId: 'seedWorkspace',
    summary: 'Seed the workspace',
    description:
      'Creates or updates all records of a seed file in one transaction. Loading the same file again changes nothing.',
    body: SeedBody,
    examples: { contact: { yaml: 'contacts: [{ external_id: ada, display_name: Ada }]' } },
    response: Done,
    errors: [409],
    async handle({ request, body: { name, yaml, documents } }) {
      const { session, caller } = await callOf(request)
      const bytesOf = (path: string) => {
        const text = documents[path]
        return text === undefined ? undefined : Uint8Array.fromBase64(text)
      }
      const progress = { done: 0, total: 0 }
      underWay.set(session, progress)
      try {
        const prepared = await session.clock.work(
          prepareSeed(parseSeed(yaml, name, bytesOf, REQUEST_LIMITS), { progress }),
        )
        await session.transact(() => applySeed(workOf(session, caller), prepared))
      } catch (error) {
        if (!(error instanceof FileError || error instanceof UnreadableDocument)) throw error
        throw new ApiError(400, 'invalid_seed', error.message)
      } finally {
        underWay.delete(session)
      }
      return { sessions: [session.name] }
    },
  })
  return [progress, seed]
}

/** The routes for snapshots, counts and seeds; `shapes` are the schemas of records in a snapshot. */
export const stateRoutes = (deps: ResourceDeps, shapes: RecordShapes): Route[] => [
  asRoute({
    ...shared,
    method: 'get',
    path: '/_understudy/snapshot',
    operationId: 'saveSnapshot',
    summary: 'Save a session',
    description: 'All data of the session, including files, as sorted JSON.',
    response: SnapshotBody,
    async handle({ request }) {
      // With the workspace seeded, which would otherwise look like a change after the snapshot.
      const { session } = await deps.callOf(request)
      const text = await canonicalInSlices(await session.snapshot())
      return new Response(text, { headers: { 'content-type': 'application/json' } })
    },
  }),
  asRoute({
    ...shared,
    method: 'post',
    path: '/_understudy/snapshot',
    operationId: 'loadSnapshot',
    summary: 'Load a session',
    description: 'Replaces all data of the session with a snapshot. On an error, nothing changes.',
    body: SnapshotBody,
    examples: { empty: { understudy_snapshot: SNAPSHOT_FORMAT, tables: {} } },
    response: Done,
    async handle({ request, body }) {
      const session = deps.sessionOf(request)
      const snapshot = await checkedSnapshot(body as Snapshot, shapes)
      const replaced = deps.replacing(session)
      try {
        await session.slot.replace(snapshot)
      } catch (error) {
        const message = `the snapshot cannot be loaded: ${(error as Error).message}`
        throw storageError(error) ?? new ApiError(400, 'invalid_snapshot', message)
      }
      replaced()
      deps.wake(session)
      deps.observers.notify({ type: 'session-changed', session: session.name, change: 'replaced' })
      return { sessions: [session.name] }
    },
  }),
  asRoute({
    method: 'get',
    path: '/_understudy/records',
    tag: 'Emulator',
    operationId: 'countRecords',
    summary: 'Count workspace records',
    description:
      'The number of records of each kind in the workspace of the session. Faults do not apply, and the call does not count as one of a client.',
    response: Counts,
    async handle({ request }): Promise<z.infer<typeof Counts>> {
      const { session } = await deps.callOf(request)
      return { object: 'record_counts', session: session.name, counts: session.records.counts() }
    },
  }),
  ...seedRoutes(deps),
]
