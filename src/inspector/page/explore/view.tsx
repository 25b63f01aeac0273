// The result of an exploration: its problems, the matrix, its coverage, and the selected case or one of its calls.
import type { CallDifference, ExplorationData, ReportedCase } from '../../../contract/core/exploration.ts'
import {
  CASE_STYLES,
  DERIVED,
  explorationSentence,
  LEFT_OUT,
  listed,
  PROBLEM_TITLES,
} from '../../../views/problem-text.ts'
import { CallDetail } from '../call/detail.tsx'
import { RunTimeline } from '../call/waterfall.tsx'
import { chosen } from '../calls/shown.ts'
import { callOf } from '../state/call-list.ts'
import { countedText, instantText, spanText } from '../state/format.ts'
import { reportData } from '../state/report.ts'
import { hashOf, here, narrow } from '../state/route.ts'
import { TextChanges, YamlText } from '../ui/editor.tsx'
import { Icon } from '../ui/icons.tsx'
import { Block, Code, CopyButton, Lines, Region, saveFile } from '../ui/layout.tsx'
import { VERDICT_TONES } from '../views/result.tsx'

/** The view, which only exploration reports have. */
export function ExploreView() {
  const data = reportData?.exploration
  if (!data) return null
  const selected = data.cells.find((result) => caseAddress(result) === here.value.params.get('cell'))
  const opened = chosen.value !== null || selected !== undefined
  return (
    <div class={`calls${opened ? ' with-call' : ''}`}>
      <div class="list-pane explore">
        <div class="page wide">
          <Head data={data} />
          <ol class="problems" aria-label="Problems">
            {data.problems.map((problem) => (
              <Problem key={problem.command} problem={problem} />
            ))}
          </ol>
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

/** The matrix, and below it the pairs, which have no place in it. */
function Matrix({ data: { points, classes, cells, skipped } }: { data: ExplorationData }) {
  const by = new Map(cells.map((result) => [caseAddress(result), result]))
  const leftOut = new Set(skipped.map(caseAddress))
  const shown = new Set([...cells, ...skipped].map(({ point }) => point))
  const columns = classes.filter((name) => [...cells, ...skipped].some((result) => result.class === name))
  const ids = new Set(points.map(({ id }) => id))
  const pairs = cells.filter(({ point }) => !ids.has(point))
  return (
    <>
      <Region class="scrolls" label="Matrix">
        <table class="matrix">
          <thead>
            <tr>
              <th scope="col">Injection point</th>
              {columns.map((name) => (
                <th key={name} scope="col">
                  <span>{name}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {points
              .map((point, index) => ({ ...point, number: index + 1 }))
              .filter(({ id }) => shown.has(id))
              .map(({ id, label, number }) => (
                <tr key={id}>
                  <th scope="row" title={id}>
                    p{number} <span class="note">{label}</span>
                  </th>
                  {columns.map((name) => {
                    const place = caseAddress({ point: id, class: name })
                    const result = by.get(place)
                    return (
                      <td key={name}>{result ? <CaseLink cell={result} /> : leftOut.has(place) ? LEFT_OUT : ''}</td>
                    )
                  })}
                </tr>
              ))}
          </tbody>
        </table>
      </Region>
      <Legend />
      {pairs.length > 0 && (
        <section class="card" aria-label="Pairs of faults">
          <h2>Two faults in one run</h2>
          <ul class="outcomes">
            {pairs.map((result) => (
              <li key={caseAddress(result)}>
                <CaseLink cell={result} /> {result.class} at {result.point}
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  )
}

function Legend() {
  return (
    <p class="note">
      {Object.entries(CASE_STYLES).map(([verdict, { sign, tone }]) => (
        <span key={verdict} class="legend">
          <span class={`pill ${tone}`}>{sign}</span> {verdict}
        </span>
      ))}
      <span class="legend">{LEFT_OUT} skipped</span>
      <span class="legend">{DERIVED} derived from the run of another case</span>
    </p>
  )
}

function CaseLink({ cell: result }: { cell: ReportedCase }) {
  const { sign, tone } = CASE_STYLES[result.verdict]
  const name = caseAddress(result)
  return (
    <a
      class={`pill ${tone}`}
      href={hashOf('explore', { cell: name })}
      aria-current={here.value.params.get('cell') === name ? 'true' : undefined}
      aria-label={`${result.verdict}: ${result.class} at ${result.point}${result.derived ? ' (derived)' : ''}`}
      title={`${result.verdict}: ${result.why}`}
    >
      {sign}
      {result.derived && DERIVED}
    </a>
  )
}

/** The id of a case in the URL. */
const caseAddress = ({ point, class: name }: Pick<ReportedCase, 'point' | 'class'>): string => `${point} ${name}`

function CaseDetail({ cell, data }: { cell: ReportedCase; data: ExplorationData }) {
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
            <button type="button" class="quiet" onClick={() => saveFile(`${file}.yaml`, scenario)}>
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
