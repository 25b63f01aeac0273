// An editor for the active scenario: the server checks the text as it changes; the user applies or reverts it.
import { useEffect, useRef, useState } from 'preact/hooks'
import type { LineRemark, YamlEditor } from '../parts/editor.ts'
import { askJson, errorText } from '../state/api.ts'
import { ActionButton } from '../ui/action.tsx'
import { saveFile } from '../ui/copy.tsx'
import { editor } from '../ui/part.ts'
import type { ScenarioState } from './calls-chart.tsx'

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
export function ScenarioEditor({ state, session, reload }: { state: ScenarioState; session: string; reload(): void }) {
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
