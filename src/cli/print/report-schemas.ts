// Schemas of the JSON reports of `exec`, `explore` and `rehearse`: for the types of the output, `understudy schema` and
// the reference.

import { z } from 'zod'
import { CassetteReport } from '../../contract/core/cassette-report.ts'
import { describedList, describedObject } from '../../contract/core/described.ts'
import {
  FAILURE_MODES,
  PROBLEM_KINDS,
  PROBLEM_SEVERITIES,
  ROUTE_TARGETS,
  VERDICTS,
} from '../../contract/core/exploration.ts'
import { Finding } from '../../contract/core/finding.ts'
import { ReportVersion } from '../../contract/core/format-version.ts'
import { OutcomeKind } from '../../contract/core/outcome-kind.ts'
import { TraceRecord } from '../../contract/core/trace.ts'
import { EarlierVerdict, VerdictResult, Verification } from '../../contract/core/verification.ts'
import { CHANGE_KINDS, DRIFT_SEVERITIES } from '../../drift/compare.ts'
import { DRIFT_RESULTS } from '../../drift/drift.ts'

const count = z.int().min(0)
const recoveryPaths = z
  .record(z.string(), count)
  .describe('Recovery paths that the calls configure, by name, with how often each was exercised.')

const notEmulated = (counts: string) =>
  describedList('Calls of APIs that are not emulated. Each was refused, so the result is not a pass.', {
    api: z.string().describe('The API.'),
    variable: z.string().describe('The environment variable that led its client to this server.'),
    method: z.string().describe('HTTP method.'),
    path: z.string().describe('The path of the API, without its query.'),
    count: z.int().min(1).describe(counts),
  })

/** A session of a run, or a part of it that ended before the command did. */
const RunSession = Verification.extend(
  EarlierVerdict.pick({ part: true, ended_by: true, ended_at: true }).partial().shape,
)

/** One run of the command of `exec`. */
export const ExecRun = z.object({
  name: z.string().describe('Name of the run: its scenario and seed.'),
  scenario: z.string().nullable().describe('Name of the scenario; null without one.'),
  code: z.int().describe('Exit code of the command.'),
  timed_out: z.boolean().describe('Whether `--timeout` ended the command.'),
  stopped: z.boolean().describe('Whether a signal, such as Ctrl-C, ended the run early.'),
  took_ms: z.number().describe('Real duration in milliseconds.'),
  clocks: describedList('How the time of each session passed.', {
    session: z.string().describe('Name of the session.'),
    clock: z.enum(['real', 'virtual']).describe('Its clock.'),
    jumped_ms: z.number().describe('Virtual time that was skipped, in milliseconds.'),
    waited_ms: z.number().describe('Pauses of the client between its calls, in real milliseconds.'),
  }),
  strict: z.boolean().describe('Whether warnings count as errors.'),
  verdict: VerdictResult.describe('Verdict on the run; `fail` as well when the command failed.'),
  inconclusive: z.array(z.string()).readonly().describe('Why the run proves nothing; empty when it does.'),
  ok: z.boolean().describe('Whether `verdict` is `pass`.'),
  findings: z.array(Finding).describe('Findings about the run as a whole.'),
  unmatched_rules: z.array(z.string()).describe('Rules that apply to none of the sessions.'),
  sessions: z
    .array(RunSession)
    .describe('The verdict on each session, or each part of one, failed ones first. Keys as in a verdict.'),
  recovery_paths: recoveryPaths,
  not_emulated: notEmulated('Number of calls.'),
  refused: describedList(
    'Calls that were refused before they reached a session, such as one without a token, by their errors. No session has them. The result is not a pass if no call reached a session, or if `for_session` is true.',
    {
      code: z.string().describe('Code of the error.'),
      message: z.string().describe('The error of the first one.'),
      count: z.int().min(1).describe('Number of calls.'),
      for_session: z
        .boolean()
        .describe('Whether the session was the reason, such as an invalid name or one beyond `--max-sessions`.'),
    },
  ),
  url: z.string().describe('The base address that the command received.'),
  db: z.string().nullable().describe('The file of `--db` with the calls; null without one.'),
  cassettes: CassetteReport.nullable().describe(
    'What was recorded and replayed; null without `--record` and `--replay`.',
  ),
})
export type ExecRun = z.infer<typeof ExecRun>

/** The report of `understudy exec --json`. */
export const ExecJson = z.object({
  format_version: ReportVersion,
  runs: z.array(ExecRun).describe('One run for each scenario and seed.'),
})

const CaseName = z.object({
  injection_point: z.string().describe('Id of the injection point.'),
  failure_mode: z.string().describe('Failure mode.'),
})
const Share = z.object({ count: count.describe('How many.'), total: count.describe('Of how many.') })

