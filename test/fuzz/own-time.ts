// What Linux knows of a thread: how long it has waited for a processor that others had, which is not its own fault.
import { readdirSync, readFileSync } from 'node:fs'

/** Milliseconds that a thread ran, and that it was ready and had no processor; 0 where the system does not tell. */
function timesOf(thread: string): { ran: number; waited: number } {
  try {
    const [ran = '0', waited = '0'] = readFileSync(`/proc/${thread}/schedstat`, 'utf8').split(' ')
    return { ran: Number(ran) / 1e6, waited: Number(waited) / 1e6 }
  } catch {
    return { ran: 0, waited: 0 }
  }
}

/** Milliseconds that a thread was ready and had no processor. */
export const waitedMs = (thread: string): number => timesOf(thread).waited

/** The main thread of a process. */
export const mainThread = (pid: number): string => `${pid}/task/${pid}`

/** Threads of the runtime that the main one stands still for: they collect garbage and compile. */
const HELPERS = /^(?:HeapHelper|JITWorker)/

/** What the threads of a process that matter have used. */
export interface ProcessTimes {
  ran: number
  waited: number
  /** Milliseconds that each helper of the runtime had no processor. */
  helpers: ReadonlyMap<string, number>
}

/** The times of a process until now. */
export function processTimes(pid: number): ProcessTimes {
  const helpers = new Map<string, number>()
  for (const thread of threadsOf(pid)) if (isHelper(pid, thread)) helpers.set(thread, waitedMs(`${pid}/task/${thread}`))
  return { ...timesOf(mainThread(pid)), helpers }
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return []
  }
}

/** False as well of a thread that has just ended. */
function isHelper(pid: number, thread: string): boolean {
  try {
    return HELPERS.test(readFileSync(`/proc/${pid}/task/${thread}/comm`, 'utf8'))
  } catch {
    return false
  }
}

/**
 * Of some milliseconds, those that others took from the main thread of a process: in which it had no processor, or stood still while a
 * helper of the runtime had none.
 */
export function takenByOthers(ms: number, before: ProcessTimes, after: ProcessTimes): number {
  const waited = after.waited - before.waited
  const stoodStill = Math.max(0, ms - waited - (after.ran - before.ran))
  const helpers = [...after.helpers].map(([thread, time]) => time - (before.helpers.get(thread) ?? time))
  return waited + Math.min(stoodStill, Math.max(0, ...helpers))
}

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
