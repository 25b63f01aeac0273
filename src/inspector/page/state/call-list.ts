// All calls that the page knows, in the order in which they came, with what lists of choices are made of.
import { signal, untracked } from '@preact/signals'
import type { CallRow } from '../../../contract/core/call-row.ts'

/** Counts every change, so that whoever shows calls looks again. */
export const changes = signal(0)

/** The same, at a pace at which the server can be asked about it. */
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

/** Milliseconds by which the clocks of a call differ that are the same one. */
const SAME_CLOCK_MS = 60_000

/** Whether a call's session has a virtual clock: its times are not those of the system's clock. */
export const usesVirtualClock = ({ arrived, started }: Pick<CallRow, 'arrived' | 'started'>): boolean =>
  arrived > 0 && Math.abs(started - arrived) > SAME_CLOCK_MS

/** The prompts of the first turns of tasks, by the id of the task. */
export const taskPrompts = (): ReadonlyMap<string, string> =>
  new Map(rows.toReversed().flatMap(({ task, prompt }) => (task === null || prompt === null ? [] : [[task, prompt]])))

/** Adds calls, or puts what is new of them in their place. */
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
  // What is ordered already is no work to sort.
  if (fresh.length > 0) rows = rows.concat(fresh.sort(isOrdered)).sort(isOrdered)
  if (added.length > 0) changes.value++
}

/** Puts calls in the place of all that are here. */
export function replaceCalls(all: readonly CallRow[]): void {
  rows = []
  byId.clear()
  changes.value++
  addCalls(all)
}

/** Takes away the calls of a session. */
export function forgetSession(name: string): void {
  for (const row of rows) if (row.session === name) byId.delete(row.id)
  rows = rows.filter(({ session }) => session !== name)
  changes.value++
}
