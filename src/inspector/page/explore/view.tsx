// The result of an exploration: its problems, the matrix, its coverage, and the selected case or one of its calls.
import type { ExplorationData } from '../../../contract/core/exploration.ts'
import { explorationSentence, listed, PROBLEM_TITLES } from '../../../views/problem-text.ts'
import { CallDetail } from '../call/detail.tsx'
import { chosen } from '../calls/shown.ts'
import { countedText, instantText, spanText } from '../state/format.ts'
import { reportData } from '../state/report.ts'
import { hashOf } from '../state/route.ts'
import { CopyButton, Lines } from '../ui/layout.tsx'
import { VERDICT_TONES } from '../views/verdict.tsx'
import { CaseDetail, currentCase } from './case.tsx'
import { caseAddress, Matrix } from './matrix.tsx'

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
          <Head data={data} />
          <Problems data={data} />
          <h2>Cases</h2>
          <Matrix data={data} />
          <Figures data={data} />
          <Points data={data} />
          <Notes data={data} />
        </div>
      </div>
      {chosen.value === null ? selected && <CaseDetail cell={selected} data={data} /> : <CallDetail />}
    </div>
  )
}

/** The result in one sentence. */
function Head({ data }: { data: ExplorationData }) {
  const { command, verdict, inconclusive } = data
  return (
    <header class="stack">
      <div class="verdict">
        <span class={`pill ${VERDICT_TONES[verdict]}`}>{verdict.toUpperCase()}</span>
        <h1 class="sentence">{explorationSentence({ ...data, cases: data.cells })}</h1>
      </div>
      <Lines lines={inconclusive} class="callout warn" />
      <p class="note">
        <code>{command}</code> · {reportData && instantText(Date.parse(reportData.made))}
      </p>
    </header>
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
        baseline {spanText(quietMs)}; hang limit {spanText(limitMs)}
      </p>
    </>
  )
}

function Points({ data: { points } }: { data: ExplorationData }) {
  const own = points.filter((point) => !point.discovered)
  const discovered = points.filter((point) => point.discovered)
  return (
    <section class="card" aria-label="Injection points">
      <h2>Injection points</h2>
      <PointList points={own} />
      {discovered.length > 0 && (
        <details class="record">
          <summary>{countedText(discovered.length, 'call')} in fault runs only</summary>
          <PointList points={discovered} start={own.length + 1} />
        </details>
      )}
    </section>
  )
}

function PointList({ points, start = 1 }: { points: ExplorationData['points']; start?: number }) {
  return (
    <ol class="points" start={start}>
      {points.map(({ id, label, model, turn, nth, unstable }) => (
        <li key={id}>
          {label}{' '}
          <span class="note">
            {model ?? '(no model)'}, turn {turn}, number {nth} of its kind
            {unstable && ', in only one of the two baseline runs'}, <code>{id}</code>
          </span>
        </li>
      ))}
    </ol>
  )
}

function Notes({ data }: { data: ExplorationData }) {
  const { skipped, similar, dropped, fixed, routes, notEmulated } = data
  const untested = [
    [skipped.length, 'case', 'skipped: the time limit was reached, or the run was stopped.'],
    [similar, 'case', 'skipped: many calls of the same kind occurred, and only a sample was tested.'],
    [dropped, 'call', 'not tested: their traces were dropped, or deleted by a reset.'],
  ] as const
  const warnings = [
    ...untested.flatMap(([count, noun, why]) => (count > 0 ? [`${countedText(count, noun)} ${why}`] : [])),
    ...fixed.map(({ point, class: name }) => `${name} at ${point} is fixed: remove it from the known failures.`),
  ]
  return (
    <>
      {notEmulated.length > 0 && (
        <section class="callout warn" aria-label="APIs that are not emulated">
          <Lines lines={notEmulated} />
        </section>
      )}
      <Lines lines={warnings} class="callout warn" />
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

/** The list of problems. */
function Problems({ data: { problems } }: { data: ExplorationData }) {
  return (
    <ol class="problems" aria-label="Problems">
      {problems.map((problem) => (
        <Problem key={problem.command} problem={problem} />
      ))}
    </ol>
  )
}

function Problem({ problem }: { problem: ExplorationData['problems'][number] }) {
  const { kind, severity, why, calls, classes, cases, command } = problem
  const [first] = cases
  return (
    <li class={`card ${severity === 'error' ? 'bad' : 'warning'}`}>
      <h2>
        <span class={`pill ${severity === 'error' ? 'bad' : 'warning'}`}>{severity}</span>{' '}
        <a href={hashOf('explore', { cell: first ? caseAddress(first) : '' })}>{PROBLEM_TITLES[kind]}</a>
      </h2>
      <p>{listed(calls)}</p>
      <p class="note">under {listed(classes)}</p>
      <p class="why">{why}</p>
      <div class="command">
        <code>{command}</code> <CopyButton text={() => command} />
      </div>
    </li>
  )
}
