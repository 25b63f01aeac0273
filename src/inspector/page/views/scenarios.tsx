// Scenarios: the active scenario with the counts of its rules, the verdict on the clients, and the calls over time.

import { useComputed } from '@preact/signals'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type uPlot from 'uplot'
import type { CallRow } from '../../../contract/core/call-row.ts'
import type { ScenarioCheck, ScenarioReport } from '../../../contract/core/control-answers.ts'
import type { Verification } from '../../../contract/core/verification.ts'
import { STEPS } from '../call/axis.ts'
import type { YamlEditor } from '../parts/editor.ts'
import { askJson, errorText } from '../state/api.ts'
import { allCalls, calmChanges, usesVirtualClock } from '../state/call-list.ts'
import { countedText, instantText, tickText } from '../state/format.ts'
import { sessionChanges } from '../state/live.ts'
import { reportData } from '../state/report.ts'
import { theme } from '../state/theme.ts'
import { chart, useEditor } from '../ui/editor.tsx'
import { ActionButton, Lines, Page, Region, saveFile, Table } from '../ui/layout.tsx'
import { useLoaded } from '../ui/loaded.ts'
import { Verdict } from './result.tsx'
import { SessionChoice, sessionHere } from './sessions.tsx'

type KnownScenario = { name: string; description: string | null }

/** A session with more calls is verified once, and then only on request. */
const MANY_CALLS = 20_000

/** The view. */
export function ScenariosView() {
  return reportData ? <ReportedScenarios /> : <LiveScenario />
}

function ReportedScenarios() {
  if (!reportData) return null
  const { title, made, left_out: leftOut, verdicts } = reportData
  const omitted = leftOut > 0 ? `; ${countedText(leftOut, 'call')} without details` : ''
  const about = `${title}, ${instantText(Date.parse(made))}${omitted}`
  return (
    <Page title="Scenarios" beside={<p class="note">{about}</p>}>
      {verdicts.length === 0 && <p class="note">This report has no verdicts.</p>}
      {verdicts.map((verdict) => (
        <section key={verdict.session} class="card" aria-label={`Session ${verdict.session}`}>
          <header>
            <h2>{verdict.session}</h2>
            <span class="note">{verdict.scenario ?? 'no scenario'}</span>
          </header>
          {verdict.rules.length > 0 && <Rules rules={verdict.rules} />}
          <CallsChart session={verdict.session} state={undefined} />
          <Verdict verdict={verdict} />
        </section>
      ))}
    </Page>
  )
}

function LiveScenario() {
  const session = sessionHere()
  const many = allCalls().length > MANY_CALLS
  const when = [session, sessionChanges.value, many ? 0 : calmChanges.value]
  const state = useLoaded(() => askJson<ScenarioReport>('/_understudy/scenario', { session }), when)
  const verdict = useLoaded(() => askJson<Verification>('/_understudy/verify', { session }), when)
  const { value } = state
  return (
    <Page title="Scenarios" beside={<SessionChoice />}>
      {state.error !== undefined && <p class="callout bad">{state.error}</p>}
      {value && <ScenarioChoice state={value} session={session} reload={state.reload} />}
      {value?.problem && <p class="callout bad">{value.problem}</p>}
      {value && <Lines lines={value.warnings} class="callout warn" />}
      <CallsChart session={session} state={value} />
      {value && value.rules.length > 0 && (
        <section class="card" aria-label="Rules">
          <h2>Rules</h2>
          <Rules rules={value.rules} />
        </section>
      )}
      {verdict.value && (
        <section class="card" aria-label="Verdict">
          <Verdict verdict={verdict.value} />
          {many && (
            <p class="actions">
              <button type="button" onClick={verdict.reload}>
                Verify again
              </button>
            </p>
          )}
        </section>
      )}
    </Page>
  )
}

