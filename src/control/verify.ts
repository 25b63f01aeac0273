// /_understudy/verify: the verdict on a session.
import { z } from 'zod'
import { Duration } from '../contract/core/duration.ts'
import type { Route } from '../contract/core/route.ts'
import { Verification } from '../contract/core/verification.ts'
import { Expectation } from '../scenarios/schema.ts'
import { type ControlDeps, controlRoute } from './types.ts'

const MAX_WAIT_MS = 60_000

const VerifyQuery = z.strictObject({
  wait: Duration.refine((ms) => ms <= MAX_WAIT_MS, { error: 'must be at most 60s' })
    .default(0)
    .describe(
      'How long to wait, in real time, for unmet expectations, calls in flight, and running tasks, such as `5s`.',
    ),
  ended: z
    .enum(['well', 'badly', 'stopped', 'unknown'])
    .optional()
    .describe(
      'How the client ended. `well`: it is known to have succeeded, for example by a passing test. `badly`: it failed or reported an error. `stopped`: it was stopped and may have been about to retry. `unknown`: it ended and its result is not known, as with exit code 0 alone.',
    ),
})
const VerifyBody = z.strictObject({
  expect: z.array(Expectation).describe("What must have happened, beside the scenario's own expectations."),
})

type Query = z.infer<typeof VerifyQuery>

/** `/_understudy/verify`: the verdict of a session, with the scenario's expectations or those in the request. */
export function verifyRoutes({ sessionOf, judge }: ControlDeps): Route[] {
  const answer = (request: Request, query: Query, expect: readonly Expectation[] = []): Promise<Verification> =>
    judge(sessionOf(request, true), { ...query, expect, signal: request.signal })
  const shared = {
    path: '/_understudy/verify',
    query: VerifyQuery,
    response: Verification,
    session: 'seen' as const,
    errors: [429],
  }
  return [
    controlRoute({
      ...shared,
      operationId: 'verify',
      summary: 'Verify',
      description:
        'Judges the session from its traces since the scenario was activated, or all traces if there is no scenario: counts, order, waits, rules, fixtures, findings, and whether the expectations are met. Call this after the client has finished; before that, it may still be about to retry.',
      handle: ({ request, query }) => answer(request, query),
    }),
    controlRoute({
      ...shared,
      method: 'post',
      operationId: 'verifyExpectations',
      summary: 'Verify expectations',
      description: 'Verifies the session with additional expectations, in the format of `expect` in a scenario file.',
      body: VerifyBody,
      examples: { retried: { expect: [{ provider: 'openai', attempts: '2+' }] } },
      handle: ({ request, query, body }) => answer(request, query, body.expect),
    }),
  ]
}
