// Watches the parent process.

/** Interval between checks, in ms. */
const CHECK_MS = 500

function isThere(pid: number): boolean {
  // Windows keeps the id of a parent that has ended.
  if (process.platform !== 'win32') return process.ppid === pid
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/**
 * Calls `then` once, when the parent with this process id ends; at once if it has ended already. Does not keep the
 * process alive.
 */
export function whenParentEnds(pid: number, then: () => void): void {
  const timer = setInterval(() => {
    if (isThere(pid)) return
    clearInterval(timer)
    then()
  }, CHECK_MS)
  timer.unref()
}