function ScenarioChoice({ state, session, reload }: { state: ScenarioReport; session: string; reload(): void }) {
  const { value: known = [] } = useLoaded(
    async () => (await askJson<{ data: KnownScenario[] }>('/_understudy/scenarios')).data,
    [],
  )
  const [picked, pick] = useState<{ name: string; beside: string }>()
  const context = JSON.stringify([session, state.scenario])
  // Another session, or a change of the active scenario, resets the choice.
  const name = (picked?.beside === context ? picked.name : state.scenario) ?? ''
  const about = known.find((one) => one.name === name)
  // A scenario without a known name is activated by its text.
  const isOwn = state.scenario !== null && !known.some((one) => one.name === state.scenario)
  const body = isOwn && name === state.scenario ? { text: state.text } : { name }
  const path = '/_understudy/scenario'
  return (
    <section class="card" aria-label="Scenario">
      <header>
        <h2>{state.scenario ?? 'No active scenario'}</h2>
        <span class="note">
          {state.scenario === null ? 'No faults are injected.' : `source: ${state.from}, state: ${state.state}`}
        </span>
      </header>
      <p class="actions">
        <label>
          Scenario
          <select value={name} onChange={(event) => pick({ name: event.currentTarget.value, beside: context })}>
            <option value="">Select a scenario</option>
            {isOwn && <option value={state.scenario ?? ''}>{state.scenario}</option>}
            {known.map((one) => (
              <option key={one.name} value={one.name}>
                {one.name}
              </option>
            ))}
          </select>
        </label>
        <ActionButton
          kind="primary"
          disabled={name === ''}
          act={() => askJson(path, { method: 'PUT', body, session }).then(reload)}
        >
          {name === state.scenario ? 'Restart' : 'Activate'}
        </ActionButton>
        {state.scenario !== null && (
          <ActionButton act={() => askJson(path, { method: 'DELETE', session }).then(reload)}>Deactivate</ActionButton>
        )}
      </p>
      {about?.description && <p class="note">{about.description}</p>}
      <ScenarioEditor key={session} state={state} session={session} reload={reload} />
    </section>
  )
}

function Rules({ rules }: { rules: ScenarioReport['rules'] }) {
  return (
    <Region class="scrolls" label="Rule counts">
      <Table titles={['Rule', 'Fault', 'Applies to', '#Matched', '#Triggered', '#Injected', 'Notes']}>
        {rules.map(({ name, fault, at, matched, triggered: fired, applied, skipped, not_triggered: idle }) => (
          <tr key={name}>
            <td>{name}</td>
            <td>{fault ?? '–'}</td>
            <td>{at}</td>
            <td class="number">{matched}</td>
            <td class="number">{fired}</td>
            <td class="number">{applied}</td>
            <td class="note">
              {[
                ...(idle === null ? [] : [idle]),
                ...Object.entries(skipped).map(([why, count]) => `${why}: ${count}`),
              ].join('; ')}
            </td>
          </tr>
        ))}
      </Table>
    </Region>
  )
}

/** The initial text if no scenario is active. */
const EMPTY = `name: my-scenario
rules:
  - name: first-call-fails
    when: { calls: 1 }
    fault: { type: http-error, status: 503 }
`
/** A text is checked after a pause of so many ms. */
const PAUSE_MS = 300

/** The editor, closed at first. */
function ScenarioEditor({ state, session, reload }: { state: ScenarioReport; session: string; reload(): void }) {
  const [open, setOpen] = useState(false)
  return (
    <details class="scenario-editor" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{state.scenario === null ? 'New' : 'Edit'}</summary>
      {open && <OpenEditor inForce={state.text} session={session} reload={reload} />}
    </details>
  )
}

