// Notices about facts that weaken a verdict.
import type { WorkspaceCallNote } from '../contract/core/finding.ts'
import type { EarlierVerdict, Verification } from '../contract/core/verification.ts'
import { counted } from '../lib/units.ts'
import type { SessionGap } from '../sessions/session.ts'
import { type ClientEnd, times } from './kinds/define.ts'

/** The workspace calls of a session: total number, number in progress, and the calls to judge. */
export interface WorkspaceEvidence {
  count: number
  underWay: number
  calls: readonly WorkspaceCallNote[]
}

/** Why another instance may have answered calls of a session. */
export interface InstanceGap {
  /** The instance that reports the verdict. */
  instance: string
  why: SessionGap
}

/** The notices of a verdict. */
export function verdictNotices(
  report: Pick<Verification, 'session' | 'calls' | 'rules' | 'pending' | 'dropped' | 'unknown_paths' | 'tasks'> & {
    gap: InstanceGap | undefined
    /** Number of calls for which a replay has no response. */
    missed: number
    workspace: Pick<WorkspaceEvidence, 'count' | 'underWay'>
    /** Descriptions of the calls that reached no session. */
    refused: readonly string[]
  },
  end: ClientEnd,
): string[] {
  const { session, calls, missed, workspace, rules, pending, dropped, gap, unknown_paths, refused, tasks } = report
  const working = end === undefined ? tasks.running : 0
  const unknown = unknown_paths.filter(
    ({ suggestion, method }) => suggestion === null && (method === 'GET' || method === 'HEAD'),
  )
  return [
    ...(gap === undefined ? [] : [gapNotice(session, gap)]),
    ...noticeIf(
      calls === 0 && workspace.count === 0,
      refused.length > 0
        ? `no calls were received in this session; ${refused.join('; ')}`
        : 'no calls were received: does the program use the address of this server?',
    ),
    ...rules.flatMap(({ name, fault, not_triggered, triggered, applied }) => {
      if (fault === null) return []
      if (not_triggered !== null) return [`rule "${name}" was not triggered: ${not_triggered}`]
      return triggered > 0 && applied === 0 ? [`rule "${name}" was triggered, but its fault was not injected`] : []
    }),
    ...noticeIf(
      missed > 0,
      `${counted(missed, 'call')} ${missed === 1 ? 'has' : 'have'} no recorded response, so the replay proves nothing about ${missed === 1 ? 'it' : 'them'}`,
    ),
    ...noticeIf(
      pending > 0,
      `${areCounted(pending, 'call')} still in progress: gave-up and swallowed are not reported yet`,
    ),
    ...noticeIf(
      workspace.underWay > 0,
      `${areCounted(workspace.underWay, 'workspace call')} still in progress: ${notReported(workspace.underWay)}`,
    ),
    ...noticeIf(working > 0, `${areCounted(working, 'task')} still running: ${notReported(working)}`),
    ...noticeIf(
      dropped > 0,
      `the traces of ${counted(dropped, 'call')} were dropped, so these calls are not judged: raise --keep-traces or --keep-trace-bytes`,
    ),
    ...unknown.map(
      ({ method, path, count }) => `${method} ${path} was requested ${times(count)}, but this server has no such path`,
    ),
  ]
}

const noticeIf = (applies: boolean, text: string): string[] => (applies ? [text] : [])
const areCounted = (count: number, noun: string) => `${counted(count, noun)} ${count === 1 ? 'is' : 'are'}`
const notReported = (count: number) => `gave-up is not reported for ${count === 1 ? 'it' : 'them'} yet`

/** Explains why calls of a session may be missing. */
function gapNotice(session: string, { instance, why }: InstanceGap): string {
  const text = 'this verdict is incomplete: '
  const hint = `before the first call of a run, reset the session, or delete it and create it with PUT /_understudy/sessions/${session}`
  switch (why) {
    case 'called':
      return `${text}a call created the session at the instance ${instance}, so earlier calls at another instance, such as one that stopped, are unknown here; create the session with PUT /_understudy/sessions/${session} before the first call`
    case 'restored':
      return `${text}the session was restored from an earlier process of the instance ${instance}, so calls at another instance in between are unknown here; ${hint}`
    case 'moved':
      return `${text}the load balancer reports that an instance other than ${instance} handled calls of the session, which are unknown here; ${hint}`
  }
}

/** Notices about earlier parts of the session that this verdict does not include. */
export function earlierNotices(parts: readonly EarlierVerdict[], forgotten: number): string[] {
  const failed = parts.filter(({ verdict }) => verdict === 'fail')
  return [
    ...failed.map(({ part, ended_by, calls, findings, expectations }) => {
      const kinds = [...new Set(findings.filter(({ accepted }) => !accepted).map(({ kind }) => kind))]
      const unmet = expectations.filter(({ met }) => !met).length
      const what = [...kinds, ...(unmet > 0 ? ['unmet expectations'] : [])].join(', ')
      return `part ${part} of the session, before ${PART_ENDS[ended_by]}, failed (${counted(calls, 'call')}; ${what}) and is not part of this verdict: see \`earlier\``
    }),
    ...noticeIf(
      forgotten > 0,
      `${counted(forgotten, 'verdict')} on earlier parts of the session ${forgotten === 1 ? 'was' : 'were'} dropped: there were too many`,
    ),
  ]
}

/** Descriptions of what ended a part of a session. */
export const PART_ENDS: Record<EarlierVerdict['ended_by'], string> = {
  reset: 'a reset',
  snapshot: 'a snapshot was loaded',
  deletion: 'it was deleted',
  expiry: 'its time to live expired',
  scenario: 'another scenario started',
}
