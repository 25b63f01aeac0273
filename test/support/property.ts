// How often properties are run, and with which seed: FC_RUNS and FC_SEED of the environment change both for every test alike.
import { test as anyTest } from 'bun:test'
import { configureGlobal } from 'fast-check'

/** Runs of a property that names no number. */
const USUAL_RUNS = 100

/** A positive number of the environment. */
function positive(name: string, fallback: number): number {
  const text = process.env[name]
  if (text === undefined || text === '') return fallback
  const value = Number(text)
  if (value > 0 && Number.isFinite(value)) return value
  throw new Error(`${name}=${text} is not valid: it must be a number above 0`)
}

/** The share of the full number of runs: 1 in `npm run test:all`, 0.1 in `npm test`, more to search longer. */
const share = positive('FC_RUNS', 1)
/** The seed of every property that names none, so that a failure comes again. */
export const SEED: number = positive('FC_SEED', 1)

/**
 * How many runs to make now.
 * @param full the number with which the property is held in full
 */
export const runs = (full: number): number => Math.ceil(full * share)

configureGlobal({ seed: SEED, numRuns: runs(USUAL_RUNS) })

/** A test whose number of runs is a share of its full number. */
export const property: typeof anyTest = anyTest

/** A test in a file with properties that is none: `npm run test:rest` leaves it out, as `npm test` has run it in full. */
export const test: typeof anyTest = process.env.PROPERTIES === 'only' ? (anyTest.skip as typeof anyTest) : anyTest
