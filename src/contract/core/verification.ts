// What verify answers: what really happened in a session, and whether it is what was expected.
import { z } from 'zod'
import { FAULT_POINTS } from './fault.ts'
import { Finding } from './finding.ts'
import { OutcomeKind } from './trace.ts'

const count = z.int().min(0)
const trace = z.string().describe('Id of the trace.')
const milliseconds = z.number().describe('Milliseconds.')

/** What became of a rule of a scenario. */
export const RuleReport = z.object({
  name: z.string().describe('Name of the rule in the scenario.'),
  fault: z.string().describe('The kind of fault; null for a rule that only lets through.').nullable(),
  at: z.enum(FAULT_POINTS).describe('Where it acts.'),
  matched: count.describe('Attempts or calls that the rule is about.'),
  fired: count.describe('How often its fault was chosen.'),
  applied: count.describe('How often the fault really acted.'),
  skipped: z.record(z.string(), count).describe('Why it did not act although it was chosen, with how often.'),
  idle: z.string().nullable().describe('Why it was not triggered; null when it was.'),
})
export type RuleReport = z.infer<typeof RuleReport>

/** One expectation, and what there really was. */
export const ExpectationReport = z.object({
  expected: z.string().describe('The expectation in words.'),
  actual: z.string().describe('What there was, in words.'),
  met: z.boolean().describe('Whether it is met.'),
})
export type ExpectationReport = z.infer<typeof ExpectationReport>

/** What the tasks of agents came to, and what it took. */
export const TaskCounts = z.object({
  states: z
    .record(z.string(), count)
    .describe('Tasks of clients by their state now; `gone` are those that were removed while they worked.'),
  at_work: count.describe('Tasks that have not come to an end or to a wait, sub-tasks included.'),
  iterations: count.describe('Model calls, of sub-tasks too.'),
  tool_calls: count.describe('Calls of tools that are over, of sub-tasks too.'),
  sub_tasks: count.describe('Tasks that work for these.'),
})
export type TaskCounts = z.infer<typeof TaskCounts>

/** Ways through a gateway and its client that only bad days show; how often each was taken. */
export const Paths = z.object({
  retry: count.describe('Attempts that repeat one that failed.'),
  fallback: count.describe('Attempts at a fallback model.'),
  timeout: count.describe('Attempts whose time was up.'),
  cache: count.describe('Calls answered from the cache.'),
  'stream recovery': count.describe(
    'Streams answered in full after one that broke off, by the gateway or by the client.',
  ),
  'client retry': count.describe('Calls that the client made again after a failure.'),
  'client fallback': count.describe('Calls that the client made to another model or provider after a failure.'),
})
export type Paths = z.infer<typeof Paths>

/** Calls of one path that there is not. */
export const StrayPath = z.object({
  method: z.string().describe('The method of the call.'),
  path: z.string().describe('The path that was called.'),
  count: count.describe('How often.'),
  at: z.iso.datetime().describe('When it was first called.'),
  likely: z.string().nullable().describe('The path that was probably meant.'),
})
export type StrayPath = z.infer<typeof StrayPath>

/** What was asked for by an attempt, as a list in the order of time shows it. */
const Step = z.object({
  trace,
  target: z.string().describe('The target model, as `<provider>/<model>`.'),
  why: z.enum(['first', 'retry', 'fallback']).describe('Whether it is the first attempt, a retry, or a fallback.'),
  outcome: OutcomeKind,
  status: z.int().describe('The status of the response, or the status that represents the failure.'),
  faults: z.array(z.string()).describe('Scenario rules whose faults were injected.'),
})

/** What a verdict comes to. */
export const VerdictResult = z.enum(['pass', 'fail', 'inconclusive'])
export type VerdictResult = z.infer<typeof VerdictResult>

