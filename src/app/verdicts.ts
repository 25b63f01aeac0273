// What verdicts on sessions are made from, beside their traces. A command is judged without loading the routes.
import { createDroppedTraces } from '../control/dropped-traces.ts'
import { createEarlierVerdicts, type EarlierVerdicts } from '../control/earlier.ts'
import { lazy } from '../lib/lazy.ts'
import { once } from '../lib/once.ts'
import { createTaskReaders } from '../observers/task-readers.ts'
import { createWorkspaceCalls } from '../observers/workspace-calls.ts'
import { type RefusedCallLog, refusedText } from './refused-calls.ts'
import type { AppDeps, Verdicts } from './types.ts'
import { createUnknownPathLog } from './unknown-paths.ts'

const judging = lazy<typeof import('../control/judge.ts')>(() => require('../control/judge.ts'))

/** Judges the sessions of an application. */
export function createVerdicts(deps: AppDeps, refusedCalls: Pick<RefusedCallLog, 'all'>): Verdicts {
  const { sessions, gateway } = deps
  const readers = createTaskReaders()
  const workspaceCalls = createWorkspaceCalls()
  const unknownPaths = createUnknownPathLog()
  const refused = () => refusedCalls.all().map(refusedText)
  const look = once(() =>
    judging().lookWith({ ...deps, runs: gateway.runs, readers, workspaceCalls, unknownPaths, refused }),
  )
  const verdicts = createEarlierVerdicts((session) => look()(session, session.traces))
  const dropped = createDroppedTraces(sessions)
  const earlier: EarlierVerdicts = {
    ...verdicts,
    before(session, why) {
      const lost = [verdicts.before(session, why), dropped.before(session)]
      return () => {
        for (const one of lost) one()
      }
    },
  }
  sessions.watch({ expiring: (session) => earlier.before(session, 'expiry')() })
  const judge = once(() => judging().createJudge({ sessions, observers: gateway.observers, earlier }, look()))
  return {
    judge: (...asked) => judge()(...asked),
    readers,
    workspaceCalls,
    unknownPaths,
    earlier,
    droppedTraces: dropped.total,
  }
}
