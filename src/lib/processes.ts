// What differs between operating systems about processes: groups, the parent, and signals that a launcher wants ignored. The only
// place that asks which system it is for any of them.
import { readFileSync } from 'node:fs'
import { everySoOften } from './clock.ts'

/** A process that was started. */
interface Started {
  pid: number
  exitCode: number | null
}

/** The calls of the system, as arguments so that each system's way can be tested on another. */
interface SystemCalls {
  /** `process.kill`: a negative id means a process group. */
  kill(pid: number, signal: NodeJS.Signals | 0): void
  /** Runs a program to its end. */
  run(command: string[]): void
  /** Id of the parent process. */
  parent(): number
  /** Text of a file of the system. */
  read(file: string): string
}

/** Processes as an operating system has them. */
interface ProcessSystem {
  /** Whether a command can be started in a process group of its own, and all of it be signaled at once. */
  hasGroups: boolean
  /** Sends a signal to a command and everything that it has started. Without groups, any signal ends all of them. */
  signalAll(child: Started, signal: NodeJS.Signals): void
  /** Passes a Ctrl-C on to a command, unless the console has sent it already. */
  interrupt(child: Started): void
  /** Whether the parent process is still the one with this id. */
  hasParent(pid: number): boolean
  /** Whether the launcher wants this process to outlive its terminal, as `nohup` does. */
  ignoresHangup(): boolean
}

/** The first signal, in the mask of ignored ones. */
const HANGUP = 1n

const CALLS: SystemCalls = {
  kill: (pid, signal) => void process.kill(pid, signal),
  run: (command) => void Bun.spawnSync(command),
  parent: () => process.ppid,
  read: (file) => readFileSync(file, 'utf8'),
}

/** Whether a call succeeds. */
function succeeds(call: () => void): boolean {
  try {
    call()
    return true
  } catch {
    return false
  }
}

const windows = ({ kill, run }: SystemCalls): ProcessSystem => ({
  hasGroups: false,
  signalAll({ pid, exitCode }) {
    if (exitCode === null) run(['taskkill', '/pid', String(pid), '/t', '/f'])
  },
  interrupt() {},
  // Windows keeps the id of a parent that has ended.
  hasParent: (pid) => succeeds(() => kill(pid, 0)),
  ignoresHangup: () => false,
})

function posix({ kill, parent }: SystemCalls): ProcessSystem {
  // Fails if all of it has ended.
  const signalAll = ({ pid }: Started, signal: NodeJS.Signals) => void succeeds(() => kill(-pid, signal))
  return {
    hasGroups: true,
    signalAll,
    interrupt: (child) => signalAll(child, 'SIGINT'),
    hasParent: (pid) => parent() === pid,
    ignoresHangup: () => false,
  }
}

const linux = (calls: SystemCalls): ProcessSystem => ({
  ...posix(calls),
  // Only Linux reports it.
  ignoresHangup() {
    try {
      const mask = /^SigIgn:\s*([\da-f]+)/m.exec(calls.read('/proc/self/status'))?.[1]
      return mask !== undefined && (BigInt(`0x${mask}`) & HANGUP) !== 0n
    } catch {
      return false
    }
  },
})

/** The processes of an operating system, by its name in Node. */
export function processSystem(platform: NodeJS.Platform = process.platform, calls: SystemCalls = CALLS): ProcessSystem {
  if (platform === 'win32') return windows(calls)
  return platform === 'linux' ? linux(calls) : posix(calls)
}

/** Interval between checks, in ms. */
const CHECK_MS = 500

/**
 * Calls `then` once, when the parent with this process id ends; at once if it has ended already. Does not keep the
 * process alive.
 */
export function whenParentEnds(pid: number, then: () => void): void {
  const { hasParent } = processSystem()
  const stop = everySoOften(CHECK_MS, () => {
    if (hasParent(pid)) return
    stop()
    then()
  })
}
