// All calls that the page knows, in order of arrival, and the values for filters.
import { signal, untracked } from '@preact/signals'
import type { CallRow } from '../../../contract/core/call-row.ts'

/** Changes with every change of the list. */
export const changes = signal(0)

/** The same, at a rate that is suitable for requests to the server. */
export const calmChanges = signal(0)
const CALM_MS = 2_000
let calming = false
let more = false
function calm(): void {
  more = calming
  if (calming) return
  calming = true
  calmChanges.value++
  setTimeout(() => {
    calming = false
    if (more) calm()
  }, CALM_MS)
}
changes.subscribe((count) => {
  if (count > 0) untracked(calm)
})

/** Oldest first. */
let rows: CallRow[] = []
const byId = new Map<string, CallRow>()

const isOrdered = (one: CallRow, other: CallRow) =>
  one.arrived - other.arrived ||
  (one.session === other.session ? one.seq - other.seq : one.session < other.session ? -1 : 1)

/** The calls, oldest first. */
export const allCalls = (): readonly CallRow[] => rows

/** The call of a trace. */
export const callOf = (id: string): CallRow | undefined => byId.get(id)

/** Maximum difference in milliseconds between two times of the same clock. */
const SAME_CLOCK_MS = 60_000

/** Whether a call's session has a virtual clock, so that its times differ from the system's clock. */
export const usesVirtualClock = ({ arrived, started }: Pick<CallRow, 'arrived' | 'started'>): boolean =>
  arrived > 0 && Math.abs(started - arrived) > SAME_CLOCK_MS

/** The prompts of the first turns of tasks, by task id. */
export const taskPrompts = (): ReadonlyMap<string, string> =>
  new Map(rows.toReversed().flatMap(({ task, prompt }) => (task === null || prompt === null ? [] : [[task, prompt]])))

/** Adds calls, or updates them. */
export function addCalls(added: readonly CallRow[]): void {
  const fresh: CallRow[] = []
  for (const row of added) {
    const known = byId.get(row.id)
    if (known) Object.assign(known, row)
    else {
      byId.set(row.id, row)
      fresh.push(row)
    }
  }
  // An ordered list needs no sorting.
  if (fresh.length > 0) rows = rows.concat(fresh.sort(isOrdered)).sort(isOrdered)
  if (added.length > 0) changes.value++
}

/** Replaces all calls. */
export function replaceCalls(all: readonly CallRow[]): void {
  rows = []
  byId.clear()
  changes.value++
  addCalls(all)
}

/** Removes the calls of a session. */
export function forgetSession(name: string): void {
  for (const row of rows) if (row.session === name) byId.delete(row.id)
  rows = rows.filter(({ session }) => session !== name)
  changes.value++
}
