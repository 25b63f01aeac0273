// The result of verify: what happened in the session, and whether it was expected.
import { z } from 'zod'
import { describedList, describedObject } from './described.ts'
import { Finding } from './finding.ts'
import { OutcomeKind } from './outcome-kind.ts'
import { RuleReport } from './rule-report.ts'
import { AttemptRecord } from './trace.ts'

const count = z.int().min(0)
const trace = z.string().describe('Id of the trace.')
const milliseconds = z.number().describe('Milliseconds.')

/** An expectation, and the actual result. */
export const ExpectationReport = z.object({
  expected: z.string().describe('Description of the expectation.'),
  actual: z.string().describe('Description of the actual result.'),
  met: z.boolean().describe('Whether it is met.'),
})
export type ExpectationReport = z.infer<typeof ExpectationReport>

/** Counts of agent tasks. */
export const TaskCounts = z.object({
  states: z
    .record(z.string(), count)
    .describe('Client tasks by current state. `gone` counts tasks that were deleted while running.'),
  running: count.describe('Running tasks, including sub-tasks.'),
  iterations: count.describe('Model calls, including those of sub-tasks.'),
  tool_calls: count.describe('Finished tool calls, including those of sub-tasks.'),
  sub_tasks: count.describe('Sub-tasks.'),
})
export type TaskCounts = z.infer<typeof TaskCounts>

/** The recovery paths of a gateway and its client, which only failures exercise; how often each was exercised. */
export const Paths = z.object({
  retry: count.describe('Retries by the gateway.'),
  fallback: count.describe('Fallbacks by the gateway.'),
  timeout: count.describe('Attempts that timed out.'),
  cache: count.describe('Calls served from the cache.'),
  stream_recovery: count.describe('Complete streams after a truncated one, by retry of the gateway or the client.'),
  client_retry: count.describe('Retries by the client after a failure.'),
  client_fallback: count.describe('Fallbacks by the client to another model or provider after a failure.'),
})
export type Paths = z.infer<typeof Paths>

/** Calls of one unknown path. */
export const UnknownPath = z.object({
  method: z.string().describe('HTTP method.'),
  path: z.string().describe('The requested path.'),
  count: count.describe('Count.'),
  at: z.iso.datetime().describe('Time of the first request.'),
  suggestion: z.string().nullable().describe('The path that was probably intended.'),
})
export type UnknownPath = z.infer<typeof UnknownPath>

/** An attempt, in a list in the order of time. */
const { target, reason, status, faults } = AttemptRecord.shape
const Step = z.object({
  trace,
  target,
  reason,
  outcome: OutcomeKind.describe('Outcome of the attempt.'),
  status,
  faults,
})

/** The result of a verdict. */
export const VerdictResult = z.enum(['pass', 'fail', 'inconclusive'])
export type VerdictResult = z.infer<typeof VerdictResult>

