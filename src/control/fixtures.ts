// /_understudy/fixtures: the active fixtures of the session, and its own ones.
import { z } from 'zod'
import { isShipped } from '../backends/fixture/in-force.ts'
import type { Route } from '../contract/core/route.ts'
import type { Session } from '../sessions/sessions.ts'
import { type ControlDeps, controlRoute } from './types.ts'

const Entry = z.object({
  name: z.string().describe('Name of the fixture: the file name, with a number if the file contains several.'),
  operation: z.string(),
  from: z.enum(['session', 'files', 'shipped']).describe('Source of the fixture: the session, a file, or built in.'),
  place: z.string().describe('Location: file, line, and column, or its position in the request.'),
  match: z.record(z.string(), z.unknown()).describe('Conditions on the call.'),
  replies: z.int().min(1).describe('Number of successive replies.'),
})
const Listing = z.object({
  object: z.literal('list'),
  session: z.string(),
  problem: z
    .string()
    .nullable()
    .describe(
      'Problems in fixture files, with file, line, and column. The last valid version of each file stays active.',
    ),
  data: z.array(Entry).describe('In matching order.'),
})

const One = z.looseObject({}).describe('A fixture in the file format, with `match.operation`.')
const Body = z.union([z.array(z.unknown()), One], { error: 'must be a fixture or a list of fixtures' })

/** `/_understudy/fixtures`: lists the session's active fixtures; sets and removes its own. */
export function fixtureRoutes({ sessionOf, fixtures, observers }: ControlDeps): Route[] {
  const shared = { path: '/_understudy/fixtures', response: Listing }
  const listing = ({ name: session }: Session): z.infer<typeof Listing> => {
    const { files } = fixtures
    files.look()
    const own = fixtures.given(session).length
    const data = fixtures.inForce(session).map((fixture, index): z.infer<typeof Entry> => {
      const { name, operation, location, match, replies } = fixture
      const from = index < own ? 'session' : isShipped(fixture) ? 'shipped' : 'files'
      return { name, operation, from, place: location, match, replies: replies.length }
    })
    return { object: 'list', session, problem: files.problem ?? null, data }
  }
  const give = (session: Session, own: Parameters<typeof fixtures.give>[1]) => {
    fixtures.give(session.name, own)
    observers.notify({ type: 'session-changed', session: session.name, change: 'fixtures' })
    return listing(session)
  }
  return [
    controlRoute({
      ...shared,
      operationId: 'listFixtures',
      summary: 'List the fixtures',
      description:
        'The fixtures of the session in matching order: its own, those from files, and the built-in ones. Changed files are reloaded first.',
      handle: ({ request }) => listing(sessionOf(request)),
    }),
    controlRoute({
      ...shared,
      method: 'put',
      operationId: 'putFixtures',
      summary: 'Set session fixtures',
      description:
        "Sets the session's own fixtures: one fixture or a list in the file format, with `match.operation`. They replace earlier session fixtures, take precedence over all others, and survive a reset.",
      body: Body,
      examples: {
        greeting: {
          name: 'greeting',
          match: { operation: 'chat.completions', user: { regex: '^Hello' } },
          reply: { content: 'Hi!' },
        },
      },
      handle({ request, body }) {
        // Mistakes are found before anything changes.
        const own = fixtures.parse(Array.isArray(body) ? body : [body])
        return give(sessionOf(request), own)
      },
    }),
    controlRoute({
      ...shared,
      method: 'delete',
      operationId: 'deleteFixtures',
      summary: 'Remove session fixtures',
      description: "Removes the session's own fixtures. The shared fixtures remain.",
      handle: ({ request }) => give(sessionOf(request), []),
    }),
  ]
}
