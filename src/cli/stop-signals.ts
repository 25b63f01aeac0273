// What asks a running command to end: signals, and the end of the launcher that has started it.
import { readFileSync } from 'node:fs'
import { launcher } from '../config.ts'
import { whenParentEnds } from '../lib/parent-process.ts'

/** What has asked for the end; `launcher` is one that was ended without a word, as by `kill -9`. */
export type StopCause = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'launcher'

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const listeners = new Set<(cause: StopCause) => void>()

/** Has `hear` called for whatever asks for the end, which then ends nothing by itself; gives what takes that back. */
export function onStop(hear: (cause: StopCause) => void): () => void {
  const signals = SIGNALS.filter((signal) => signal !== 'SIGHUP' || !ignoresHangup())
  listeners.add(hear)
  for (const signal of signals) process.on(signal, hear)
  return () => {
    listeners.delete(hear)
    for (const signal of signals) process.off(signal, hear)
  }
}

/** Ends this process with its launcher, which may be killed: a command that knows how to stop does it its own way. */
export function stopWithLauncher(): void {
  const pid = launcher()
  if (pid === undefined) return
  whenParentEnds(pid, () => {
    if (listeners.size === 0) process.kill(process.pid, 'SIGTERM')
    for (const hear of listeners) hear('launcher')
  })
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
