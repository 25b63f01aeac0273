// The result of an exploration: its coverage, the matrix, and the selected case or one of its calls.
import type { ExplorationData } from '../../../contract/core/exploration.ts'
import { CallDetail } from '../call/detail.tsx'
import { chosen } from '../calls/shown.ts'
import { countedText, instantText, spanText } from '../state/format.ts'
import { reportData } from '../state/report.ts'
import { CaseDetail, currentCase } from './case.tsx'
import { Matrix } from './matrix.tsx'

/** The view, which only exploration reports have. */
export function ExploreView() {
  const data = reportData?.exploration
  if (!data) return null
  const selected = currentCase(data)
  const opened = chosen.value !== null || selected !== undefined
  return (
    <div class={`calls${opened ? ' with-call' : ''}`}>
      <div class="list-pane explore">
        <div class="page wide">
          <header class="page-head">
            <h1>{data.command}</h1>
            <span class="note">{reportData && instantText(Date.parse(reportData.made))}</span>
          </header>
          <Figures data={data} />
          <Matrix data={data} />
          <Points data={data} />
          <Notes data={data} />
        </div>
      </div>
      {chosen.value === null ? selected && <CaseDetail cell={selected} /> : <CallDetail />}
    </div>
  )
}

/** Three numbers that are never one score. */
function Figures({ data: { coverage, cells, runs, saved, quietMs, limitMs } }: { data: ExplorationData }) {
  const shares = [
    ['faults injected / applicable', coverage.delivered],
    ['tolerated / injected', coverage.tolerated],
    ['recovery paths covered / configured', coverage.recoveryPaths],
  ] as const
  return (
    <>
      <dl class="figures">
        {shares.map(([name, { of, all }]) => (
          <div key={name}>
            <dd>
              {of} of {all}
            </dd>
            <dt>{name}</dt>
          </div>
        ))}
      </dl>
      <p class="note">
        {countedText(cells.length, 'case')} tested in {countedText(runs, 'run')}, {saved} derived without a run;
        baseline {spanText(quietMs)}; hang timeout {spanText(limitMs)}
      </p>
    </>
  )
}

function Points({ data: { points } }: { data: ExplorationData }) {
  return (
    <section class="card" aria-label="Injection points">
      <h2>Injection points</h2>
      <ol class="points">
        {points.map(({ id, operation, stream, model, session, turn, nth, unstable, discovered }) => (
          <li key={id}>
            <code>{id}</code>{' '}
            <span class="note">
              {operation}
              {stream && ' stream'}, {model ?? '(no model)'}, turn {turn}, call {nth}
              {id.endsWith(`@${session}`) && `, session ${session}`}
              {unstable && ', in only one of the two baseline runs'}
              {discovered && ', fault runs only'}
            </span>
          </li>
        ))}
      </ol>
    </section>
  )
}

function Notes({ data: { skipped, similar, dropped, fixed, routes } }: { data: ExplorationData }) {
  return (
    <>
      {skipped.length > 0 && (
        <p class="callout warn">
          {countedText(skipped.length, 'case')} skipped: the time limit was reached, or the run was stopped.
        </p>
      )}
      {similar > 0 && (
        <p class="callout warn">
          {countedText(similar, 'case')} skipped: many calls of the same kind occurred, and only a sample was tested.
        </p>
      )}
      {dropped > 0 && (
        <p class="callout warn">
          {countedText(dropped, 'call')} not tested: their traces were dropped, or deleted by a reset.
        </p>
      )}
      {fixed.map(({ point, class: name }) => (
        <p key={`${point} ${name}`} class="callout warn">
          {name} at {point} is fixed: remove it from the known failures.
        </p>
      ))}
      {routes.length > 0 && (
        <section class="card" aria-label="Routes">
          <h2>Results of provider faults</h2>
          {routes.map(({ route, outcomes }) => (
            <details key={route} class="record">
              <summary>
                {route}: {outcomes.filter(({ outcome }) => outcome === 'succeeded').length} of {outcomes.length}{' '}
                succeeded
              </summary>
              <ul class="outcomes">
                {outcomes.map(({ fault, target, status, attempts }) => (
                  <li key={`${fault} ${target}`}>
                    {fault}, {target}: {status} after {countedText(attempts, 'attempt')}
                  </li>
                ))}
              </ul>
            </details>
          ))}
        </section>
      )}
    </>
  )
}