/** What is judged of a session, or of a part of it. */
export const SessionVerdict = z.object({
  session: z.string(),
  scenario: z
    .string()
    .nullable()
    .describe(
      'Name of the active scenario, by whose expectations, `accept` and `max_attempts` the session is judged; null when no scenario is active. One that a call chose with `x-understudy-scenario` is not named here, but in `rules`.',
    ),
  verdict: VerdictResult.describe(
    '`fail`: an expectation is not met, or a finding is an error that the scenario does not accept. `inconclusive`: nothing failed, but nothing was proved either; `inconclusive` has the reasons. `pass`: everything else.',
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
  calls: count.describe('Calls of the client.'),
  direct: count.describe('Of them, those that went straight to their provider; the others went through the gateway.'),
  workspace_calls: count.describe('Calls of the workspace API, which leave no traces.'),
  attempts: count.describe('Attempts at providers.'),
  counts: z
    .array(
      z.object({
        at: z.enum(['provider', 'gateway']).describe('Attempts at a provider, or calls of the client.'),
        operation: z.string(),
        provider: z.string().describe('The provider.'),
        model: z.string().describe('The model.'),
        outcome: OutcomeKind,
        count: count.describe('How often.'),
      }),
    )
    .describe('How often each provider, model and operation came to each outcome.'),
  paths: Paths.describe('Which ways through gateway and client were taken, and how often.'),
  tasks: TaskCounts.describe('Tasks of agents: their states, and what they took.'),
  order: z.array(Step).describe('The attempts in the order in which they began, the first 1000 of them.'),
  waits: z
    .object({
      told: count.describe('Calls whose answer told the client to wait.'),
      kept: count.describe('Those after which it called again, and not too early.'),
      broken: z
        .array(
          z.object({
            trace,
            retry_after_ms: milliseconds,
            called_again_after_ms: milliseconds,
            by: z.string().describe('By which clock it was too early.'),
          }),
        )
        .describe('Those after which it called too early.'),
    })
    .describe('Whether the client waited as long as `Retry-After` said, on its own clock or on that of the session.'),
  cancelled: z
    .array(
      z.object({
        trace,
        after_ms: milliseconds,
        provider_stopped: z.boolean().describe('Whether the attempt at the provider ended with it.'),
      }),
    )
    .describe('Calls that the client gave up, and whether the attempt at the provider ended with them.'),
  fixtures: z
    .object({
      unused: z.array(z.string()).describe('Fixtures given to the session or the program that have answered no call.'),
      unmatched: z
        .array(
          z.object({
            trace,
            operation: z.string(),
            model: z.string().describe('The model; null when there was none.').nullable(),
          }),
        )
        .describe('Calls that no fixture was there for.'),
    })
    .describe('Fixtures without calls, and calls without fixtures.'),
  rules: z
    .array(RuleReport.extend({ scenario: z.string().describe('The scenario that the rule is of.') }))
    .describe('What became of each rule of the scenario.'),
  expectations: z.array(ExpectationReport).describe('What was expected, and what there was.'),
  findings: z.array(Finding).describe('What the client did wrong, found without being asked.'),
  strays: z.array(StrayPath).describe('Paths that were called and that there are not.'),
  notices: z
    .array(z.string())
    .describe(
      'What weakens the verdict: no calls were received, a rule was not triggered, traces were dropped, calls are still in progress.',
    ),
  pending: count.describe('Calls that are still under way.'),
  dropped: count.describe('Calls whose traces are gone, so that nothing is known of them.'),
})
export type SessionVerdict = z.infer<typeof SessionVerdict>

/** What was judged of a part of a session that is over, before its evidence went. */
export const EarlierVerdict = SessionVerdict.extend({
  part: z.int().min(1).describe('1 for the first part of the session that was judged so.'),
  ended_by: z
    .enum(['reset', 'snapshot', 'deletion', 'expiry', 'scenario'])
    .describe(
      'What ended the part: a reset, a snapshot that was loaded, the deletion of the session or its time to live, another scenario.',
    ),
  ended_at: z.iso.datetime().describe("On the session's clock."),
})
export type EarlierVerdict = z.infer<typeof EarlierVerdict>

export const Verification = SessionVerdict.extend({
  earlier: z
    .array(EarlierVerdict)
    .describe(
      'Verdicts on earlier parts of the session, whose traces may be gone: `order` is empty. They do not change `verdict` and `ok`; `exec` counts them.',
    ),
})
/** The whole report. */
export type Verification = z.infer<typeof Verification>
