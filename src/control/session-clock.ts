// /_understudy/sessions/<name>/clock: controls a virtual clock.
import { z } from 'zod'
import { Duration } from '../contract/core/duration.ts'
import { ApiError } from '../contract/core/error.ts'
import { asRoute, type Route } from '../contract/core/route.ts'
import { LAST_INSTANT } from '../lib/clock.ts'
import type { Session } from '../sessions/session.ts'
import type { ControlDeps } from './types.ts'

/** Kind of a session's clock. */
export const ClockKind = z.enum(['real', 'virtual'])

/** The clock of a session. */
export const SessionClock = z.object({
  kind: ClockKind.describe('A `virtual` clock skips to the next timer instead of waiting.'),
  now: z.iso.datetime().describe('Current time of the session: ISO 8601.'),
  frozen: z.boolean().describe('Whether a virtual clock is frozen.'),
  waiting: z.int().min(0).describe('Pending timers of a virtual clock.'),
})

const CHANGES = ['advance', 'freeze', 'resume', 'set'] as const
const ClockChange = z
  .strictObject({
    advance: Duration.optional().describe(
      'Advances the clock by a duration, such as `10m`, and ends all waits due by then.',
    ),
    freeze: z.literal(true).optional().describe('Freezes the clock. No wait ends until the clock is advanced.'),
    resume: z.literal(true).optional().describe('Resumes skipping from wait to wait.'),
    set: z.iso
      .datetime({ offset: true, error: 'must be an ISO 8601 time such as 2025-01-01T00:00:00Z' })
      .refine((text) => Date.parse(text) >= 0 && Date.parse(text) <= LAST_INSTANT, {
        error: 'must be a time from 1970 to 9999',
      })
      .optional()
      .describe('Sets the time. Pending waits keep their remaining duration.'),
  })
  .refine((change) => CHANGES.filter((name) => change[name] !== undefined).length === 1, {
    error: `must have exactly one of ${CHANGES.map((name) => `'${name}'`).join(', ')}`,
  })

/** The clock of a session as a response. */
export function clockOf({ clock }: Session): z.infer<typeof SessionClock> {
  const now = new Date(clock.now()).toISOString()
  if (clock.kind === 'real') return { kind: 'real', now, frozen: false, waiting: 0 }
  return { kind: 'virtual', now, frozen: clock.frozen, waiting: clock.waiting }
}

/**
 * The route that controls the clock of a session.
 * @throws ApiError 400 for a real clock
 */
export function clockRoute({ sessions, observers }: ControlDeps): Route {
  return asRoute({
    method: 'post',
    path: '/_understudy/sessions/:name/clock',
    tag: 'Emulator',
    session: 'none',
    operationId: 'moveClock',
    summary: 'Control the clock of a session',
    description: 'Advances, freezes, resumes, or sets a virtual clock. A real clock cannot be changed.',
    body: ClockChange,
    examples: { later: { advance: '10m' } },
    answerName: 'SessionClock',
    response: SessionClock,
    errors: [404, 409],
    find: ({ params: { name = '' } }) => sessions.find(name),
    async handle({ params: { name = '' }, body: { advance, freeze, resume, set } }) {
      const session = sessions.find(name)
      const { clock } = session
      if (clock.kind === 'real') {
        const message = `the clock of session ${JSON.stringify(name)} is real and cannot be changed: create the session with "clock": "virtual", or activate a scenario with a virtual clock`
        throw new ApiError(400, 'clock_is_real', message)
      }
      if (advance !== undefined) {
        const remaining = LAST_INSTANT - clock.now()
        if (advance > remaining) {
          const message = `'advance' must not go beyond the end of the year 9999, which is ${remaining} ms after the time of this clock, got ${advance} ms`
          throw new ApiError(400, 'invalid_value', message, { param: 'advance' })
        }
        await clock.advance(advance)
      }
      if (freeze) clock.freeze()
      if (resume) clock.resume()
      if (set !== undefined) clock.set(Date.parse(set))
      observers.notify({ type: 'session-changed', session: name, change: 'clock' })
      return clockOf(session)
    },
  })
}
