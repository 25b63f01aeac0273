// /_understudy/verify: what really happened in the session, and whether it is what was expected.
import { z } from 'zod'
import { Duration } from '../contract/duration.ts'
import { asRoute, type Route } from '../contract/route.ts'
import { Verification } from '../contract/verification.ts'
import { realClock } from '../lib/clock.ts'
import { Expectation } from '../scenarios/schema.ts'
import { verify } from '../scenarios/verify.ts'
import type { Session } from '../sessions/sessions.ts'
import type { ControlDeps } from './types.ts'

const LONGEST_WAIT_MS = 60_000
const LOOK_EVERY_MS = 25

const VerifyQuery = z.strictObject({
  wait: Duration.refine((ms) => ms <= LONGEST_WAIT_MS, { error: 'must be at most 60s' })
    .default(0)
    .describe('How long to wait, in real time, for expectations that are not met yet, such as `5s`.'),
})
const VerifyBody = z.strictObject({
  expect: z.array(Expectation).describe("What must have happened, beside the scenario's own expectations."),
})

export function verifyRoutes({ sessionOf, runs, fixtures }: ControlDeps): Route[] {
  const look = (session: Session, more: readonly Expectation[]) => {
    const run = runs.current(session)
    return verify({
      session: session.name,
      scenario: run?.name ?? null,
      runs: runs.played(session),
      calls: [...session.traces.since(run?.calls ?? 0)],
      fixtures: [...fixtures.given(session.name).map(({ name }) => name), ...fixtures.shared],
      expect: [...(run?.expect ?? []), ...more],
    })
  }
  const answer = async (session: Session, wait: number, more: readonly Expectation[]): Promise<Verification> => {
    const end = realClock.now() + wait
    for (;;) {
      const report = look(session, more)
      if (report.ok || realClock.now() >= end) return report
      await realClock.sleep(LOOK_EVERY_MS)
    }
  }
  const shared = {
    path: '/_understudy/verify',
    tag: 'Emulator',
    query: VerifyQuery,
    response: Verification,
    errors: [400],
  }
  return [
    asRoute({
      ...shared,
      method: 'get',
      summary: 'Verify',
      description:
        'What happened in the session since its scenario began, or at all when there is none, from its traces: counts, order, waits, rules, fixtures, and whether the expectations of the scenario are met.',
      handle: ({ request, query }) => answer(sessionOf(request), query.wait, []),
    }),
    asRoute({
      ...shared,
      method: 'post',
      summary: 'Verify expectations',
      description: 'The same with more expectations, as a scenario file holds them under `expect`.',
      body: VerifyBody,
      examples: { retried: { expect: [{ provider: 'openai', attempts: '2+' }] } },
      handle: ({ request, query, body }) => answer(sessionOf(request), query.wait, body.expect),
    }),
  ]
}