function OpenEditor({ inForce, session, reload }: { inForce: string | null; session: string; reload(): void }) {
  const view = useRef<YamlEditor | undefined>(undefined)
  const original = inForce ?? EMPTY
  const [begun] = useState(original)
  const [text, setText] = useState(original)
  const [checked, setChecked] = useState<{ value?: ScenarioCheck; error?: string }>({})
  const written = useRef(original)
  const place = useEditor([begun], (part, root) => {
    view.current = part.editYaml(root, { text: begun, label: 'Scenario as YAML' }, (next) => {
      written.current = next
      setText(next)
    })
    return () => view.current?.destroy()
  })
  // A scenario that was activated elsewhere is shown, unless the user is editing.
  const shown = useRef(original)
  useEffect(() => {
    if (written.current === shown.current && written.current !== original) view.current?.replace(original)
    shown.current = original
  }, [original])
  // The server's check of the text, after a pause.
  useEffect(() => {
    let meant = true
    setChecked({})
    const timer = setTimeout(async () => {
      try {
        const value = await askJson<ScenarioCheck>('/_understudy/scenario/check', {
          method: 'POST',
          body: { text },
          session,
        })
        if (!meant) return
        setChecked({ value })
        view.current?.remark([...value.problems, ...value.warnings])
      } catch (error) {
        if (meant) setChecked({ error: errorText(error) })
      }
    }, PAUSE_MS)
    return () => {
      meant = false
      clearTimeout(timer)
    }
  }, [text, session])
  const activate = () => askJson('/_understudy/scenario', { method: 'PUT', body: { text }, session }).then(reload)
  const changed = text !== original
  return (
    <>
      <div ref={place} class="editor writable" />
      <div class="check" role="status">
        {checked.error !== undefined && <p class="callout bad">{checked.error}</p>}
        {checked.value && <CheckWords {...checked.value} />}
      </div>
      <p class="actions">
        <ActionButton kind="primary" disabled={!checked.value?.valid || (inForce !== null && !changed)} act={activate}>
          Apply
        </ActionButton>
        <button type="button" disabled={!changed} onClick={() => view.current?.replace(original)}>
          Revert
        </button>
        <button type="button" class="quiet" onClick={() => saveFile(`${checked.value?.name ?? 'scenario'}.yaml`, text)}>
          Save to file
        </button>
      </p>
    </>
  )
}

function CheckWords({ valid, problems, warnings }: ScenarioCheck) {
  if (valid && warnings.length === 0) return <p class="note">Valid</p>
  return (
    <ul class={valid ? 'note' : 'bad'}>
      {[...problems, ...warnings].map(({ line, message }, index) => (
        <li key={index}>
          Line {line}: {message}
        </li>
      ))}
    </ul>
  )
}

const HEIGHT = 200
const SLOTS = 120

function CallsChart({ session, state }: { session: string; state: ScenarioReport | undefined }) {
  const element = useRef<HTMLDivElement>(null)
  // Colors on a canvas are those of the time when it was drawn.
  const now = useComputed(() => ({ theme: theme.value, changes: calmChanges.value, calls: [...allCalls()] })).value
  const rows = useMemo(() => now.calls.filter((row) => row.session === session), [now, session])
  useEffect(() => {
    const place = element.current
    if (!place || rows.length === 0) return
    const plot = draw(place, rows, state)
    const observer = new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height: HEIGHT }))
    observer.observe(place)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [rows, state])
  if (rows.length === 0) return null
  const failed = rows.filter(({ outcome }) => outcome !== 'succeeded').length
  return (
    <figure class="card chart">
      <figcaption>
        <h2>Calls over time</h2>
        <span class="note">
          {countedText(rows.length, 'call')}, {failed} failed, in {rows.some(usesVirtualClock) ? 'virtual' : 'real'}{' '}
          time
        </span>
      </figcaption>
      <div ref={element} role="img" aria-label={`${rows.length} calls over time, ${failed} of them failed`} />
    </figure>
  )
}

