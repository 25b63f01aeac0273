// What can be made of a call: files to copy, to save, or to use in a session at once.
import { useState } from 'preact/hooks'
import type { StoredTrace } from '../../../contract/core/trace.ts'
import { askJson } from '../state/api.ts'
import { go, hashOf } from '../state/route.ts'
import { ActionButton } from '../ui/action.tsx'
import { CopyButton, saveFile } from '../ui/copy.tsx'
import { YamlText } from '../ui/editor.tsx'
import { useLoaded } from '../ui/loaded.ts'
import { Code } from './json.tsx'

interface MadeFile {
  name: string
  text: string
  value: Record<string, unknown> | null
}
type Made = Record<'fixture' | 'scenario' | 'test', MadeFile | null>

const KINDS = [
  { kind: 'fixture', label: 'Fixture', none: 'A call that was not answered, or was not kept, makes no fixture.' },
  { kind: 'scenario', label: 'Scenario', none: 'Nothing went wrong in this call.' },
  { kind: 'test', label: 'Test', none: 'This call cannot be written as a test: its body is no JSON.' },
] as const

/** The tab. */
export function MadeTab({ trace }: { trace: StoredTrace }) {
  const [kind, setKind] = useState<(typeof KINDS)[number]['kind']>('fixture')
  const path = `/_understudy/traces/${encodeURIComponent(trace.id)}/made`
  const { value, error } = useLoaded(() => askJson<Made>(path, { session: trace.session }), [trace.id])
  const file = value?.[kind]
  return (
    <>
      <fieldset class="choices">
        <legend class="hidden">What to make of it</legend>
        {KINDS.map((one) => (
          <label key={one.kind}>
            <input type="radio" name="made" checked={one.kind === kind} onChange={() => setKind(one.kind)} />
            {one.label}
          </label>
        ))}
      </fieldset>
      {error !== undefined && <p class="callout bad">{error}</p>}
      {value && !file && <p class="note">{KINDS.find((one) => one.kind === kind)?.none}</p>}
      {file && (
        <section class="block">
          <header>
            <h3>{file.name}</h3>
            <span>
              <CopyButton text={() => file.text} />
              <button type="button" class="quiet" onClick={() => saveFile(file.name, file.text)}>
                Save
              </button>
            </span>
          </header>
          {kind === 'test' ? (
            <Code text={file.text} label={file.name} />
          ) : (
            <YamlText text={file.text} label={file.name} />
          )}
          <p class="note">{USES[kind]}</p>
          {kind !== 'test' && <UseIt id={trace.id} made={value} />}
        </section>
      )}
      <p>
        <a href={hashOf('compare', { a: trace.id })}>Compare this call with another</a>
      </p>
    </>
  )
}

/** Begins a session in which the call goes as it went. */
function UseIt({ id, made }: { id: string; made: Made }) {
  const name = `again-${id.slice(-6).toLowerCase()}`
  const begin = async () => {
    const { fixture, scenario } = made
    const body = {
      name,
      clock: 'virtual',
      fixtures: [fixture?.value].filter(Boolean),
      ...(scenario && { scenario: scenario.value }),
    }
    await askJson('/_understudy/sessions', { method: 'POST', body, session: name })
    go('sessions', { session: name })
  }
  return (
    <p class="actions">
      <ActionButton act={begin}>Begin the session {name} with it</ActionButton>
    </p>
  )
}

const USES = {
  fixture:
    'Put it into a folder of fixtures (serve --fixtures <folder>), or give it to a session with PUT /_understudy/fixtures.',
  scenario: 'Play it with serve --scenario <file> or exec --scenario <file>.',
  test: 'Runs with vitest against a server at UNDERSTUDY_URL.',
}
