// The result of exec: the verdict on each run, its command and exit code, its sessions with failed ones first, and their
// calls; and a verdict on a session, with findings and their traces.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Finding } from '../../../contract/core/finding.ts'
import type { Verification } from '../../../contract/core/verification.ts'
import { capital } from '../../../lib/units.ts'
import type { ReportedRun } from '../../report-data.ts'
import { RunTimeline } from '../call/waterfall.tsx'
import { allCalls, usesVirtualClock } from '../state/call-list.ts'
import { countedText, instantText, spanText } from '../state/format.ts'
import { reportData } from '../state/report.ts'
import { hashOf } from '../state/route.ts'
import { Facts, Lines } from '../ui/layout.tsx'

/** The view, which only reports of `exec` have. */
export function ResultView() {
  const execution = reportData?.execution
  if (!execution) return null
  const { command, runs } = execution
  const failed = runs.filter(({ verdict }) => verdict === 'fail').length
  return (
    <div class="page wide result">
      {runs.length > 1 && (
        <header class="stack">
          <h1>
            {failed === 0 ? countedText(runs.length, 'run') : `${failed} of ${countedText(runs.length, 'run')} failed`}
          </h1>
          <p class="note">
            <code>{command}</code>
          </p>
        </header>
      )}
      {runs.map((run) => (
        <Run key={run.name} run={run} command={command} isOnly={runs.length === 1} />
      ))}
      {allCalls().length > 0 && (
        <p>
          <a href={hashOf('calls')}>All {countedText(allCalls().length, 'call')}</a>
        </p>
      )}
    </div>
  )
}

/** Number of sessions that are open at first. */
const MAX_OPEN = 5

function Run({ run, command, isOnly }: { run: ReportedRun; command: string; isOnly: boolean }) {
  const { name, verdict, inconclusive, code, timedOut, tookMs, findings, cassetteProblems, notEmulated } = run
  const sessions = run.sessions.flatMap((place) => reportData?.verdicts[place] ?? [])
  const Title = isOnly ? 'h1' : 'h2'
  const exit = timedOut ? `${code} (ended by --timeout)` : code
  const facts: [string, ComponentChildren][] = [
    ...(isOnly ? [['Command', <code key="command">{command}</code>] satisfies [string, ComponentChildren]] : []),
    [
      'Exit code',
      <span key="code" class={code === 0 ? '' : 'wrong'}>
        {exit}
      </span>,
    ],
    ['Scenario and seed', name],
    ['Duration', spanText(tookMs)],
    ['Written', reportData && instantText(Date.parse(reportData.made))],
  ]
  return (
    <section class="stack" aria-label={`Run ${name}`}>
      <div class="verdict">
        <span class={`pill ${VERDICT_TONES[verdict]}`}>{verdict.toUpperCase()}</span>
        <Title class="sentence">{isOnly ? sentenceOf(run, sessions) : `${name}: ${sentenceOf(run, sessions)}`}</Title>
      </div>
      <Lines lines={verdict === 'inconclusive' ? inconclusive : []} class="callout warn" />
      <Facts rows={facts} />
      {findings.map((finding, index) => (
        <FindingLine key={index} finding={finding} />
      ))}
      <Lines lines={cassetteProblems} class="callout warn" />
      <Lines lines={notEmulated} class="note" />
      {sessions.map((session, index) => (
        <SessionPart
          key={index}
          verdict={session}
          isOpen={index < MAX_OPEN && session.verdict !== 'pass'}
          isOnly={sessions.length === 1}
        />
      ))}
    </section>
  )
}

/** The number of problems: findings that are errors, and expectations that are not met. */
const problemsIn = (findings: ReportedRun['findings'], sessions: readonly Verification[]): number =>
  [...findings, ...sessions.flatMap((one) => one.findings)].filter(
    ({ severity, accepted }) => severity === 'error' && !accepted,
  ).length + sessions.flatMap(({ expectations }) => expectations.filter(({ met }) => !met)).length

