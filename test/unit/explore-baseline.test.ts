// How an exploration sees that a command is flaky, or cannot run in parallel, and when it confirms a result.
import { describe, expect, test } from 'bun:test'
import { type ExploreOptions, explore } from '../../src/exploration/explore.ts'
import type { RunCommand } from '../../src/exploration/trial.ts'
import { modelProgram, type Site } from '../support/model-programs.ts'

const site = (text: string, retries: number): Site => ({
  ...{ kind: 'ask', session: 'one', system: `Do ${text}.`, text },
  handling: { retries, fallback: false, spare: false, end: 'throw' },
})
const careful = modelProgram([site('a', 2), site('b', 2)]).run
const careless = modelProgram([site('a', 0), site('b', 0)]).run

/** A command, with the number of its runs in progress. */
function counted(run: RunCommand, change: (about: { atOnce: number; runs: number }) => { code?: number }) {
  let [atOnce, runs] = [0, 0]
  let most = 0
  const command: RunCommand = async (order) => {
    atOnce++
    most = Math.max(most, atOnce)
    const number = ++runs
    const together = new Promise<number>((resolve) => setImmediate(() => resolve(atOnce)))
    const observed = await run(order)
    const about = { atOnce: await together, runs: number }
    atOnce--
    return { ...observed, ...change(about) }
  }
  return { command, most: () => most }
}
const exploreWith = (run: RunCommand, more: Partial<ExploreOptions> = {}) =>
  explore({
    ...{ run, depth: 1, jobs: 2, prune: true, before: new Map(), classes: ['server-error-once', 'auth'] },
    ...{ hasTime: () => true, notify() {} },
    ...more,
  })

describe('explore baseline', () => {
  test('runs are parallel if two runs at once make the same calls', async () => {
    const { command, most } = counted(careful, () => ({}))
    const found = await exploreWith(command)
    expect([found.serialReason, found.baselines, most()]).toEqual([null, { runs: 3, failed: 0 }, 2])
  })

  test('runs are made one at a time if a command fails only beside another run of it', async () => {
    let atCases = 0
    const { command } = counted(careful, ({ atOnce, runs }) => {
      if (runs > 6) atCases = Math.max(atCases, atOnce)
      return { code: atOnce > 1 ? 98 : 0 }
    })
    const { serialReason, cases, failedBaseline } = await exploreWith(command)
    expect([serialReason, failedBaseline]).toEqual([
      'when it runs twice at the same time, it fails (exit code 98)',
      null,
    ])
    expect(cases.map(({ verdict }) => verdict)).toContain('tolerated')
    expect(atCases).toBe(1)
  })

  test('a command that fails now and then is flaky, and nothing is explored', async () => {
    const { command } = counted(careful, ({ runs }) => ({ code: runs === 2 ? 1 : 0 }))
    const { failedBaseline, baselines, cases } = await exploreWith(command)
    expect([failedBaseline?.code, cases]).toEqual([1, []])
    expect(baselines.failed).toBeLessThan(baselines.runs)
  })

  test('a command that proves flaky under a fault reports no result', async () => {
    let [faults, baselines] = [0, 0]
    const command: RunCommand = async (order) => {
      const observed = await careful(order)
      const isFirst = order.scenario !== null && ++faults === 1
      const isLater = order.scenario === null && ++baselines === 4
      return { ...observed, code: isFirst || isLater ? 1 : observed.code }
    }
    const found = await exploreWith(command, { jobs: 1 })
    expect([found.failedBaseline?.code, found.baselines, found.cases]).toEqual([1, { runs: 4, failed: 1 }, []])
  })

  test('a command that fails although it recovered from the fault runs up to ten times without faults', async () => {
    let [faults, baselines] = [0, 0]
    const command: RunCommand = async (order) => {
      const observed = await careful(order)
      const isFailure = order.scenario === null ? ++baselines === 7 : ++faults <= 4
      return { ...observed, code: isFailure ? 1 : observed.code }
    }
    const found = await exploreWith(command, { jobs: 1, classes: ['server-error-once'] })
    expect([found.failedBaseline?.code, found.baselines.failed, found.cases]).toEqual([1, 1, []])
  })

  test('a command that fails whenever it recovers from a fault has failed', async () => {
    const command: RunCommand = async (order) => {
      const observed = await careful(order)
      return { ...observed, code: order.scenario === null ? observed.code : 1 }
    }
    const { cases, baselines } = await exploreWith(command, { jobs: 1, classes: ['server-error-once'] })
    expect([cases.map(({ verdict }) => verdict), baselines]).toEqual([['failed', 'failed'], { runs: 10, failed: 0 }])
  })

  test('a label shows only the words that the prompts of all baseline runs share', async () => {
    const say = (text: string): Site => ({ ...site('b', 2), system: 'Sort.', text })
    const orders = ['Sort pears', 'Sort figs', 'Sort pears'].map((text) => modelProgram([say(text), say('Hi')]).run)
    let baselines = 0
    const command: RunCommand = (order) => (orders[order.scenario ? 0 : baselines++] ?? careful)(order)
    const { points } = await exploreWith(command, { jobs: 1 })
    expect(points.filter(({ discovered }) => !discovered).map(({ label }) => label)).toEqual([
      'chat.completions, call 1: "Sort…"',
      'chat.completions, call 2: "Hi"',
    ])
  })

  test('the first run is enough if there is no time for more', async () => {
    const { command } = counted(careful, () => ({}))
    const { baselines, cases, skipped } = await exploreWith(command, { hasTime: () => false })
    expect([baselines.runs, cases, skipped.length]).toEqual([1, [], 4])
  })
})

describe('explore confirmation', () => {
  test('runs a second time only for the first case of a cause', async () => {
    const { runs, cases } = await exploreWith(careless, { jobs: 1, classes: ['server-error-once', 'reset'] })
    expect(cases.map(({ verdict }) => verdict)).toEqual(cases.map(() => 'failed'))
    // Two calls, each with one cause.
    expect(runs).toBe(cases.length + 2)
  })

  test('is not needed for a known failure', async () => {
    const options = { jobs: 1, classes: ['server-error-once'] as const, isKnown: () => true }
    const { runs, cases } = await exploreWith(careless, { ...options, classes: [...options.classes] })
    expect(runs).toBe(cases.length)
  })

  test('covers all cases once results vary', async () => {
    let faults = 0
    const { command } = counted(careless, () => ({}))
    const varying: RunCommand = async (order) => {
      const observed = await command(order)
      // The second run with a fault, which confirms the first, passes.
      return order.scenario && ++faults === 2 ? { ...observed, code: 0 } : observed
    }
    const { cases, runs } = await exploreWith(varying, { jobs: 1, classes: ['server-error-once', 'reset'] })
    expect(cases.some(({ why }) => why.includes('results varied between runs'))).toBe(true)
    expect(runs).toBeGreaterThanOrEqual(3 + 2 * (cases.length - 1))
  })
})
