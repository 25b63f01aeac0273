// A verdict on a session: expectations, findings with their traces, and its limitations.
import type { Finding } from '../../../contract/core/finding.ts'
import type { Verification } from '../../../contract/core/verification.ts'
import { countedText } from '../state/format.ts'
import { hashOf } from '../state/route.ts'
import { Lines } from '../ui/layout.tsx'

/** The tone of each verdict. */
export const VERDICT_TONES = { pass: 'good', fail: 'bad', inconclusive: 'warning' } as const

/** A finding with links to its calls. */
export function FindingLine({ finding: { kind, severity, accepted, message, traces } }: { finding: Finding }) {
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
      {findings.length === 0 && expectations.length === 0 && <p class="note">No expectations; no problems found.</p>}
      <Lines lines={notices} class="note" />
    </>
  )
}
