// What asks a running command to end: signals, and the end of the launcher that has started it.
import { readFileSync } from 'node:fs'
import { whenParentEnds } from '../../lib/parent-process.ts'

/** What has asked for the end; `launcher` is one that was ended without a word, as by `kill -9`. */
export type StopCause = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'launcher'

/** What asks a command to end. */
export interface StopSignals {
  /** Has `hear` called for whatever asks for the end, which then ends nothing by itself; gives what takes that back. */
  onStop(hear: (cause: StopCause) => void): () => void
  /** Ends the command with its launcher, the process of this id, which may be killed. */
  endWith(launcher: number): void
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** What asks this process to end. */
export function processStops(): StopSignals {
  const listeners = new Set<(cause: StopCause) => void>()
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
        // A command that knows how to stop does it its own way.
        if (listeners.size === 0) process.kill(process.pid, 'SIGTERM')
        for (const hear of listeners) hear('launcher')
      })
    },
  }
}

/** The first signal, in the mask of ignored ones. */
const HANGUP = 1n
/** Whether whoever started us, as `nohup` does, wants us to outlive the terminal. Only Linux says so; elsewhere it is not known. */
function ignoresHangup(): boolean {
  if (process.platform !== 'linux') return false
  try {
    const mask = /^SigIgn:\s*([\da-f]+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
    return mask !== undefined && (BigInt(`0x${mask}`) & HANGUP) !== 0n
  } catch {
    return false
  }
}
