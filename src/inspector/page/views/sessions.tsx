// Sessions: the list, the actions on each, and the clock of the selected one; and the session of a view, which is the one in
// the URL, or the default session.
import { useState } from 'preact/hooks'
import type { SessionInfo } from '../../../contract/core/control-answers.ts'
import { ask, askJson } from '../state/api.ts'
import { countText, instantText } from '../state/format.ts'
import { sessionChanges } from '../state/live.ts'
import { hashOf, here, narrow } from '../state/route.ts'
import { ActionButton, Page, Region, saveFile, Table, TextField } from '../ui/layout.tsx'
import { useLoaded } from '../ui/loaded.ts'

const ABOUT = 'Each session has its own data, fixtures, scenario, and clock. Sessions are isolated from each other.'

/** The view. */
export function SessionsView() {
  const { value, error, reload } = useLoaded(loadSessions, [sessionChanges.value])
  const chosen = value?.find(({ name }) => name === sessionHere()) ?? value?.[0]
  return (
    <Page title="Sessions" beside={<p class="note">{ABOUT}</p>}>
      {error !== undefined && <p class="callout bad">{error}</p>}
      <NewSession />
      <Region class="scrolls" label="List of sessions">
        <Table titles={['Name', 'Calls', 'Scenario', 'Clock', 'Seed', 'Fixtures']}>
          {value?.map((session) => (
            <tr key={session.name} aria-current={session.name === chosen?.name ? 'true' : undefined}>
              <td>
                <a href={hashOf('sessions', { session: session.name })}>{session.name}</a>
              </td>
              <td>
                <a href={hashOf('calls', { session: session.name })}>{session.calls}</a>
              </td>
              <td>{session.scenario ?? '–'}</td>
              <td>
                <span class={`tag ${session.clock.kind}`}>{session.clock.kind}</span>
                {session.clock.frozen && 'frozen'}
              </td>
              <td>{session.seed}</td>
              <td>{session.fixtures.length}</td>
            </tr>
          ))}
        </Table>
      </Region>
      {chosen && <SessionPanel key={chosen.name} session={chosen} reload={reload} />}
    </Page>
  )
}

function SessionPanel({ session, reload }: { session: SessionInfo; reload: () => void }) {
  const { name, clock } = session
  const path = `/_understudy/sessions/${encodeURIComponent(name)}`
  const save = async () =>
    saveFile(`${name}.snapshot.json`, await (await ask('/_understudy/snapshot', { session: name })).text())
  const put = async (file: File) => {
    await askJson('/_understudy/snapshot', { method: 'POST', body: JSON.parse(await file.text()), session: name })
    reload()
  }
  return (
    <section class="card" aria-label={`Session ${name}`}>
      <header>
        <h2>{name}</h2>
        <span class="note">
          Current {clock.kind} time: {instantText(Date.parse(clock.now))}
        </span>
      </header>
      <ClockControls session={session} reload={reload} />
      <h3>State</h3>
      <p class="actions">
        <ActionButton act={save}>Save snapshot</ActionButton>
        <SnapshotField put={put} />
        <ActionButton
          act={() => askJson(`${path}/reset`, { method: 'POST' }).then(reload)}
          confirm={`Reset the session ${name} and discard its data?`}
        >
          Reset
        </ActionButton>
        {name !== 'default' && (
          <ActionButton
            kind="danger"
            act={() => askJson(path, { method: 'DELETE' }).then(reload)}
            confirm={`Delete the session ${name}?`}
          >
            Delete
          </ActionButton>
        )}
      </p>
    </section>
  )
}

function SnapshotField({ put }: { put: (file: File) => Promise<void> }) {
  const [file, setFile] = useState<File>()
  return (
    <>
      <label class="file">
        <span class="hidden">Snapshot file</span>
        <input
          type="file"
          accept=".json,application/json"
          onChange={(event) => setFile(event.currentTarget.files?.[0])}
        />
      </label>
      {file && (
        <ActionButton act={() => put(file)} confirm="Replace all data of the session with the snapshot?">
          Load snapshot
        </ActionButton>
      )}
    </>
  )
}

function NewSession() {
  const [name, setName] = useState('')
  const [kind, setKind] = useState<'real' | 'virtual'>('virtual')
  const make = async () => {
    await askJson('/_understudy/sessions', { method: 'POST', body: { name, clock: kind }, session: name })
    setName('')
    sessionChanges.value++
  }
  return (
    <form class="actions" onSubmit={(event) => event.preventDefault()}>
      <TextField label="Name of the new session" placeholder="new session" value={name} onChange={setName} />
      <label>
        <span class="hidden">Clock</span>
        <select value={kind} onChange={(event) => setKind(event.currentTarget.value === 'real' ? 'real' : 'virtual')}>
          <option value="virtual">virtual clock</option>
          <option value="real">real clock</option>
        </select>
      </label>
      <ActionButton act={make} disabled={name.trim() === ''}>
        Create
      </ActionButton>
    </form>
  )
}

const STEPS = ['1s', '10s', '1m', '10m', '1h'] as const

/** The actions on the clock. */
function ClockControls({ session, reload }: { session: SessionInfo; reload: () => void }) {
  const { name, clock } = session
  const [time, setTime] = useState('')
  const [length, setLength] = useState('')
  const change = (body: object) => () =>
    askJson(`/_understudy/sessions/${encodeURIComponent(name)}/clock`, { method: 'POST', body }).then(reload)
  if (clock.kind === 'real') {
    return <p class="note">This session uses the real clock. To control time, create a session with a virtual clock.</p>
  }
  return (
    <>
      <h3>Clock</h3>
      <p class="actions">
        <ActionButton act={change(clock.frozen ? { resume: true } : { freeze: true })}>
          {clock.frozen ? 'Resume' : 'Freeze'}
        </ActionButton>
        <span class="note">
          {clock.frozen ? 'Frozen' : 'Skips to the next timer'} ({countText(clock.waiting)} pending).
        </span>
      </p>
      <p class="actions">
        <span class="note">Advance</span>
        {STEPS.map((step) => (
          <ActionButton key={step} act={change({ advance: step })}>
            {step}
          </ActionButton>
        ))}
        <TextField room="short" label="Duration to advance" placeholder="90s" value={length} onChange={setLength} />
        <ActionButton act={change({ advance: length })} disabled={length === ''}>
          Advance
        </ActionButton>
      </p>
      <p class="actions">
        <TextField
          label="Time to set the clock to"
          placeholder="2025-01-01T00:00:00Z"
          value={time}
          onChange={setTime}
        />
        <ActionButton act={change({ set: time })} disabled={time === ''}>
          Set
        </ActionButton>
      </p>
    </>
  )
}

/** All sessions. */
const loadSessions = async () => (await askJson<{ data: SessionInfo[] }>('/_understudy/sessions')).data

/** The name of the view's session. */
export const sessionHere = (): string => here.value.params.get('session') ?? 'default'

/** URL parameters with the view's session. */
export const withSession = (params: Record<string, string>): Record<string, string> =>
  sessionHere() === 'default' ? params : { ...params, session: sessionHere() }

/** A field to select it. */
export function SessionChoice() {
  const { value = [] } = useLoaded(loadSessions, [sessionChanges.value])
  const chosen = sessionHere()
  const names = [...new Set([chosen, ...value.map(({ name }) => name)])]
  return (
    <label class="session-choice">
      <span>Session</span>
      <select
        value={chosen}
        onChange={(event) => {
          const name = event.currentTarget.value
          narrow({ session: name === 'default' ? undefined : name })
        }}
      >
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}
