// The position of a value in a sample, and what depends on it.
import { chance } from '../chance.ts'
import type { Keywords } from './prepare.ts'
import type { SampleRun, ValuePosition } from './types.ts'

/** The JSON pointer of the first part that has one of the keywords. */
export function whereIs(run: SampleRun, parts: Keywords[], ...names: (keyof Keywords)[]): string {
  for (const part of parts) {
    for (const name of names) if (part[name] !== undefined) return `${run.origin.get(part) ?? ''}/${name}`
  }
  return ''
}

/** A number in [0, 1), constant for the same key, position and purpose. */
export const randomAt = (run: SampleRun, position: ValuePosition, purpose: string) =>
  chance(0, run.key, position.path, purpose)
