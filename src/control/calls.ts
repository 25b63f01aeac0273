// GET /_understudy/calls: summaries of calls, in pages large enough for a hundred thousand of them.
import { z } from 'zod'
import { CallRow } from '../contract/core/call-row.ts'
import type { Route } from '../contract/core/route.ts'
import { callsPage } from '../views/calls-page.ts'
import { AllSessions, type ControlDeps, controlRoute, TracedInstance, wholeText } from './types.ts'

const MAX_ROWS = 1_000

const CallsQuery = z.strictObject({
  sessions: AllSessions,
  limit: wholeText(0, MAX_ROWS).default(500).describe(`Number of calls to examine, at most ${MAX_ROWS}. Default 500.`),
  cursor: z.string().optional().describe('The `next` value of the previous page.'),
  above: wholeText(0, Number.MAX_SAFE_INTEGER)
    .default(0)
    .describe('Only calls with a higher sequence number in their session.'),
  text: z
    .string()
    .min(1)
    .optional()
    .describe('Only calls whose record, request, or response contains this text. Case-insensitive.'),
})

const Calls = z.object({
  object: z.literal('list'),
  instance: TracedInstance,
  data: z.array(CallRow),
  next: z.string().nullable().describe('Cursor of the next page, or null.'),
})

/** `GET /_understudy/calls`: summaries of calls, in pages. */
export function callsRoute({ about, sessions, sessionOf }: ControlDeps): Route {
  return controlRoute({
    path: '/_understudy/calls',
    operationId: 'listCalls',
    summary: 'List call summaries',
    description:
      'One row per call, session by session, newest first in each. A page can contain fewer rows than it examined; `next` shows whether there are more.',
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
