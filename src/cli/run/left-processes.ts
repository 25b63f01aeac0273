// Processes that a command leaves running when it ends: in its group, or, on Linux, anywhere, known by a variable of the
// run. Their calls would come after the run.
import { readdirSync, readFileSync } from 'node:fs'
import { realClock } from '../../lib/clock.ts'

/** A run of a command that has ended. */
interface EndedRun {
  /** The id of its process group. */
  group: number
  /** A variable that only its processes have, as `NAME=value`. */
  variable: string
}

/** Workers of test runners take a moment longer than the runner. */
const [GRACE_MS, INTERVAL_MS] = [300, 20]

/** Ends the processes that a command has left running. Returns whether there were any. */
export async function endLeftProcesses(run: EndedRun): Promise<boolean> {
  for (let waited = 0; waited < GRACE_MS; waited += INTERVAL_MS) {
    if (runningIn(run).length === 0) return false
    await realClock.sleep(INTERVAL_MS)
  }
  const running = runningIn(run)
  for (const id of running) {
    try {
      process.kill(id, 'SIGKILL')
    } catch {
      // It has ended.
    }
  }
  return running.length > 0
}

/** Ids of the running processes; of a whole group, its negative id. */
function runningIn(run: EndedRun): number[] {
  if (process.platform === 'win32') return []
  if (process.platform === 'linux') return runningOnLinux(run)
  try {
    process.kill(-run.group, 0)
    return [-run.group]
  } catch {
    return []
  }
}

/** The state and the group in `/proc/PID/stat`, after the name, which may contain anything. */
const STAT = /\) (\S) \d+ (\d+) [^)]*$/s

function runningOnLinux({ group, variable }: EndedRun): number[] {
  // Ids grow, so that only processes are read that are younger than the command.
  const younger = readdirSync('/proc')
    .map(Number)
    .filter((id) => id > group)
  return younger.filter((id) => {
    try {
      const [, state, groupOf] = STAT.exec(readFileSync(`/proc/${id}/stat`, 'latin1')) ?? []
      // A zombie that nobody has collected does nothing.
      if (state === 'Z' || state === 'X') return false
      return Number(groupOf) === group || readFileSync(`/proc/${id}/environ`, 'latin1').split('\0').includes(variable)
    } catch {
      // It has ended, or belongs to another user.
      return false
    }
  })
}
