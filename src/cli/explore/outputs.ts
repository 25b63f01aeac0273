// What an exploration leaves behind: scenario files of what is broken, the state it can go on from, JSON and JUnit.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { ConfigError } from '../../config.ts'
import { type CellResult, type CoverageNumbers, cellName } from '../../contract/exploration.ts'
import type { Exploration } from '../../exploration/explore.ts'
import { isGood } from '../../exploration/known.ts'
import { type JunitCase, junitXml } from '../junit.ts'

const STATE = 'state.json'
/** The file in the folder of an exploration that keeps the calls of its runs. */
export const RUNS = 'runs.db'

/** What an exploration can go on from. */
interface State {
  command: readonly string[]
  seed: number
  cells: CellResult[]
}

/** Keeps what was found as it is found, in a folder that is made when it is not there. */
export function keptState(folder: string, about: Omit<State, 'cells'>, resume: boolean) {
  makeFolder(folder)
  const path = join(folder, STATE)
  const state: State = { ...about, cells: resume ? resumedCells(path, about) : [] }
  const save = () => writeFileSync(path, JSON.stringify(state))
  save()
  return {
    before: new Map(state.cells.map((cell) => [cellName(cell), cell])),
    add(cell: CellResult) {
      if (!state.cells.some((one) => cellName(one) === cellName(cell))) state.cells.push(cell)
      save()
    },
  }
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true })
  } catch (error) {
    throw new ConfigError(
      `--out ${JSON.stringify(folder)} is no folder, and cannot be made one: ${(error as Error).message}`,
    )
  }
}

function savedState(path: string): State {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new ConfigError(`--resume cannot go on: ${path} cannot be read: ${(error as Error).message}`)
  }
}

function resumedCells(path: string, { command, seed }: Omit<State, 'cells'>): CellResult[] {
  if (!existsSync(path)) throw new ConfigError(`--resume finds nothing to go on from: there is no ${path}`)
  const state = savedState(path)
  if (JSON.stringify(state.command) === JSON.stringify(command) && state.seed === seed) return state.cells
  throw new ConfigError(
    `--resume cannot go on: ${path} is of ${JSON.stringify(state.command.join(' '))} with seed ${state.seed}; explore that, or leave --resume out`,
  )
}

/** Writes the scenario of each cell that is not as it should be; gives its file by the cell's name. */
export function writeScenarios(folder: string, cells: readonly CellResult[]): Map<string, string> {
  const written = cells.flatMap((cell) => {
    if (isGood(cell) || !cell.scenario || cell.derived) return []
    const file = join(folder, `${cell.scenario.name}.yaml`)
    writeFileSync(file, `# ${cell.verdict}: ${cell.why.replaceAll('\n', ' ')}\n${stringify(cell.scenario)}`)
    return [[cellName(cell), file] as const]
  })
  return new Map(written)
}

/** The report that machines read. */
export const reportAsJson = (
  { points, left, runs, saved, routes, ways }: Exploration,
  cells: readonly CellResult[],
  { coverage, files }: { coverage: CoverageNumbers; files: ReadonlyMap<string, string> },
) => ({
  points: points.map(({ id, operation, stream, model, session, turn, nth, unstable, discovered }) => ({
    ...{ id, operation, stream, model, session, turn, nth, unstable, discovered },
  })),
  cells: cells.map((cell) => ({
    ...{ point: cell.point, class: cell.class, verdict: cell.verdict, why: cell.why, traces: cell.traces },
    scenario: files.get(cellName(cell)) ?? null,
    derived: cell.derived,
  })),
  coverage,
  ways,
  routes,
  left,
  runs,
  saved,
})

/** A case for each cell. */
export const exploreJunit = (cells: readonly CellResult[]): string =>
  junitXml('understudy explore', [
    {
      name: 'explore',
      took: cells.reduce((sum, { tookMs }) => sum + (tookMs ?? 0), 0),
      cases: cells.map(
        (cell): JunitCase => ({
          suite: cell.point,
          name: cell.class,
          took: cell.derived ? 0 : (cell.tookMs ?? 0),
          ...(isGood(cell)
            ? { output: `${cell.verdict}: ${cell.why}` }
            : { failure: `${cell.verdict}: ${cell.why}`, output: cell.output ?? undefined }),
        }),
      ),
    },
  ])
