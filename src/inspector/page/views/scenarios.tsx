// Scenarios: the active scenario with the counts of its rules, the verdict on the clients, and the calls over time.
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Verification } from '../../../contract/core/verification.ts'
import type { LineRemark, YamlEditor } from '../parts/editor.ts'
import { askJson, errorText } from '../state/api.ts'
import { allCalls, calmChanges } from '../state/call-list.ts'
import { countedText, instantText } from '../state/format.ts'
import { sessionChanges } from '../state/live.ts'
import { reportData } from '../state/report.ts'
import { ActionButton, Lines, Page, Region, saveFile, Table } from '../ui/layout.tsx'
import { useLoaded } from '../ui/loaded.ts'
import { editor } from '../ui/part.ts'
import { CallsChart, type ScenarioState } from './calls-chart.tsx'
import { SessionChoice, sessionHere } from './session-choice.tsx'
import { Verdict } from './verdict.tsx'

interface KnownScenario {
  name: string
  description: string | null
  from: string
}

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
  const state = useLoaded(() => askJson<ScenarioState>('/_understudy/scenario', { session }), when)
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

function ScenarioChoice({ state, session, reload }: { state: ScenarioState; session: string; reload(): void }) {
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

function Rules({ rules }: { rules: ScenarioState['rules'] }) {
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

interface Checked {
  valid: boolean
  name: string | null
  problems: LineRemark[]
  warnings: LineRemark[]
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
function ScenarioEditor({ state, session, reload }: { state: ScenarioState; session: string; reload(): void }) {
  const [open, setOpen] = useState(false)
  return (
    <details class="scenario-editor" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{state.scenario === null ? 'New' : 'Edit'}</summary>
      {open && <OpenEditor inForce={state.text} session={session} reload={reload} />}
    </details>
  )
}

function OpenEditor({ inForce, session, reload }: { inForce: string | null; session: string; reload(): void }) {
  const place = useRef<HTMLDivElement>(null)
  const view = useRef<YamlEditor | undefined>(undefined)
  const original = inForce ?? EMPTY
  const [begun] = useState(original)
  const [text, setText] = useState(original)
  const [checked, setChecked] = useState<{ value?: Checked; error?: string }>({})
  const written = useRef(original)
  useEffect(() => {
    const host = place.current
    if (!host) return
    const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
    view.current = editor().editYaml(root, { text: begun, label: 'Scenario as YAML' }, (next) => {
      written.current = next
      setText(next)
    })
    return () => view.current?.destroy()
  }, [begun])
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
        const value = await askJson<Checked>('/_understudy/scenario/check', { method: 'POST', body: { text }, session })
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

function CheckWords({ valid, problems, warnings }: Checked) {
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
