// Frees the data of ended generations and deleted sessions: soon, since a busy server ends many sessions in a second, and
// their memory is not returned to the system.
import { everySoOften } from '../lib/clock.ts'
import { inSlices } from '../lib/slices.ts'
import type { SessionData } from './data.ts'

/** Minimum time in ms before unused data is closed: the work of an ended generation writes its last lines some turns later. */
const DISCARDED_AFTER_MS = 500

/** The users of data. */
export interface DataUsers {
  /** Number of calls and other activities in progress. */
  active: number
}

/** Receives data that no generation has any more, with its users. */
export type Discard = (data: Pick<SessionData, 'discard'>, users: Readonly<DataUsers>) => void

/** Closes discarded data a short time after its last user has ended. Does nothing for data in files. */
export function createDiscards(every = everySoOften): Discard {
  let discarded: { discard(): void; users: Readonly<DataUsers>; isDue: boolean }[] = []
  let stop: (() => void) | undefined
  const closeDue = () => {
    const due = discarded.filter(({ isDue, users }) => isDue && users.active === 0)
    discarded = discarded.filter((one) => !due.includes(one))
    for (const one of discarded) one.isDue = one.users.active === 0
    if (discarded.length === 0) {
      stop?.()
      stop = undefined
    }
    void inSlices(due, ({ discard }) => discard())
  }
  return (data, users) => {
    const { discard } = data
    if (!discard) return
    discarded.push({ discard, users, isDue: false })
    stop ??= every(DISCARDED_AFTER_MS, closeDue)
  }
}
