// Which session a view is about: the one that the address names, else the default one.
import { askJson } from '../state/api.ts'
import { sessionChanges } from '../state/live.ts'
import { here, narrow } from '../state/route.ts'
import { useLoaded } from '../ui/loaded.ts'

/** A session as the server lists it. */
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

/** The name of the session that the view is about. */
export const sessionHere = (): string => here.value.params.get('session') ?? 'default'

/** Parameters of an address with the session that the view is about. */
export const withSession = (params: Record<string, string>): Record<string, string> =>
  sessionHere() === 'default' ? params : { ...params, session: sessionHere() }

/** A field to choose it. */
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
