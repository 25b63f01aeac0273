// One case: its verdict and the reason, the calls of its run, the command's output, and how to reproduce it.

import type { ExplorationData, ReportedCase } from '../../../contract/core/exploration.ts'
import { outcomeText } from '../../../contract/core/outcome-text.ts'
import { CASE_STYLES } from '../../../views/case-style.ts'
import { Code } from '../call/json.tsx'
import { toneClass } from '../calls/list.tsx'
import { callOf } from '../state/call-list.ts'
import { spanText } from '../state/format.ts'
import { hashOf, here, narrow } from '../state/route.ts'
import { CopyButton, saveFile } from '../ui/copy.tsx'
import { YamlText } from '../ui/editor.tsx'
import { Icon } from '../ui/icons.tsx'
import { caseAddress } from './matrix.tsx'

/** The case that the URL names. */
export const currentCase = ({ cells }: ExplorationData): ReportedCase | undefined =>
  cells.find((result) => caseAddress(result) === here.value.params.get('cell'))

/** The panel of a case. */
export function CaseDetail({ cell }: { cell: ReportedCase }) {
  const { verdict, why, point, class: name, tookMs, derived, output } = cell
  return (
    <section class="detail-pane" aria-label="Case">
      <header class={`call-head ${CASE_STYLES[verdict].tone}`}>
        <span class="pill">{verdict}</span>
        <h2>
          <span class="model">{name}</span>
          <span class="sub">
            {point}
            {tookMs !== null && ` · the run took ${spanText(tookMs)}`}
          </span>
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
            <h3>Last output of the command</h3>
            {output.trim() === '' ? <p class="note">No output.</p> : <Code text={output} label="Output" />}
          </section>
        )}
        <Repeat cell={cell} />
      </div>
    </section>
  )
}

/** The calls of the run in order. Those that are the evidence are marked. */
function RunCalls({ cell: { calls, traces, ...cell } }: { cell: ReportedCase }) {
  const rows = calls.flatMap((id) => callOf(id) ?? [])
  return (
    <section class="block">
      <h3>Calls of the run</h3>
      {rows.length === 0 && <p class="note">No calls.</p>}
      <ol class="run-calls">
        {rows.map((row) => (
          <li key={row.id} class={toneClass(row)}>
            <span class="pill">{row.status}</span>
            <a href={hashOf('explore', { cell: caseAddress(cell), call: row.id })}>
              {row.operation} {row.model ?? ''}
            </a>
            <span class="note">
              {outcomeText(row.outcome)} in {spanText(row.duration)}
              {row.error !== null && `: ${row.error}`}
            </span>
            {traces.includes(row.id) && <span class="tag fault">evidence</span>}
          </li>
        ))}
      </ol>
    </section>
  )
}

function Repeat({ cell: { scenario, repeat } }: { cell: ReportedCase }) {
  const file = /^name: (.*)$/m.exec(scenario ?? '')?.[1] ?? 'scenario'
  return (
    <>
      <section class="block">
        <header>
          <h3>Command to reproduce</h3>
          <CopyButton text={() => repeat} />
        </header>
        <Code text={repeat} label="Command" />
      </section>
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
        </section>
      )}
    </>
  )
}
