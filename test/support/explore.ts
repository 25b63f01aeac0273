// Explorations of small programs, which are functions of this process: each run has a server of its own, as under the command.
import type { ExploreReport } from '../../src/cli/print/explore-matrix.ts'
import { reportAsJson } from '../../src/cli/print/explore-outputs.ts'
import { type NotEmulatedByPath, type NotEmulatedCalls, notEmulatedReasons } from '../../src/cli/run/not-emulated.ts'
import { commandProgram, observer } from '../../src/cli/run/observe.ts'
import { type Config, readConfig } from '../../src/config.ts'
import {
  coverageOf,
  type Exploration,
  type ExploreOptions,
  explorationVerdict,
  explore,
} from '../../src/exploration/explore.ts'
import { exploreProblems } from '../../src/exploration/problems.ts'
import { testIo } from './cli.ts'
import { LEFT_ENV, runInProcess } from './in-process.ts'
import { type Program, pass, type Surroundings } from './programs/surroundings.ts'

/** What a program calls models with. */
export interface Model {
  /** Calls, whatever comes. */
  post(body: object, more?: { headers?: Record<string, string> }): Promise<Response>
  /** Calls, and gives the message; throws an error with the status and the wait that was asked for when there is none. */
  ask(body: object, more?: { headers?: Record<string, string> }): Promise<Message>
  /** Lets time pass on the session's clock. */
  wait(ms: number): Promise<void>
  env: Surroundings['env']
  fetch: typeof fetch
}

/** A message of a model. */
export interface Message {
  role: string
  content: string
  tool_calls?: { id: string; function: { name: string; arguments: string } }[]
}

/** A response that is none: what a program catches. */
export class CallFailure extends Error {
  readonly status: number
  /** Milliseconds of its Retry-After, 0 without one. */
  readonly after: number
  constructor({ status, headers }: Response) {
    super(`status ${status}`)
    this.status = status
    this.after = Number(headers.get('retry-after') ?? 0) * 1_000
  }
}

export const user = (content: string) => ({ role: 'user', content })

/** A program that calls models. */
export const calling =
  (act: (model: Model) => Promise<unknown>): Program =>
  (about) => {
    const { env, fetch } = about
    const post: Model['post'] = (body, { headers = {} } = {}) =>
      fetch(`${env.OPENAI_BASE_URL}/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${env.OPENAI_API_KEY}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ model: 'openai/gpt-4o', ...body }),
      })
    const ask: Model['ask'] = async (body, more) => {
      const response = await post(body, more)
      if (!response.ok) throw new CallFailure(response)
      const { choices } = (await response.json()) as { choices: [{ message: Message }] }
      return choices[0].message
    }
    return act({ post, ask, wait: (ms) => pass(about, ms), env, fetch })
  }

interface ProgramOptions extends Partial<Omit<ExploreOptions, 'run'>> {
  settings?: Partial<Config>
  leaveEnv?: readonly string[]
  notEmulated?: NotEmulatedByPath
}

/** Explores a program as the command does, on virtual clocks. */
export async function exploreProgram(
  program: Program,
  { settings = {}, leaveEnv = LEFT_ENV, notEmulated = new Map(), ...more }: ProgramOptions = {},
): Promise<Exploration> {
  const config: Config = {
    ...{ ...readConfig({}, {}), port: 0, db: ':memory:' },
    timeOverrides: { clock: 'virtual', latency: 'skip' },
    ...settings,
  }
  const io = testIo()
  const own = commandProgram(io, ['a program'], config, { run: runInProcess(program), leaveEnv, notEmulated })
  return explore({
    ...{ classes: [], depth: 1, jobs: 1, prune: true, limitMs: undefined, before: new Map() },
    run: observer({ io, program: own, config }),
    hasTime: () => true,
    notify() {},
    ...more,
  })
}

/** The report of an exploration without known failures; `refused` are its calls of APIs that are not emulated. */
export function reportOf(found: Exploration, refused: readonly NotEmulatedCalls[] = []): Omit<ExploreReport, 'width'> {
  const { cases, points } = found
  const coverage = coverageOf(cases, found, found.recoveryPaths)
  return {
    ...{ found, cases, coverage, fixed: [], notEmulated: refused, repeat: String },
    problems: exploreProblems(cases, points),
    judgement: explorationVerdict({ cases, points, coverage, leftProcesses: false }, notEmulatedReasons(refused)),
  }
}

/** An exploration as `--json` says it; the scenario of a cell is in the exploration itself. */
export const jsonOf = (found: Exploration, refused?: readonly NotEmulatedCalls[]) =>
  reportAsJson(reportOf(found, refused), new Map())
