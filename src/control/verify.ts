// /_understudy/verify: the verdict on a session.
import { z } from 'zod'
import { Duration } from '../contract/core/duration.ts'
import { asRoute, type Route } from '../contract/core/route.ts'
import type { TaskStep } from '../contract/core/trace.ts'
import { type SessionVerdict, Verification } from '../contract/core/verification.ts'
import { isActive } from '../contract/workspace/agent-task.ts'
import { AGENT_STEP, AGENT_TASK, type TaskRecord } from '../contract/workspace/task-record.ts'
import type { TraceEvidence } from '../db/trace-evidence.ts'
import type { TaskReaders } from '../observers/task-readers.ts'
import { Expectation } from '../scenarios/schema.ts'
import type { Session } from '../sessions/sessions.ts'
import { earlierNotices } from '../verdict/notices.ts'
import type { UnreadTask } from '../verdict/tasks.ts'
import { verify } from '../verdict/verify.ts'
import { type CallList, createCallWatches, lookUntilDone, stayIn } from './call-watch.ts'
import type { ControlDeps } from './types.ts'

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

/** Expectations beside those of the scenario, and the end of the client. */
type VerifyRequest = Query & { more: readonly Expectation[] }

/** Judges a session by its calls. */
export const lookWith =
  ({ about, runs, fixtures, strict, unknownPaths, readers, workspaceCalls }: Omit<ControlDeps, 'earlier'>) =>
  (session: Session, calls: CallList, { ended, more }: Pick<VerifyRequest, 'ended' | 'more'>): SessionVerdict => {
    const run = runs.current(session)
    return verify({
      session: session.name,
      run,
      runs: runs.played(session),
      calls: asTheyAre(calls.since(run?.calls ?? 0), session),
      workspace: workspaceCalls.of(session),
      unread: unreadTasks(session, readers),
      underWay: session.underWay,
      dropped: session.traces.dropped(run?.calls ?? 0),
      // With several instances, it may have had calls elsewhere, which are unknown here.
      gap: session.slot.gap && { instance: about.instance.name, why: session.slot.gap },
      unknownPaths: unknownPaths.of(session.name),
      fixtures: [...fixtures.given(session.name), ...fixtures.files.fixtures].map(({ name }) => name),
      expect: more,
      end: ended,
      strict,
    })
  }

/** `/_understudy/verify`: the verdict of a session, with the scenario's expectations or those in the request. */
export function verifyRoutes(deps: ControlDeps): Route[] {
  const { sessions, sessionOf, observers, earlier } = deps
  const watches = createCallWatches(observers)
  const look = lookWith(deps)
  const answer = async (request: Request, query: Query, more: readonly Expectation[]): Promise<Verification> => {
    const { current, end } = stayIn(sessionOf(request, true), sessions, request.signal)
    // A client that has ended sends no more calls.
    const isDone = ({ ok, pending, tasks }: SessionVerdict) =>
      pending === 0 && (query.ended !== undefined || (ok && tasks.running === 0))
    const signal = AbortSignal.any([request.signal, observers.ended])
    const options = { session: current, watches, signal, wait: query.wait, isDone }
    const found = await lookUntilDone((calls) => look(current(), calls, { ...query, more }), options).finally(end)
    const { session, ok, findings } = found
    const before = earlier.of(session)
    const notices = [...found.notices, ...earlierNotices(before, earlier.forgotten(session))]
    const verdict = { ...found, notices, earlier: [...before] }
    observers.notify({ type: 'session-verified', session, ok, findings })
    return verdict
  }
  const shared = {
    path: '/_understudy/verify',
    tag: 'Emulator',
    query: VerifyQuery,
    response: Verification,
    session: 'seen' as const,
    errors: [429],
  }
  return [
    asRoute({
      ...shared,
      method: 'get',
      operationId: 'verify',
      summary: 'Verify',
      description:
        'Judges the session from its traces since the scenario was activated, or all traces if there is no scenario: counts, order, waits, rules, fixtures, findings, and whether the expectations are met. Call this after the client has finished; before that, it may still be about to retry.',
      handle: ({ request, query }) => answer(request, query, []),
    }),
    asRoute({
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

// The current state of agent tasks for verdicts: the trace of a turn is complete only at its end.

/** The calls; those that are turns of tasks with the current steps of the tasks. */
function asTheyAre(found: Iterable<TraceEvidence>, session: Session): TraceEvidence[] {
  const calls = [...found]
  // Most sessions have no tasks, so that their records need not be opened.
  if (!calls.some(({ trace }) => trace.task)) return calls
  const { records } = session
  const tasks = records.keyed(AGENT_TASK).map(({ body }) => body as TaskRecord)
  const working = new Map(tasks.map((task) => [task.turn.trace, task]))
  return calls.map((call) => {
    const { task: seen, faults } = call.trace
    if (!seen) return call
    const task = working.get(call.trace.id)
    // A task that was deleted while it ran has no end.
    if (!task) return isActive(seen.state) ? withTask(call, { ...seen, state: 'gone' }, faults) : call
    const { state, finish_reason, turn } = task
    const page = { kind: AGENT_STEP, workspace: task.workspace_id, parent: task._id }
    const journal = records.page(page).data.reverse() as TaskStep[]
    const steps = journal.filter((step) => step.turn === turn.number)
    const triggered = new Set([...faults, ...steps.flatMap((step) => step.faults ?? [])])
    return withTask(call, { ...seen, state, finish_reason, iterations: turn.iterations, steps }, [...triggered])
  })
}

const withTask = (
  call: TraceEvidence,
  task: NonNullable<TraceEvidence['trace']['task']>,
  faults: string[],
): TraceEvidence => ({ ...call, trace: { ...call.trace, task, faults } })

/** The turns whose end was not read, of tasks that still exist. */
const unreadTasks = (session: Session, readers: TaskReaders): UnreadTask[] =>
  readers.unread(session.slot).flatMap(({ task, workspace, trace, looks }) => {
    const found = session.records.get(AGENT_TASK, workspace, task)?.body as TaskRecord | undefined
    return found ? [{ trace, state: found.state, looks }] : []
  })
