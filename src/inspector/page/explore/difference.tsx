// The difference of a case's run to the baseline run: its end, its calls, and what it printed.
import type { CallDifference, ExplorationData, ReportedCase } from '../../../contract/core/exploration.ts'
import { callOf } from '../state/call-list.ts'
import { spanText } from '../state/format.ts'
import { hashOf } from '../state/route.ts'
import { TextChanges } from '../ui/editor.tsx'
import { caseAddress } from './matrix.tsx'

/** What differs between a run and the baseline run. */
export function BaselineDifference({ cell, baseline }: { cell: ReportedCase; baseline: ExplorationData['baseline'] }) {
  if (!baseline) return null
  const { code, tookMs, difference, output, sameOutput, verdict } = cell
  const count = (key: 'call' | 'baseline') => difference?.filter((one) => one[key] !== null).length
  const rows = [
    ['Exit code', verdict === 'hung' ? 'none: it hung and was ended' : code, baseline.code],
    ['Duration', tookMs === null ? null : spanText(tookMs), spanText(baseline.tookMs)],
    ['Calls', count('call') ?? 'very many', count('baseline') ?? 'very many'],
  ] as const
  return (
    <section class="block" aria-label="Difference to the baseline run">
      <h3>Difference to the baseline run</h3>
      <table class="table">
        <thead>
          <tr>
            <td />
            <th scope="col">this run</th>
            <th scope="col">baseline run</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, own, usual]) => (
            <tr key={name} class={name !== 'Duration' && own !== usual ? 'differs' : ''}>
              <th scope="row">{name}</th>
              <td>{own ?? '(unknown)'}</td>
              <td>{usual}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {difference && <ChangedCalls cell={cell} changes={difference.filter(({ change }) => change !== 'same')} />}
      {output !== null &&
        (sameOutput ? (
          <p class="note">{output === baseline.output ? 'Same output.' : 'Same output, apart from times.'}</p>
        ) : (
          <TextChanges
            label="Output, compared with the baseline run"
            before={lines(baseline.output)}
            after={lines(output)}
          />
        ))}
    </section>
  )
}

/** Whole lines: otherwise the last one seems changed if another one follows it. */
const lines = (text: string): string => (text === '' ? '' : `${text}\n`)

const PILLS = { added: 'warning', missing: 'bad', changed: 'bad', same: '' } as const

function ChangedCalls({ cell, changes }: { cell: ReportedCase; changes: readonly CallDifference[] }) {
  if (changes.length === 0) return <p class="note">Same calls.</p>
  return (
    <ul class="changes">
      {changes.map(({ call, baseline, change, details }) => {
        const id = call ?? baseline ?? ''
        const row = callOf(id)
        return (
          <li key={id}>
            <span class={`pill ${PILLS[change]}`}>{change}</span>{' '}
            <a href={hashOf('explore', { cell: caseAddress(cell), call: id })}>{row?.prompt ?? row?.operation ?? id}</a>{' '}
            <span class="note">
              {details.join('; ') || (change === 'added' ? 'not in the baseline run' : 'not made in this run')}
            </span>
          </li>
        )
      })}
    </ul>
  )
}
