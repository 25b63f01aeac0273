// The process that has started this one: whether it is there.

/** How often it is looked, in ms. */
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

/** Calls `then` once, when our parent with this process id has ended; at once when it has already. Keeps nothing alive. */
export function whenParentEnds(pid: number, then: () => void): void {
  const timer = setInterval(() => {
    if (isThere(pid)) return
    clearInterval(timer)
    then()
  }, CHECK_MS)
  timer.unref()
}
