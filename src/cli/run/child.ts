// Runs the command of exec as if it had been typed, in a process group of its own, so that all of it can be ended.
import { constants } from 'node:os'
import { ConfigError } from '../../config.ts'
import { realClock } from '../../lib/clock.ts'
import { processSystem } from '../../lib/processes.ts'
import type { CommandIo } from '../io.ts'
import type { ChildInput } from './child-input.ts'
import type { StopCause } from './stop-signals.ts'

const system = processSystem()

/** How a command ended. */
export interface ChildEnd {
  /** The id of its process, which is that of its group. Undefined for a program of this process. */
  pid?: number
  /** Its exit code; 128 plus the number of the signal that ended it; 124 for a timeout. */
  code: number
  timedOut: boolean
  /** The signal by which a user, or our launcher, requested the end. */
  stopped: NodeJS.Signals | undefined
}

/** Options of a run. */
interface ChildOptions {
  env: Record<string, string | undefined>
  cwd?: string | undefined
  /** Milliseconds until it is ended; unlimited if omitted. */
  timeout?: number | undefined
  /** Ends it like a timeout. */
  expires?: AbortSignal | undefined
  /** Ends it because its result is not needed. */
  cancels?: AbortSignal | undefined
  /**
   * Milliseconds that it may take to stop before it is killed, also after Ctrl-C. Default: 5 s; after Ctrl-C, until the
   * next one.
   */
  grace?: number | undefined
  /** The target of its output, default ours; a number is an open file. */
  output?: 'inherit' | 'ignore' | number | undefined
  /** Its input, default ours. */
  input?: ChildInput | undefined
}

/** Runs a command to its end. */
export type RunChild = typeof runChild

/** Exit code of `timeout` of coreutils. */
const TIMED_OUT = 124
/** How long a command may take to stop before it is killed. */
const GRACE_MS = 5_000
/** Maximum time between signals that mean the same: to the process group, and from our launcher. */
const TWICE_MS = 500
/** A command that has not ended so long after a Ctrl-C may be ignoring it. */
const INTERRUPT_GRACE_MS = 2_000
const STILL_RUNS = 'the command is still running; press Ctrl-C again to kill it'

/** Runs a command to its end. A request to stop is passed on to it and everything it has started. */
export async function runChild(
  { signals, log }: Pick<CommandIo, 'signals' | 'log'>,
  command: readonly string[],
  options: ChildOptions,
): Promise<ChildEnd> {
  // Listens before anything could request a stop. Requests are passed on once the child exists.
  let passOn = (_: StopCause) => {}
  const hearNoMore = signals.onStop((cause) => passOn(cause))
  // Started before the command, which must not outlive us even at its start.
  const guard = startGuard()
  const child = startGuarded(command, options, guard)
  const ended = new AbortController()
  let timedOut = false
  let stopped: NodeJS.Signals | undefined
  let stoppedAt = 0
  const later = (ms: number, act: () => void) => realClock.sleep(ms, ended.signal).then(act, () => {})
  const { grace, timeout, expires, cancels } = options
  const end = (signal: NodeJS.Signals) => {
    system.signalAll(child, signal)
    void later(grace ?? GRACE_MS, () => system.signalAll(child, 'SIGKILL'))
  }
  passOn = (cause) => {
    const now = realClock.now()
    // No one is left to send a second request.
    const signal = cause === 'launcher' ? 'SIGTERM' : cause
    if (stopped !== undefined && signal !== 'SIGINT' && cause !== 'launcher' && now - stoppedAt < TWICE_MS) return
    // A user who asks twice will not wait. The same Ctrl-C may also arrive from our launcher.
    if (stopped !== undefined && signal === 'SIGINT') {
      if (now - stoppedAt >= TWICE_MS) system.signalAll(child, 'SIGKILL')
      return
    }
    stopped = signal
    stoppedAt = now
    // A test runner may take its time after its own Ctrl-C: a second one ends it.
    if (signal === 'SIGINT' && grace === undefined) {
      system.interrupt(child)
      void later(INTERRUPT_GRACE_MS, () => log.line('warn', STILL_RUNS))
      return
    }
    end(signal)
  }
  const expire = () => {
    timedOut = true
    end('SIGTERM')
  }
  if (timeout !== undefined) void later(timeout, expire)
  whenAborted(expires, ended.signal, expire)
  whenAborted(cancels, ended.signal, () => end('SIGTERM'))
  await child.exited
  ended.abort()
  // Ends what it has left behind.
  if (timedOut || cancels?.aborted) system.signalAll(child, 'SIGKILL')
  guard?.kill('SIGKILL')
  hearNoMore()
  return { pid: child.pid, code: timedOut ? TIMED_OUT : codeOf(child), timedOut, stopped }
}

/** Acts when a signal aborts, also if it has already; not after the end of the command. */
function whenAborted(signal: AbortSignal | undefined, ended: AbortSignal, act: () => void): void {
  if (signal?.aborted) act()
  else signal?.addEventListener('abort', act, { once: true, signal: ended })
}

/**
 * Reads a process group, waits for our end, that of its input, and then ends the group as we would. It ignores signals
 * to us.
 */
const GUARD = `trap '' HUP INT TERM; read -r group || exit; read -r _; kill -s TERM -- "-$group"; sleep ${GRACE_MS / 1_000}; kill -s KILL -- "-$group"`

type Guard = Bun.Subprocess<'pipe', 'ignore', 'ignore'>

/** A process that ends a command, with all it has started, if we are killed. Undefined without process groups. */
function startGuard(): Guard | undefined {
  if (!system.hasGroups) return undefined
  try {
    const io = { stdin: 'pipe', stdout: 'ignore', stderr: 'ignore' } as const
    return Bun.spawn(['/bin/sh', '-c', GUARD], { ...io, detached: true })
  } catch {
    // An image without a shell has no guard; the command runs without it.
    return undefined
  }
}

/** Starts a command and passes its group to the guard, which ends if the command cannot be started. */
function startGuarded(command: readonly string[], options: ChildOptions, guard: Guard | undefined): Bun.Subprocess {
  const { env, cwd, output = 'inherit', input = 'inherit' } = options
  try {
    const child = Bun.spawn([...command], {
      env,
      ...(cwd !== undefined && { cwd }),
      stdin: input,
      stdout: output,
      stderr: output,
      // A group of its own: a signal then reaches all of it, once.
      detached: system.hasGroups,
    })
    guard?.stdin.write(`${child.pid}\n`)
    guard?.stdin.flush()
    return child
  } catch (error) {
    guard?.kill('SIGKILL')
    const { code, message } = error as NodeJS.ErrnoException
    const why = code === 'ENOENT' ? 'no such program' : code === 'EACCES' ? 'it is not executable' : message
    throw new ConfigError(`${JSON.stringify(command[0])} cannot be run: ${why}`)
  }
}

const codeOf = ({ exitCode, signalCode }: Bun.Subprocess): number =>
  exitCode ?? 128 + (signalCode ? constants.signals[signalCode as NodeJS.Signals] : 0)
