// One case: its verdict and the reason, the calls of its run, the command's output, what differs from the baseline run,
// and how to reproduce it.
import type { CallDifference, ExplorationData, ReportedCase } from '../../../contract/core/exploration.ts'
import { CASE_STYLES } from '../../../views/problem-text.ts'
import { Code } from '../call/json.tsx'
import { callOf } from '../state/call-list.ts'
import { countedText, spanText } from '../state/format.ts'
import { hashOf, here, narrow } from '../state/route.ts'
import { TextChanges, YamlText } from '../ui/editor.tsx'
import { Icon } from '../ui/icons.tsx'
import { Block, CopyButton, saveFile } from '../ui/layout.tsx'
import { RunTimeline } from './run-timeline.tsx'

/** The id of a case in the URL. */
export const caseAddress = ({ point, class: name }: Pick<ReportedCase, 'point' | 'class'>): string => `${point} ${name}`

/** The case that the URL names. */
export const currentCase = ({ cells }: ExplorationData): ReportedCase | undefined =>
  cells.find((result) => caseAddress(result) === here.value.params.get('cell'))

/** The panel of a case. */
export function CaseDetail({ cell, data }: { cell: ReportedCase; data: ExplorationData }) {
  const { verdict, why, point, class: name, derived, output } = cell
  return (
    <section class="detail-pane" aria-label="Case">
      <header class={`call-head ${CASE_STYLES[verdict].tone}`}>
        <span class="pill">{verdict}</span>
        <h2>
          <span class="model">{name}</span>
          <span class="sub">{data.points.find(({ id }) => id === point)?.label ?? point}</span>
        </h2>
        <button type="button" class="quiet" aria-label="Close the case" onClick={() => narrow({ cell: undefined })}>
          <Icon name="close" />
        </button>
      </header>
      <div class="panel stack">
        <p class="why">{why}</p>
        {derived && (
          <p class="note">Derived: not run separately. The run shown is the one that this result is derived from.</p>
        )}
        <RunCalls cell={cell} />
        {output !== null && (
          <section class="block">
            <h3>Output of the command</h3>
            {output.trim() === '' ? <p class="note">No output.</p> : <Code text={output} label="Output" />}
          </section>
        )}
        <BaselineDifference cell={cell} baseline={data.baseline} />
        <Repeat cell={cell} />
      </div>
    </section>
  )
}

/** The calls of the run in order: those into which the fault was injected, and those that the baseline run lacks. */
function RunCalls({ cell }: { cell: ReportedCase }) {
  const { calls, traces, broken, difference, unstored } = cell
  const added = new Set(difference?.flatMap(({ call, change }) => (change === 'added' ? (call ?? []) : [])))
  const timed = calls.flatMap((id) => {
    const row = callOf(id)
    const isBroken = broken.includes(id)
    const tags = [
      ...(added.has(id) ? ['not in the baseline run'] : []),
      ...(traces.includes(id) && !isBroken && !added.has(id) ? ['evidence'] : []),
    ]
    return row ? [{ row, broken: isBroken, tags }] : []
  })
  return (
    <section class="block">
      <h3>Calls of the run</h3>
      <RunTimeline calls={timed} href={(id) => hashOf('explore', { cell: caseAddress(cell), call: id })} />
      {unstored > 0 && <p class="note">{countedText(unstored, 'other call')} not stored.</p>}
    </section>
  )
}

function Repeat({ cell: { scenario, repeat, repeatScenario } }: { cell: ReportedCase }) {
  const file = /^name: (.*)$/m.exec(scenario ?? '')?.[1] ?? 'scenario'
  return (
    <>
      <Block title="Command to reproduce" copy={() => repeat}>
        <Code text={repeat} label="Command" />
      </Block>
      {scenario !== null && (
        <section class="block">
          <header>
            <h3>Scenario</h3>
            <button type="button" class="quiet" onClick={() => saveFile(`${file}.yaml`, scenario, 'application/yaml')}>
              <Icon name="save" />
              <span>Save</span>
            </button>
          </header>
          <YamlText text={scenario} label="Scenario" />
          {repeatScenario === null ? (
            <p class="note">
              <code>exec --scenario</code> injects the same fault, but has no baseline run to judge by.
            </p>
          ) : (
            <div class="command">
              <code>{repeatScenario}</code> <CopyButton text={() => repeatScenario} />
            </div>
          )}
        </section>
      )}
    </>
  )
}

/** What differs between a run and the baseline run. */
function BaselineDifference({ cell, baseline }: { cell: ReportedCase; baseline: ExplorationData['baseline'] }) {
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
