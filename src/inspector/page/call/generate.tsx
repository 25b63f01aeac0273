// Files generated from a call: to copy, to save, or to use in a new session.
import { useState } from 'preact/hooks'
import type { StoredTrace } from '../../../contract/core/trace.ts'
import { askJson } from '../state/api.ts'
import { go } from '../state/route.ts'
import { YamlText } from '../ui/editor.tsx'
import { Icon } from '../ui/icons.tsx'
import { ActionButton, CopyButton, saveFile } from '../ui/layout.tsx'
import { useLoaded } from '../ui/loaded.ts'
import { Code } from './json.tsx'

interface GeneratedFile {
  name: string
  text: string
  value: Record<string, unknown> | null
}
type Generated = Record<'fixture' | 'scenario' | 'test', GeneratedFile | null>

const KINDS = [
  { kind: 'fixture', label: 'Fixture', none: 'No fixture: the call failed, or its response was not stored.' },
  { kind: 'scenario', label: 'Scenario', none: 'No scenario: nothing failed in this call.' },
  { kind: 'test', label: 'Test', none: 'No test: the request body is not JSON.' },
] as const

/** The tab. */
export function GenerateTab({ trace }: { trace: StoredTrace }) {
  const [kind, setKind] = useState<(typeof KINDS)[number]['kind']>('fixture')
  const path = `/_understudy/traces/${encodeURIComponent(trace.id)}/reproduction`
  const { value, error } = useLoaded(() => askJson<Generated>(path, { session: trace.session }), [trace.id])
  const file = value?.[kind]
  return (
    <>
      <fieldset class="choices">
        <legend class="hidden">What to generate</legend>
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
            <span class="actions">
              <CopyButton text={() => file.text} />
              <button type="button" class="quiet" onClick={() => saveFile(file.name, file.text)}>
                <Icon name="save" /> Save
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
    </>
  )
}

/** Creates a session that reproduces the call. */
function UseIt({ id, made }: { id: string; made: Generated }) {
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
      <ActionButton act={begin}>Create the session {name} with it</ActionButton>
    </p>
  )
}

const USES = {
  fixture:
    'Save it in a fixture folder (serve --fixtures <folder>), or load it into a session with PUT /_understudy/fixtures.',
  scenario: 'Run it with serve --scenario <file> or exec --scenario <file>.',
  test: 'Run it with vitest against a server at UNDERSTUDY_URL.',
}
