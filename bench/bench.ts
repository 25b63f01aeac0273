// What every measurement gets: what was asked for, who is measured, and whom it tells.
import type { Cores } from './machine.ts'
import type { Options, Section } from './options.ts'
import type { Results } from './rounds.ts'
import type { Contestant } from './servers.ts'

/** One run of the bench. */
export interface Bench {
  options: Options
  /** The constant server, this folder's Understudy, and the others. */
  contestants: readonly [Contestant, Contestant, ...Contestant[]]
  folder: string
  cores: Cores | undefined
  wants(section: Section): boolean
  /** Says on standard error what is measured now. */
  progress(what: string): void
  /** Notes what noise did to a measurement. */
  noteNoise(measured: string, results: Pick<Results, 'noisy' | 'left'>): void
}
