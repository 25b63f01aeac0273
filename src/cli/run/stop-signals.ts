// What stops a running command: signals, and the end of the launcher that started it.
import { processSystem, whenParentEnds } from '../../lib/processes.ts'

/** The cause of a stop; `launcher` is a launcher that ended without a signal, as by `kill -9`. */
export type StopCause = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'launcher'

/** Notifies a command of requests to stop. */
export interface StopSignals {
  /** Calls `hear` for each request to stop, which then has no other effect. Returns a function that undoes this. */
  onStop(hear: (cause: StopCause) => void): () => void
  /** Stops the command when its launcher, the process with this id, ends. */
  endWith(launcher: number): void
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** The stop signals of this process. */
export function processStops(): StopSignals {
  const listeners = new Set<(cause: StopCause) => void>()
  const { ignoresHangup } = processSystem()
  return {
    onStop(hear) {
      const signals = SIGNALS.filter((signal) => signal !== 'SIGHUP' || !ignoresHangup())
      listeners.add(hear)
      for (const signal of signals) process.on(signal, hear)
      return () => {
        listeners.delete(hear)
        for (const signal of signals) process.off(signal, hear)
      }
    },
    endWith(launcher) {
      whenParentEnds(launcher, () => {
        // A command with a handler stops in its own way.
        if (listeners.size === 0) process.kill(process.pid, 'SIGTERM')
        for (const hear of listeners) hear('launcher')
      })
    },
  }
}