/** Counts per time slot. */
function slotsOf(rows: readonly CallRow[]) {
  const from = rows.reduce((least, { started }) => Math.min(least, started), Number.POSITIVE_INFINITY)
  const to = rows.reduce((most, { started, duration }) => Math.max(most, started + duration), from + 1)
  const step = Math.max(1, Math.ceil((to - from) / SLOTS))
  const count = Math.floor((to - from) / step) + 2
  const empty = () => new Array<number>(count).fill(0)
  const [answered, failed] = [empty(), empty()]
  const waited = new Array<number | null>(count).fill(null)
  for (const row of rows) {
    const at = Math.floor((row.started - from) / step)
    const series = row.outcome === 'succeeded' ? answered : failed
    series[at] = (series[at] ?? 0) + 1
    if (row.waited > 0) waited[at] = Math.max(waited[at] ?? 0, row.waited)
  }
  return { from, times: answered.map((_, index) => index * step), answered, failed, waited }
}

/** An axis of whole calls has no ticks in between. */
const WHOLE = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 50_000]

/** The page's colors, for a canvas. */
function coloursIn(place: HTMLElement, names: readonly string[]): string[] {
  const style = getComputedStyle(place)
  return names.map((name) => {
    place.style.color = `var(--${name})`
    const value = style.color
    place.style.color = ''
    return value
  })
}

function draw(place: HTMLElement, rows: readonly CallRow[], state: ScenarioReport | undefined) {
  const { uPlot: Plot } = chart()
  const { from, times, answered, failed, waited } = slotsOf(rows)
  const [good = '', bad = '', wait = '', text = '', line = ''] = coloursIn(place, COLOURS)
  const bars = Plot.paths.bars?.({ size: [0.9, 40, 1], align: 1 })
  const bar = { points: { show: false }, ...(bars && { paths: bars }) }
  const axis = {
    stroke: text,
    grid: { stroke: line, width: 1 },
    ticks: { show: false },
    size: 34,
    font: '10px system-ui',
  }
  const spans = (_: uPlot, all: readonly number[]) => all.map(tickText)
  const marks = (_: uPlot, series: number) => [text, good, bad, wait][series] ?? text
  const fromNothing = { range: (_: uPlot, __: number, most: number): [number, number] => [0, Math.max(1, most)] }
  return new Plot(
    {
      width: place.clientWidth,
      height: HEIGHT,
      legend: { live: false, markers: { fill: marks, stroke: marks } },
      cursor: { drag: { x: false, y: false } },
      scales: { x: { time: false }, waits: fromNothing, y: fromNothing },
      axes: [
        { ...axis, size: 24, incrs: STEPS, values: spans },
        { ...axis, incrs: WHOLE },
        { ...axis, size: 56, incrs: STEPS, scale: 'waits', side: 1, grid: { show: false }, values: spans },
      ],
      series: [
        {},
        { label: 'succeeded', fill: good, ...bar },
        { label: 'failed', fill: bad, ...bar },
        {
          ...{ label: 'longest wait', stroke: wait, scale: 'waits', width: 0 },
          points: { show: true, size: 7, fill: wait, stroke: line },
        },
      ],
      hooks: { drawClear: [(plot) => drawPhases(plot, { from, state })] },
    },
    [times, answered.map((count, index) => count + (failed[index] ?? 0)), failed, waited],
    place,
  )
}

const COLOURS = ['good', 'bad', 'warn', 'text-3', 'line']
const PHASES: Record<string, number> = { healthy: 0, degrading: 0.06, down: 0.12, recovering: 0.06 }

/** Bands behind the bars. */
function drawPhases(plot: uPlot, { from, state }: { from: number; state: ScenarioReport | undefined }): void {
  const start = state?.started_at ? Date.parse(state.started_at) - from : undefined
  if (start === undefined) return
  const { ctx, bbox } = plot
  for (const { phase, from_ms, to_ms } of state?.phases ?? []) {
    const left = Math.max(bbox.left, plot.valToPos(start + from_ms, 'x', true))
    const end = to_ms === null ? bbox.left + bbox.width : plot.valToPos(start + to_ms, 'x', true)
    const right = Math.min(bbox.left + bbox.width, end)
    if (right <= left) continue
    ctx.fillStyle = `rgba(220, 60, 60, ${PHASES[phase] ?? 0})`
    ctx.fillRect(left, bbox.top, right - left, bbox.height)
  }
}
