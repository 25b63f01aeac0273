// Why a verdict may say little: what a judge must not keep to itself.
import type { WorkspaceCallNote } from '../contract/core/finding.ts'
import type { EarlierVerdict, Verification } from '../contract/core/verification.ts'
import type { SessionGap } from '../sessions/session.ts'
import { type ClientEnd, times } from './kinds/define.ts'

/** The workspace calls of a session: how many there were, how many are under way, and those that a judge looks at. */
export interface WorkspaceEvidence {
  count: number
  underWay: number
  calls: readonly WorkspaceCallNote[]
}

/** Why calls of a session may have been answered by another instance than the one that judges it. */
export interface Adrift {
  /** The one that judges. */
  instance: string
  why: SessionGap
}

/** What weakens a verdict, in words. */
export function noticesOf(
  {
    session,
    calls,
    workspace,
    rules,
    pending,
    dropped,
    adrift,
    strays,
    tasks,
  }: Pick<Verification, 'session' | 'calls' | 'rules' | 'pending' | 'dropped' | 'strays' | 'tasks'> & {
    adrift: Adrift | undefined
    workspace: Pick<WorkspaceEvidence, 'count' | 'underWay'>
  },
  end: ClientEnd,
): string[] {
  const working = end === undefined ? tasks.at_work : 0
  const unknown = strays.filter(({ likely, method }) => likely === null && (method === 'GET' || method === 'HEAD'))
  return [
    ...(adrift === undefined ? [] : [adriftNotice(session, adrift)]),
    ...(calls === 0 && workspace.count === 0
      ? ['no calls were received: does the program use the address of this server?']
      : []),
    ...rules.flatMap(({ name, fault, idle, fired, applied }) => {
      if (fault === null) return []
      if (idle !== null) return [`rule "${name}" was not triggered: ${idle}`]
      return fired > 0 && applied === 0 ? [`rule "${name}" was triggered, but its fault was not injected`] : []
    }),
    ...(pending > 0
      ? [
          `${pending} ${pending === 1 ? 'call is' : 'calls are'} still under way: whether anybody gave up is not judged yet`,
        ]
      : []),
    ...(workspace.underWay > 0
      ? [
          `${workspace.underWay} ${workspace.underWay === 1 ? 'call of the workspace is' : 'calls of the workspace are'} still under way: whether anybody gave up on ${workspace.underWay === 1 ? 'it' : 'them'} is not judged yet`,
        ]
      : []),
    ...(working > 0
      ? [
          `${working} ${working === 1 ? 'task is' : 'tasks are'} still at work: whether anybody gave up on ${working === 1 ? 'it' : 'them'} is not judged yet`,
        ]
      : []),
    ...(dropped > 0
      ? [
          `the traces of ${dropped} calls are gone, and nothing is known of them: --keep-traces and --keep-trace-bytes keep more`,
        ]
      : []),
    ...unknown.map(
      ({ method, path, count }) => `${method} ${path} is not a path of this server, and was called ${times(count)}`,
    ),
  ]
}

/** Why nobody can say that all calls of a session are known, in words. */
function adriftNotice(session: string, { instance, why }: Adrift): string {
  const text = 'this is not complete: '
  const anew = `delete it and make it with PUT /_understudy/sessions/${session}, or reset it, before the first call of a run`
  switch (why) {
    case 'called':
      return `${text}the session began at the instance ${instance} with a call, and calls that it may have had at another one before, as when that has died, are not known here: make it with PUT /_understudy/sessions/${session} before the first call`
    case 'restored':
      return `${text}the session was left by an earlier process of the instance ${instance}, and calls that another one may have answered meanwhile are not known here: ${anew}`
    case 'moved':
      return `${text}another instance than ${instance} has answered calls of the session, says the balancer, and they are not known here: ${anew}`
  }
}

/** What weakens a verdict because parts of the session, judged before, are no part of it. */
export function earlierNotices(parts: readonly EarlierVerdict[], forgotten: number): string[] {
  const failed = parts.filter(({ verdict }) => verdict === 'fail')
  return [
    ...failed.map(({ part, ended_by, calls, findings, expectations }) => {
      const kinds = [...new Set(findings.filter(({ accepted }) => !accepted).map(({ kind }) => kind))]
      const unmet = expectations.filter(({ met }) => !met).length
      const what = [...kinds, ...(unmet > 0 ? ['expectations that are not met'] : [])].join(', ')
      return `part ${part} of the session, before ${PART_ENDS[ended_by]}, failed (${calls} calls; ${what}) and is not counted here: see \`earlier\``
    }),
    ...(forgotten > 0 ? [`${forgotten} verdicts on earlier parts of the session are gone: there were too many`] : []),
  ]
}

/** What ended a part of a session, in words. */
export const PART_ENDS: Record<EarlierVerdict['ended_by'], string> = {
  reset: 'a reset',
  snapshot: 'a snapshot was loaded',
  deletion: 'it was deleted',
  expiry: 'its time to live was over',
  scenario: 'another scenario began',
}
