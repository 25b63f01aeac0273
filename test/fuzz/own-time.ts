// What Linux knows of a thread: how long it has waited for a processor that others had, which is not its own fault.
import { readFileSync } from 'node:fs'

/** Milliseconds that a thread was ready and had no processor; 0 where the system does not tell. */
export function waitedMs(thread: string): number {
  try {
    const [, waited = '0'] = readFileSync(`/proc/${thread}/schedstat`, 'utf8').split(' ')
    return Number(waited) / 1e6
  } catch {
    return 0
  }
}

/** The main thread of a process. */
export const mainThread = (pid: number): string => `${pid}/task/${pid}`

/** Measures the longest time that this process was busy with something else than its event loop, less what others took. */
export function loopGauge(everyMs = 5) {
  let at = performance.now()
  let waited = waitedMs(mainThread(process.pid))
  let worst = 0
  const look = () => {
    const [time, nowWaited] = [performance.now(), waitedMs(mainThread(process.pid))]
    worst = Math.max(worst, time - at - (nowWaited - waited) - everyMs)
    at = time
    waited = nowWaited
  }
  const timer = setInterval(look, everyMs)
  return {
    /** Ends it, and resolves to the milliseconds. */
    stop(): number {
      look()
      clearInterval(timer)
      return worst
    },
  }
}

/** What is said of a server that did nothing else for so long. */
export const stallOf = (ms: number): string => `the server answered nobody for ${Math.round(ms)} ms`
