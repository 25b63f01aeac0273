// The clock of a session, with controls if it is virtual.
import { useState } from 'preact/hooks'
import { askJson } from '../state/api.ts'
import { countText } from '../state/format.ts'
import { ActionButton } from '../ui/action.tsx'
import { TextField } from '../ui/layout.tsx'
import type { SessionInfo } from './session-choice.tsx'

const STEPS = ['1s', '10s', '1m', '10m', '1h'] as const

/** The actions on the clock. */
export function ClockControls({ session, reload }: { session: SessionInfo; reload: () => void }) {
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
        {clock.frozen ? (
          <ActionButton act={change({ resume: true })}>Resume</ActionButton>
        ) : (
          <ActionButton act={change({ freeze: true })}>Freeze</ActionButton>
        )}
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