/** The verdict on a session, or on a part of it. */
export const SessionVerdict = z.object({
  session: z.string().describe('Name of the session.'),
  scenario: z
    .string()
    .nullable()
    .describe(
      'Name of the active scenario, by whose expectations, `accept` and `max_attempts` the session is judged; null when no scenario is active. One that a call chose with `x-understudy-scenario` is not named here, but in `rules`.',
    ),
  verdict: VerdictResult.describe(
    '`fail`: an expectation is not met, a finding is an error that the scenario does not accept, or a replay had no response for a call. `inconclusive`: nothing failed, but nothing was proved either; `inconclusive` has the reasons. `pass`: everything else.',
  ),
  inconclusive: z
    .array(z.string())
    .describe('Why the verdict proves nothing, such as `no fault was injected`; empty when it does.'),
  ok: z
    .boolean()
    .describe(
      'Nothing failed, and no call at another instance can be missing. An inconclusive verdict is `ok`, too: use `verdict` to tell it from a pass.',
    ),
  complete: z
    .boolean()
    .describe(
      'All calls of the session are known: no trace is gone, and it did not begin by a call at one of several instances (`--instance`), as it does when the one that had it has died.',
    ),
  calls: count.describe('Number of client calls.'),
  direct: count.describe('Calls that went directly to the provider. The others went through the gateway.'),
  workspace_calls: count.describe('Calls of the workspace API. They have no traces.'),
  attempts: count.describe('Number of attempts.'),
  counts: describedList('Counts of each outcome by provider, model, and operation.', {
    at: z.enum(['provider', 'gateway']).describe('Attempts at a provider, or calls of the client.'),
    operation: z.string().describe('Name of the operation.'),
    provider: z.string().describe('The provider.'),
    model: z.string().describe('The model.'),
    outcome: OutcomeKind.describe('Outcome of the attempts or calls.'),
    count: count.describe('Count.'),
  }),
  recovery_paths: Paths.describe('How often each recovery path of gateway and client was exercised.'),
  tasks: TaskCounts.describe('Agent tasks: states and counts.'),
  order: z.array(Step).describe('The first 1000 attempts, in start order.'),
  retry_after: describedObject("Whether the client honored `Retry-After`, by its own clock or the session's.", {
    sent: count.describe('Responses with a `Retry-After` that the client received.'),
    honored: count.describe('Waits that the client honored before it retried.'),
    not_honored: describedList('Waits that the client did not honor.', {
      trace,
      retry_after_ms: milliseconds,
      retried_after_ms: milliseconds,
      retry_trace: z.string().describe('Trace of the early retry.'),
    }),
  }),
  canceled: describedList('Calls that the client canceled, and whether their provider attempts were canceled, too.', {
    trace,
    after_ms: milliseconds,
    provider_stopped: z.boolean().describe('Whether the attempt at the provider was canceled, too.'),
  }),
  fixtures: describedObject('Unused fixtures, and calls that matched no fixture.', {
    unused: z.array(z.string()).describe('Fixtures of the session or the server that matched no call.'),
    unmatched: describedList('Calls that matched no fixture.', {
      trace,
      operation: z.string().describe('Name of the operation.'),
      model: z.string().nullable().describe('The model.'),
    }),
  }),
  not_sent: describedList(
    'Calls that should have been forwarded and were not sent to their provider, by their errors: it lacks a key, or `--max-calls` or `--max-cost` was reached.',
    {
      code: z.string().describe('Code of the error.'),
      message: z.string().describe('The error of the first one.'),
      count: count.describe('Number of calls.'),
    },
  ),
  rules: z
    .array(RuleReport.extend({ scenario: z.string().describe('The scenario of the rule.') }))
    .describe('Counts of each rule of the scenario.'),
  expectations: z.array(ExpectationReport).describe('Expected and actual results.'),
  findings: z.array(Finding).describe('Problems found in the behavior of the client.'),
  unknown_paths: z.array(UnknownPath).describe('Requests to unknown paths.'),
  notices: z
    .array(z.string())
    .describe(
      'What weakens the verdict: no calls were received, a rule was not triggered, traces were dropped, calls are still in progress.',
    ),
  pending: count.describe('Calls in flight.'),
  dropped: count.describe('Calls without traces, which cannot be judged.'),
})
export type SessionVerdict = z.infer<typeof SessionVerdict>

/** The verdict on an earlier part of a session, made before its evidence was deleted. */
export const EarlierVerdict = SessionVerdict.extend({
  part: z.int().min(1).describe('Number of the part, from 1.'),
  ended_by: z
    .enum(['reset', 'snapshot', 'deletion', 'expiry', 'scenario'])
    .describe(
      'What ended the part: a reset, a loaded snapshot, the deletion or expiry of the session, or a new scenario.',
    ),
  ended_at: z.iso.datetime().describe("On the session's clock."),
})
export type EarlierVerdict = z.infer<typeof EarlierVerdict>

export const Verification = SessionVerdict.extend({
  earlier: z
    .array(EarlierVerdict)
    .describe(
      'Verdicts on earlier parts of the session. Their traces can be gone, so `order` is empty. They do not affect `verdict` and `ok`; `exec` counts them.',
    ),
})
/** The whole report. */
export type Verification = z.infer<typeof Verification>
