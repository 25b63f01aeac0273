// Processes that a command leaves running when it ends: in its group, or, on Linux, anywhere, known by a variable of the
// run. Their calls would come after the run.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
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
    const { running, starting } = processesOf(run)
    if (running.length === 0 && !starting) return false
    await realClock.sleep(INTERVAL_MS)
  }
  const { running } = processesOf(run)
  for (const id of running) {
    try {
      process.kill(id, 'SIGKILL')
    } catch {
      // It has ended.
    }
  }
  return running.length > 0
}

/** The processes of a run. */
interface RunProcesses {
  /** Their ids; of a whole group, its negative id. */
  running: number[]
  /** Whether there is a process that is just being started, which may be one of them. */
  starting: boolean
}

function processesOf(run: EndedRun): RunProcesses {
  if (process.platform === 'win32') return { running: [], starting: false }
  if (process.platform === 'linux') return processesOnLinux(run)
  try {
    process.kill(-run.group, 0)
    return { running: [-run.group], starting: false }
  } catch {
    return { running: [], starting: false }
  }
}

/** The state and the group in `/proc/PID/stat`, after the name, which may contain anything. */
const STAT = /\) (\S) \d+ (\d+) [^)]*$/s

function processesOnLinux({ group, variable }: EndedRun): RunProcesses {
  const running: number[] = []
  let starting = false
  for (const id of readdirSync('/proc').map(Number)) {
    // Ids grow, so that only processes are read that are younger than the command.
    if (!(id > group)) continue
    try {
      const [, state, groupOf] = STAT.exec(readFileSync(`/proc/${id}/stat`, 'latin1')) ?? []
      // A zombie that nobody has collected does nothing.
      if (state === 'Z' || state === 'X') continue
      if (Number(groupOf) === group) {
        running.push(id)
        continue
      }
      const variables = readFileSync(`/proc/${id}/environ`, 'latin1')
      if (variables.split('\0').includes(variable)) running.push(id)
      // For a moment, a new program has no variables yet. Threads of the kernel, which have no program, never have any.
      else if (variables === '' && readlinkSync(`/proc/${id}/exe`) !== '') starting = true
    } catch {
      // It has ended, or belongs to another user.
    }
  }
  return { running, starting }
}
