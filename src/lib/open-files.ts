// How many files this process may have open.
import { readFileSync } from 'node:fs'

/** What systems that do not say it allow at least, once the runtime has raised the limit as far as it may. */
const USUAL = 1_024

/** Files and connections that this process may have open at a time (`ulimit -n`). */
export function openFileLimit(): number {
  try {
    const [, soft] = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? []
    return soft === undefined ? USUAL : soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft)
  } catch {
    return USUAL
  }
}
