// Watches the parent process.
import { processSystem } from './processes.ts'

/** Interval between checks, in ms. */
const CHECK_MS = 500

/**
 * Calls `then` once, when the parent with this process id ends; at once if it has ended already. Does not keep the
 * process alive.
 */
export function whenParentEnds(pid: number, then: () => void): void {
  const { hasParent } = processSystem()
  const timer = setInterval(() => {
    if (hasParent(pid)) return
    clearInterval(timer)
    then()
  }, CHECK_MS)
  timer.unref()
}
