// A verdict on a session: expectations, findings with their traces, and its limitations.
import type { Verification } from '../../../contract/core/verification.ts'
import { countedText } from '../state/format.ts'
import { hashOf } from '../state/route.ts'

/** The tone of each verdict. */
export const VERDICT_TONES = { pass: 'good', fail: 'bad', inconclusive: 'warning' } as const

/** The verdict. */
export function Verdict({ verdict }: { verdict: Verification }) {
  const { verdict: result, inconclusive, calls, attempts, expectations, findings, notices, pending } = verdict
  return (
    <>
      <header class="verdict">
        <span class={`pill ${VERDICT_TONES[result]}`}>{result.toUpperCase()}</span>
        <h2>Verdict</h2>
        <span class="note">
          {countedText(calls, 'call')}, {countedText(attempts, 'attempt')}
          {pending > 0 && `, ${pending} in flight`}
        </span>
      </header>
      {inconclusive.map((reason) => (
        <p key={reason}>{reason}</p>
      ))}
      {findings.map(({ kind, severity, accepted, message, traces }, index) => (
        <div key={index} class="finding">
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
      {notices.map((notice) => (
        <p key={notice} class="note">
          {notice}
        </p>
      ))}
    </>
  )
}
