// The command that exec runs: as if it had been typed, in a group of its own, so that all of it can be ended.
import { constants } from 'node:os'
import { ConfigError } from '../../config.ts'
import { realClock } from '../../lib/clock.ts'
import type { CommandIo } from '../io.ts'
import type { StopCause } from './stop-signals.ts'

/** How a command ended. */
export interface ChildEnd {
  /** Its exit code; 128 and the number of the signal that ended it; 124 when its time was up. */
  code: number
  timedOut: boolean
  /** The signal by which a person, or what started us, has asked for the end. */
  stopped: NodeJS.Signals | undefined
}

/** How a command is run. */
interface ChildOptions {
  env: Record<string, string | undefined>
  cwd?: string | undefined
  /** Milliseconds after which it is ended; never when left out. */
  timeout?: number | undefined
  /** Where its output goes: to ours unless told otherwise; a number is a file that is open. */
  output?: 'inherit' | 'ignore' | number | undefined
}

/** Runs a command to its end. */
export type RunChild = (
  io: Pick<CommandIo, 'signals' | 'log'>,
  command: readonly string[],
  options: ChildOptions,
) => Promise<ChildEnd>

/** What `timeout` of coreutils ends with. */
const TIMED_OUT = 124
/** How long a command that is asked to end may take before it is ended. */
const GRACE_MS = 5_000
/** Signals that mean one and the same are no further apart: to the group, and from who is in front of us. */
const TWICE_MS = 500
/** A command that has not ended so long after a Ctrl-C may well take no notice of it. */
const PATIENCE_MS = 2_000
const STILL_RUNS = 'the command is still running; press Ctrl-C again to kill it'

/** Runs a command to its end; what asks us to end reaches it and everything it has started. */
export async function runChild(
  { signals, log }: Pick<CommandIo, 'signals' | 'log'>,
  command: readonly string[],
  options: ChildOptions,
): Promise<ChildEnd> {
  // Heard from before there is anything that could ask for the end; they come when the child is there.
  let passOn = (_: StopCause) => {}
  const hearNoMore = signals.onStop((cause) => passOn(cause))
  // There before the command, which must not outlive us from its first moment on.
  const guard = startGuard()
  const child = startGuarded(command, options, guard)
  const over = new AbortController()
  let timedOut = false
  let stopped: NodeJS.Signals | undefined
  let stoppedAt = 0
  const later = (ms: number, act: () => void) => realClock.sleep(ms, over.signal).then(act, () => {})
  const end = (signal: NodeJS.Signals) => {
    signalGroup(child, signal)
    void later(GRACE_MS, () => signalGroup(child, 'SIGKILL'))
  }
  passOn = (cause) => {
    const now = realClock.now()
    // Nobody is left who could ask again.
    const signal = cause === 'launcher' ? 'SIGTERM' : cause
    if (stopped !== undefined && signal !== 'SIGINT' && cause !== 'launcher' && now - stoppedAt < TWICE_MS) return
    // A person who asks twice will not wait; the same Ctrl-C may also come from whoever has started us.
    if (stopped !== undefined && signal === 'SIGINT') {
      if (now - stoppedAt >= TWICE_MS) signalGroup(child, 'SIGKILL')
      return
    }
    stopped = signal
    stoppedAt = now
    // A test runner may take its time over its own Ctrl-C: the second one ends it.
    // On Windows the console has told it already.
    if (signal === 'SIGINT') {
      if (process.platform !== 'win32') signalGroup(child, signal)
      void later(PATIENCE_MS, () => log.line('warn', STILL_RUNS))
      return
    }
    end(signal)
  }
  if (options.timeout !== undefined) {
    void later(options.timeout, () => {
      timedOut = true
      end('SIGTERM')
    })
  }
  await child.exited
  over.abort()
  // What it has started and left behind.
  if (timedOut) signalGroup(child, 'SIGKILL')
  guard?.kill('SIGKILL')
  hearNoMore()
  return { code: timedOut ? TIMED_OUT : codeOf(child), timedOut, stopped }
}

/** Hears of a group, waits for our end, that of its input, and then ends the group as we would; it is deaf to what we are told. */
const GUARD = `trap '' HUP INT TERM; read -r group || exit; read -r _; kill -s TERM -- "-$group"; sleep ${GRACE_MS / 1_000}; kill -s KILL -- "-$group"`

type Guard = Bun.Subprocess<'pipe', 'ignore', 'ignore'>

/** A process that ends a command, and all it has started, when we are killed and cannot; undefined where there are no groups. */
function startGuard(): Guard | undefined {
  if (process.platform === 'win32') return undefined
  try {
    const io = { stdin: 'pipe', stdout: 'ignore', stderr: 'ignore' } as const
    return Bun.spawn(['/bin/sh', '-c', GUARD], { ...io, detached: true })
  } catch {
    // An image without a shell has none; the command runs without it.
    return undefined
  }
}

/** Starts a command and names its group to the guard, which is of no use when there is no command. */
function startGuarded(command: readonly string[], options: ChildOptions, guard: Guard | undefined): Bun.Subprocess {
  try {
    const child = start(command, options)
    guard?.stdin.write(`${child.pid}\n`)
    guard?.stdin.flush()
    return child
  } catch (error) {
    guard?.kill('SIGKILL')
    throw error
  }
}

function start(command: readonly string[], { env, cwd, output = 'inherit' }: ChildOptions): Bun.Subprocess {
  try {
    return Bun.spawn([...command], {
      env,
      ...(cwd !== undefined && { cwd }),
      stdin: 'inherit',
      stdout: output,
      stderr: output,
      // A group of its own: a signal then reaches all of it, and once.
      detached: process.platform !== 'win32',
    })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const why = code === 'ENOENT' ? 'no such program' : code === 'EACCES' ? 'it is not executable' : message
    throw new ConfigError(`${JSON.stringify(command[0])} cannot be run: ${why}`)
  }
}

const codeOf = ({ exitCode, signalCode }: Bun.Subprocess): number =>
  exitCode ?? 128 + (signalCode ? constants.signals[signalCode as NodeJS.Signals] : 0)

function signalGroup(child: Bun.Subprocess, signal: NodeJS.Signals): void {
  if (process.platform === 'win32') {
    // There are no groups; this ends the command and what it has started.
    if (child.exitCode === null) Bun.spawnSync(['taskkill', '/pid', String(child.pid), '/t', '/f'])
    return
  }
  try {
    process.kill(-child.pid, signal)
  } catch {
    // All of it has ended.
  }
}
