// The session of a view: the one in the URL, or the default session.
import { askJson } from '../state/api.ts'
import { sessionChanges } from '../state/live.ts'
import { here, narrow } from '../state/route.ts'
import { useLoaded } from '../ui/loaded.ts'

/** A session in the server's list. */
export interface SessionInfo {
  name: string
  seed: number
  clock: { kind: 'real' | 'virtual'; now: string; frozen: boolean; waiting: number }
  scenario: string | null
  approvals: 'ask' | 'auto'
  fixtures: string[]
  calls: number
}

/** All sessions. */
export const loadSessions = async () => (await askJson<{ data: SessionInfo[] }>('/_understudy/sessions')).data

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
