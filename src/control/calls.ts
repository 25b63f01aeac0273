// GET /_understudy/calls: calls in brief, in pages large enough to list a hundred thousand of them.
import { z } from 'zod'
import { CallRow } from '../contract/core/call-row.ts'
import { asRoute, type Route } from '../contract/core/route.ts'
import { callsPage } from '../views/calls-page.ts'
import { type ControlDeps, TracedInstance } from './types.ts'

const MAX_ROWS = 1_000
const whole = (high: number) =>
  z.string().regex(/^\d+$/, { error: 'must be a whole number' }).transform(Number).pipe(z.int().min(0).max(high))

const CallsQuery = z.strictObject({
  sessions: z.literal('all', { error: "must be 'all', or left out" }).optional().describe("All, or the caller's own."),
  limit: whole(MAX_ROWS).default(500).describe(`Calls that are looked at, up to ${MAX_ROWS}; 500 when left out.`),
  cursor: z.string().optional().describe('The `next` of the page before.'),
  above: whole(Number.MAX_SAFE_INTEGER).default(0).describe('Only calls of a higher number in their session.'),
  text: z
    .string()
    .min(1)
    .optional()
    .describe('Only calls whose record, request or answer holds this text; capital letters count as small ones.'),
})

const Calls = z.object({
  object: z.literal('list'),
  instance: TracedInstance,
  data: z.array(CallRow),
  next: z.string().nullable().describe('Cursor of the next page; null when there is none.'),
})

export function callsRoute({ about, sessions, sessionOf }: ControlDeps): Route {
  return asRoute({
    method: 'get',
    path: '/_understudy/calls',
    tag: 'Emulator',
    operationId: 'listCalls',
    summary: 'List calls in brief',
    description:
      'One row a call, session by session and newest first in each. A page may hold fewer rows than were looked at: `next` says whether there are more.',
    query: CallsQuery,
    response: Calls,
    handle({ request, query }): z.infer<typeof Calls> {
      const page =
        query.sessions === 'all'
          ? sessions.overAll((list) => callsPage(list, query))
          : callsPage([sessionOf(request)], query)
      return { object: 'list', instance: about.instance.traced ?? null, ...page }
    },
  })
}
