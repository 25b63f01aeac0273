// The limit of open files of this process.
import { readFileSync } from 'node:fs'

/** The minimum on systems without a way to query it, once the runtime has raised the limit as far as possible. */
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