/** The result in one sentence. */
function sentenceOf(
  { code, timedOut, tookMs, verdict, findings, cassetteProblems }: ReportedRun,
  sessions: readonly Verification[],
): string {
  const failed = sessions.filter((one) => one.verdict === 'fail').length
  const problems = problemsIn(findings, sessions)
  const parts: string[] = []
  if (timedOut) parts.push(`the command was ended after ${spanText(tookMs)}`)
  else if (code !== 0) parts.push(`the command failed with exit code ${code}`)
  if (failed > 0 && sessions.length > 1) parts.push(`${failed} of ${countedText(sessions.length, 'session')} failed`)
  else if (problems > 0) parts.push(`${countedText(problems, 'problem')} found`)
  if (cassetteProblems.length > 0) parts.push(countedText(cassetteProblems.length, 'cassette problem'))
  return capital(parts.join('; ') || (verdict === 'inconclusive' ? 'nothing was proved' : 'no problems found'))
}

/** A session: its verdict and its calls, which are drawn when it is open. */
function SessionPart({ verdict, isOpen, isOnly }: { verdict: Verification; isOpen: boolean; isOnly: boolean }) {
  const [open, setOpen] = useState(isOpen || isOnly)
  const { session, calls, scenario } = verdict
  return (
    <details class="card session" open={open} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <span class={`pill ${VERDICT_TONES[verdict.verdict]}`}>{verdict.verdict}</span> <strong>{session}</strong>{' '}
        <span class="note">
          {countedText(calls, 'call')}
          {scenario !== null && `, scenario ${scenario}`}
        </span>
      </summary>
      {open && (
        <div class="stack">
          <Verdict verdict={verdict} isPart />
          <SessionCalls session={session} />
        </div>
      )}
    </details>
  )
}

function SessionCalls({ session }: { session: string }) {
  const rows = allCalls().filter((row) => row.session === session && !row.internal)
  if (rows.length === 0) return null
  return (
    <section class="block">
      <header>
        <h3>Calls</h3>
        <a href={hashOf('calls', { session })}>List of calls</a>
      </header>
      <RunTimeline
        calls={rows.map((row) => ({ row, broken: row.faults.length > 0 }))}
        href={(id) => hashOf('calls', { session, call: id })}
        clock={rows.some(usesVirtualClock) ? 'virtual' : 'real'}
      />
    </section>
  )
}

/** The tone of each verdict. */
export const VERDICT_TONES = { pass: 'good', fail: 'bad', inconclusive: 'warning' } as const

/** A finding with links to its calls. */
function FindingLine({ finding: { kind, severity, accepted, message, traces } }: { finding: Finding }) {
  return (
    <div class="finding">
      <span class={`pill ${accepted ? '' : severity === 'error' ? 'bad' : 'warning'}`}>{kind}</span>
      <p>
        {message} {accepted && <span class="note">Accepted by the scenario.</span>}
        <span class="traces">
          {traces.slice(0, 8).map((id, at) => (
            <a key={id} href={hashOf('calls', { call: id })}>
              call {at + 1}
            </a>
          ))}
        </span>
      </p>
    </div>
  )
}

/** The verdict; as a part of what names it already, without its heading. */
export function Verdict({ verdict, isPart = false }: { verdict: Verification; isPart?: boolean }) {
  const { verdict: result, inconclusive, calls, attempts, expectations, findings, notices, pending } = verdict
  return (
    <>
      {!isPart && (
        <header class="verdict">
          <span class={`pill ${VERDICT_TONES[result]}`}>{result.toUpperCase()}</span>
          <h2>Verdict</h2>
          <span class="note">
            {countedText(calls, 'call')}, {countedText(attempts, 'attempt')}
            {pending > 0 && `, ${pending} in flight`}
          </span>
        </header>
      )}
      <Lines lines={inconclusive} />
      {findings.map((finding, index) => (
        <FindingLine key={index} finding={finding} />
      ))}
      {expectations.map(({ expected, actual, met }) => (
        <div key={expected} class="finding">
          <span class={`pill ${met ? 'good' : 'bad'}`}>{met ? 'met' : 'not met'}</span>
          <p>
            {expected} <span class="note">Actual: {actual}</span>
          </p>
        </div>
      ))}
      {result !== 'fail' && findings.length === 0 && expectations.length === 0 && (
        <p class="note">No expectations; no problems found.</p>
      )}
      <Lines lines={notices} class="note" />
    </>
  )
}