/** The report of `understudy explore --json`. */
export const ExploreJson = z.object({
  format_version: ReportVersion,
  verdict: VerdictResult.describe(
    'Verdict: `fail` if a problem is an error, or if the command failed without a fault.',
  ),
  inconclusive: z.array(z.string()).readonly().describe('Why the exploration proves nothing; empty when it does.'),
  problems: describedList('Problems, grouped by cause, the worst first.', {
    kind: z.enum(PROBLEM_KINDS).describe('Kind of the problem.'),
    severity: z.enum(PROBLEM_SEVERITIES).describe('Errors make the exploration fail. Warnings do not.'),
    message: z.string().describe('What happened in the first case.'),
    calls: z.array(z.string()).describe('Labels of the injection points.'),
    failure_modes: z.array(z.string()).describe('Failure modes.'),
    cases: z.array(CaseName).describe('Cases with this problem.'),
    command: z.string().describe('Command that reproduces the first case.'),
  }),
  injection_points: describedList('Injection points.', {
    id: z.string().describe('Id of the injection point, as in the header `x-understudy-call-site`.'),
    label: z
      .string()
      .describe(
        'Operation as its API names it (`messages` of Anthropic), number among the calls of the baseline run, and first words of the prompt, redacted.',
      ),
    operation: z.string().describe('Name of the operation.'),
    stream: z.boolean().describe('Whether the response is a stream.'),
    model: z.string().nullable().describe('The requested model.'),
    session: z.string().describe('Session of the call.'),
    turn: count.describe('Number of user messages so far.'),
    occurrence: count.describe('Number of the call among calls of its kind, from 1.'),
    unstable: z.boolean().describe('Whether it appeared in only one of the two baseline runs.'),
    discovered: z.boolean().describe('Whether it appeared only in runs with a fault.'),
  }),
  cases: describedList('Cases that were tried.', {
    injection_point: z.string().describe('Id of the injection point; `first+second` at depth 2.'),
    failure_mode: z.string().describe(`Failure mode: ${FAILURE_MODES.map((name) => `\`${name}\``).join(', ')}.`),
    result: z.enum(VERDICTS).describe('Result of the case.'),
    reason: z.string().describe('What happened, or why the fault was not injected.'),
    traces: z.array(z.string()).describe('Ids of the traces that are evidence.'),
    scenario: z.string().nullable().describe('File of the scenario that reproduces the case; null without one.'),
    derived: z.boolean().describe('Whether the result follows from another run.'),
  }),
  coverage: describedObject('The three numbers.', {
    faults: Share.describe('Fault coverage: injected faults, of those that apply.'),
    tolerance: Share.describe('Tolerance: cases that the program handled, of those injected.'),
    recovery_paths: Share.describe('Recovery-path coverage: exercised paths, of those configured.'),
  }),
  recovery_paths: recoveryPaths,
  routes: describedList('Which provider faults each routing configuration hides.', {
    route: z.string().describe('The routing configuration.'),
    outcomes: describedList('What the client receives under each fault.', {
      fault: z.string().describe('The fault at the provider.'),
      target: z.enum(ROUTE_TARGETS).describe('How far it goes: one attempt, one target, or every target.'),
      outcome: OutcomeKind.describe('Outcome of the call.'),
      status: z.int().describe('Status that the client receives.'),
      attempts: count.describe('Attempts of the gateway.'),
    }),
  }),
  not_run: z
    .array(
      CaseName.extend({
        reason: z
          .enum(['time', 'similar'])
          .describe('`time`: the budget was used up. `similar`: enough equal calls were tried.'),
      }),
    )
    .describe('Cases that were not tried.'),
  not_emulated: notEmulated('Most calls of one run.'),
  dropped: count.describe('Calls of a baseline run whose traces were dropped or deleted.'),
  runs: count.describe('Runs of the command.'),
  runs_saved: count.describe('Runs that were not needed, because their results were derived.'),
  serial_reason: z
    .string()
    .nullable()
    .describe('Why runs were not parallel although `--jobs` allows it; null if they were.'),
  left_processes: z.boolean().describe('Whether the command left processes running, which were ended with each run.'),
  baseline_failure: z
    .object({
      code: z.int().describe('Exit code of the command.'),
      output: z.string().describe('The last of what it printed.'),
      runs: count.describe('Number of runs without a fault.'),
      failed: count.describe('How many of them failed: not all, if the command is flaky.'),
    })
    .optional()
    .describe('Only if the command failed without any fault. Nothing was explored then.'),
})
export type ExploreJson = z.infer<typeof ExploreJson>

/** The report of `understudy rehearse --json`. */
export const RehearseJson = z.object({
  format_version: ReportVersion,
  traces: z.array(TraceRecord).describe('The traces of the built-in calls.'),
  report: Verification.describe('The verdict on them.'),
})
export type RehearseJson = z.infer<typeof RehearseJson>

/** The report of `understudy drift --json`. */
export const DriftJson = z.object({
  exit_code: z.int().describe('Exit code of the command: 0, 4 or 5.'),
  cost: describedObject('What asking again cost.', {
    usd: z.number().describe('Cost of the requests by list price, in USD.'),
    unpriced_requests: count.describe('Requests of unknown price, which count as 0.'),
  }),
  requests: describedList('The recorded requests, in the order of the cassettes.', {
    cassette: z.string().describe('Session of the cassette.'),
    file: z.string().describe('File of the cassette.'),
    line: count.describe('Line of the recorded request.'),
    request: describedObject('The recorded request.', {
      provider: z.string().describe('Provider.'),
      operation: z.string().describe('Operation.'),
      model: z.string().describe('Name of the model at its provider.'),
    }),
    result: z
      .enum(DRIFT_RESULTS)
      .describe('Result. `skipped`: only failures were recorded, which are not provoked again.'),
    reason: z.string().nullable().describe('Why nothing was compared; null if something was.'),
    changes: describedList('Changes, the most severe first.', {
      kind: z.enum(CHANGE_KINDS).describe('Kind of the change.'),
      severity: z.enum(DRIFT_SEVERITIES).describe('Severity.'),
      where: z.string().describe('The field, event or header.'),
      recorded: z.string().nullable().describe('What it was when recorded; null where that says nothing.'),
      live: z.string().nullable().describe('What it is now; null where that says nothing.'),
    }),
  }),
})
export type DriftJson = z.infer<typeof DriftJson>
