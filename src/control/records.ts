// GET /_understudy/records: how much the workspace of a session holds, read past its scenario and without a note of the call.
import { z } from 'zod'
import { asRoute, type Route } from '../contract/core/route.ts'
import type { ControlDeps } from './types.ts'

const Counts = z.object({
  object: z.literal('record_counts'),
  session: z.string(),
  counts: z
    .record(z.string(), z.int().min(0))
    .describe('Number of records by kind, such as `dataset` or `tool`. Kinds without records are absent.'),
})

/** The route that counts the records of a session. */
export const recordsRoute = ({ sessionOf }: ControlDeps): Route =>
  asRoute({
    method: 'get',
    path: '/_understudy/records',
    tag: 'Emulator',
    operationId: 'countRecords',
    summary: 'Count workspace records',
    description:
      'The number of records of each kind in the workspace of the session. Faults do not apply, and the call does not count as one of a client.',
    response: Counts,
    handle({ request }): z.infer<typeof Counts> {
      const { name, records } = sessionOf(request)
      return { object: 'record_counts', session: name, counts: records.counts() }
    },
  })
