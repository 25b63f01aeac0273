// understudy explore: injects every applicable failure into each call of a command, and reports which ones it does not
// handle.

import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { type Config, ConfigError, type Environment } from '../../config.ts'
import { caseName, FAILURE_MODES, type FailureModeName } from '../../contract/core/exploration.ts'
import { DatabaseError } from '../../db/open.ts'
import { openRunFile, type RunFile } from '../../db/run-file.ts'
import { MAX_TIMEOUT_MS } from '../../exploration/baseline.ts'
import {
  coverageOf,
  type Exploration,
  type ExplorationVerdict,
  explorationVerdict,
  explore,
} from '../../exploration/explore.ts'
import { acceptKnownFailures, isKnownFailure, KNOWN_FILE, readKnownFailures } from '../../exploration/known-failures.ts'
import { exploreProblems } from '../../exploration/problems.ts'
import { realClock } from '../../lib/clock.ts'
import { suggestion } from '../../lib/likely-name.ts'
import { printableJson } from '../../lib/printable.ts'
import { shellLine } from '../../lib/shell-line.ts'
import type { CommandIo, Exiting } from '../io.ts'
import { exploreLines } from '../print/explore-matrix.ts'
import { exploreJunit, RUNS, reportAsJson, writeExploration, writeScenarios } from '../print/explore-outputs.ts'
import { isJudgedAlone, repeater, scenarioRepeater } from '../print/explore-repeat.ts'
import { drawingWidth } from '../print/output.ts'
import { writeOutputFile } from '../print/output-file.ts'
import { exploreProgress } from '../print/progress.ts'
import { fittedReport } from '../print/report.ts'
import { addCoverage, readCoverage } from '../run/coverage-file.ts'
import { keptState, makeExploreFolder } from '../run/explore-state.ts'
import { announceAddresses } from '../run/listen.ts'
import { leftVariables, type NotEmulatedByPath, notEmulatedReasons } from '../run/not-emulated.ts'
import { commandProgram, observer, routeRunner } from '../run/observe.ts'
import { NOT_PASSED, STOPPED } from '../run/suite-run.ts'
import {
  addReportOptions,
  addSettingFlags,
  commandConfig,
  durationOf,
  numberOf,
  type ReportOptions,
  rejectUnusedReplaySettings,
  rejectUnwritable,
  repeated,
  seedOf,
} from './command-flags.ts'

interface Options extends ReportOptions {
  failureMode?: string[]
  case?: string
  depth?: string
  budget?: string
  jobs?: string
  knownFailures?: string
  out: string
  seed?: string
  resume?: boolean
  prune: boolean
}

/** Settings whose flags differ here, or do not exist. */
const OWN = [
  ...['scenario', 'seed', 'strict', 'db', 'port', 'json', 'ready_file', 'stop_with_stdin', 'clock'],
  ...['otlp', 'otlp_content'],
]
const EXIT_CODES = `
Exit code: that of the command if it fails without a fault, 130 after Ctrl-C,
otherwise
  0  PASS: no problem, apart from warnings and accepted cases
  3  FAIL: at least one problem
  3  INCONCLUSIVE: no fault was injected, or an API was called that is not emulated`
const MAX_JOBS = 16
/** The folder in `--out` of a single case. */
const ONE_CASE = 'case'

/** `understudy explore`: tests every failure mode at every injection point of a command. */
export function exploreCommand(io: CommandIo, exiting: Exiting): Command {
  const command = new Command('explore')
    .description('inject every applicable fault into every call of a command and report which ones are not handled')
    .argument('<COMMAND...>', 'after --: the command and its arguments, such as: -- npm test')
    .option('--failure-mode <NAME>', `only this failure mode: ${FAILURE_MODES.join(', ')}; repeatable`, repeated)
    .option('--case <ID>', 'only this case, named by injection point and failure mode, as the report prints it')
    .option('--depth <1|2>', 'faults per run: 2 also tries pairs of consecutive calls', '1')
    .option('--budget <TIME>', 'time limit, such as 5m; the most informative cases run first')
    .option('--jobs <NUMBER>', `number of parallel runs, up to ${MAX_JOBS} (default: the number of processors)`)
    .option('--timeout <TIME>', 'longest timeout of a client that is waited for (default: 2m)')
    .option(
      '--hang-limit <TIME>',
      'time without any activity of the client after which a run counts as hung, beside Retry-After and declared timeouts (default: five times the longest pause of the baseline, at least 6s)',
    )
    .option(
      '--known-failures <FILE>',
      `file of known, accepted cases; only other cases fail (default: ${KNOWN_FILE}, if it exists)`,
    )
    .option(
      '--out <DIR>',
      'folder for the scenarios of failed cases, the calls of all runs and the state for --resume',
      'explore',
    )
    .option('--resume', 'continue from the state in the --out folder')
    .option('--no-prune', 'also run cases whose result other runs prove, and every one of many similar calls')
    .option('--seed <NUMBER>', 'seed for ids and randomness')
    .option('--junit <FILE>', 'write the cases as JUnit XML to this file')
    .option('--html <FILE>', 'write the matrix and the calls of each run as a self-contained HTML page')
  addSettingFlags(addReportOptions(command), OWN)
  return command
    .addHelpText('after', EXIT_CODES)
    .action(exiting((typed: string[], options: Options) => exploration(io, typed, options)))
}

async function exploration(io: CommandIo, command: string[], options: Options): Promise<number> {
  const { stdout, log } = io
  const { case: only, json, jsonFile, junit, html, coverage: recoveryPaths, resume = false, prune } = options
  // A single case leaves the results of the whole exploration as they are.
  const out = only === undefined ? options.out : join(options.out, ONE_CASE)
  const config = configOf(options, io.env)
  log.useFormat(config.log)
  rejectUnusedReplaySettings(config, io)
  const depth = numberOf('depth', options.depth, 2) === 2 ? 2 : 1
  const classes = (options.failureMode ?? []).map(classOf)
  const cores = Math.min(MAX_JOBS, availableParallelism())
  // For a single case it is not worth finding out whether runs may be parallel.
  const jobs = only === undefined ? numberOf('jobs', options.jobs ?? String(cores), MAX_JOBS) : 1
  const budget = durationOf('--budget', options.budget)
  const timeoutMs = durationOf('--timeout', options.timeout) ?? MAX_TIMEOUT_MS
  const limitMs = durationOf('--hang-limit', options.hangLimit)
  rejectUnwritable({ '--junit': junit, '--html': html, '--coverage': recoveryPaths, '--json-file': jsonFile })
  announceAddresses(io, config)
  const before = recoveryPaths === undefined ? {} : readCoverage(recoveryPaths)
  const known = readKnown(options.knownFailures)
  const leaveEnv = leftVariables(options.leaveEnv ?? [])
  const notEmulated: NotEmulatedByPath = new Map()
  const warn = (message: string) => log.line('warn', message)
  const { file, state } = openFolder(
    out,
    { command, seed: config.seed },
    { resume, warn, bytes: config.keep_trace_bytes },
  )
  const progress = exploreProgress(io)
  const player = config.forwarding.upstreams.length > 0 ? undefined : routeRunner(io, config)
  const began = realClock.now()
  const over = new AbortController()
  const limits = budget === undefined ? [] : [AbortSignal.timeout(budget)]
  // Between two runs there is no command that a signal could end.
  let interrupted = false
  const stopListening = io.signals.onStop(() => {
    interrupted = true
    over.abort()
  })
  const result = await explore({
    ...{ classes, only, depth, jobs, prune, limitMs, timeoutMs, before: state.before },
    isKnown: (result) => isKnownFailure(known, result),
    over: AbortSignal.any([over.signal, ...limits]),
    run: observer({ io, program: commandProgram(io, command, config, { leaveEnv, notEmulated }), config, file }),
    runRoute: only === undefined ? player?.play : undefined,
    hasTime: (ms = 0) => budget === undefined || realClock.now() - began + ms < budget,
    notify(one) {
      state.add(one.tried)
      if (one.isNew) progress.show(one)
    },
  }).finally(() => {
    stopListening()
    progress.end()
    player?.close()
    file.close()
  })
  const found: Exploration = { ...result, stopped: result.stopped || interrupted }
  if (found.failedBaseline) return refuseRed(io, found.failedBaseline, found, json === true)
  if (only !== undefined && found.cases.length === 0 && !found.stopped) throw new ConfigError(unknownCase(only, found))
  const isWhole = classes.length === 0 && only === undefined && found.skipped.length === 0
  const { cases, fixed } = acceptKnownFailures(found.cases, known, isWhole)
  const problems = exploreProblems(cases, found.points)
  const coverage = coverageOf(cases, found, found.recoveryPaths)
  const repeat = repeater(command, options)
  const repeatScenario = scenarioRepeater(command, options)
  const files = writeScenarios(out, cases, { repeat, repeatScenario, warn })
  const refused = [...notEmulated.values()]
  const { points, leftProcesses } = found
  const judgement = explorationVerdict({ cases, points, coverage, leftProcesses }, notEmulatedReasons(refused))
  const report = { found, cases, problems, fixed, coverage, judgement, notEmulated: refused, repeat }
  const asJson = printableJson(reportAsJson(report, files))
  if (json) stdout.text(asJson)
  else stdout.lines(['', ...fittedReport(exploreLines({ ...report, width: drawingWidth(stdout) }), stdout.width)])
  // If a file cannot be written, the report has been printed.
  if (jsonFile !== undefined) writeOutputFile(jsonFile, `${asJson}\n`)
  if (html !== undefined)
    await writeExploration(html, `${out}/${RUNS}`, {
      ...report,
      command: shellLine(command),
      scenarioCommand(cell) {
        const path = files.get(caseName(cell))
        return path !== undefined && isJudgedAlone(cell) ? repeatScenario(path) : null
      },
    })
  if (recoveryPaths !== undefined) addCoverage(recoveryPaths, before, [found.recoveryPaths])
  if (junit !== undefined) writeOutputFile(junit, exploreJunit(cases))
  return exitCode(found, judgement)
}

function configOf({ seed, ...flags }: Options, env: Environment): Config {
  const config = commandConfig(flags, env)
  if (config.record !== undefined)
    throw new ConfigError('explore does not record: use understudy record, then --replay')
  if (config.replay !== undefined && config.on_miss === 'record')
    throw new ConfigError('explore does not record: set --on-miss to error or forward')
  // No client made its runs: their traces are stored, but not exported.
  return {
    ...config,
    port: 0,
    clock: 'real',
    speed: config.speed ?? 'instant',
    scenario: [],
    telemetry: undefined,
    addresses: config.forwarding.addresses,
    ...(seed !== undefined && { seed: seedOf(seed) }),
  }
}

/**
 * Opens what an exploration writes. The database comes first: another exploration that writes into the folder has a lock on it,
 * and its state is left alone.
 * @throws DatabaseError if another one does
 * @throws ConfigError if the folder or its state cannot be used
 */
function openFolder(
  out: string,
  about: { command: readonly string[]; seed: number },
  { resume, warn, bytes }: { resume: boolean; warn(message: string): void; bytes: number },
) {
  makeExploreFolder(out)
  const file = openCalls(`${out}/${RUNS}`, { add: resume, bytes })
  try {
    return { file, state: keptState(out, about, { resume, warn }) }
  } catch (error) {
    file.close()
    throw error
  }
}

function openCalls(path: string, options: { add: boolean; bytes: number }): RunFile {
  try {
    return openRunFile(path, options)
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error
    throw new DatabaseError(error.problem, ': name another folder with --out')
  }
}

/** Why there is no such case. */
const unknownCase = (id: string, { points }: Exploration): string =>
  `--case ${JSON.stringify(id)} is not a case of this command: it must be an injection point (${points
    .filter(({ discovered }) => !discovered)
    .map((point) => point.id)
    .join(', ')}), a hyphen, and a failure mode that applies to it`

function classOf(text: string): FailureModeName {
  const found = FAILURE_MODES.find((name) => name === text)
  if (found) return found
  throw new ConfigError(
    `--failure-mode ${JSON.stringify(text)} is not a failure mode${suggestion(text, FAILURE_MODES)}; valid: ${FAILURE_MODES.join(', ')}`,
  )
}

const readKnown = (named: string | undefined) =>
  named !== undefined || existsSync(KNOWN_FILE) ? readKnownFailures(named ?? KNOWN_FILE) : []

/** A command that fails without a fault proves nothing. */
function refuseRed(
  { stdout, stderr, log }: CommandIo,
  { code, stopped, output }: NonNullable<Exploration['failedBaseline']>,
  found: Exploration,
  json: boolean,
): number {
  const { runs, failed } = found.baselines
  stderr.raw(output)
  if (json) {
    const coverage = coverageOf([], found, {})
    const judgement: ExplorationVerdict = { verdict: 'fail', inconclusive: [] }
    const report = { found, coverage, judgement, cases: [], problems: [], fixed: [], notEmulated: [], repeat: () => '' }
    stdout.json({ ...reportAsJson(report, new Map()), baseline_failure: { code, output, runs, failed } })
  }
  log.line(
    'error',
    stopped
      ? 'stopped during the baseline run: nothing was explored'
      : failed < runs
        ? `the command is flaky: it failed in ${failed} of ${runs} runs without any fault (exit code ${code}), so its results would prove nothing: fix the command first`
        : `the command failed without any fault (exit code ${code}), so nothing was explored: fix the command first`,
  )
  return stopped ? STOPPED : code
}

/** If nothing is proved, that is no success. */
const exitCode = ({ stopped }: Exploration, { verdict }: ExplorationVerdict): number =>
  stopped ? STOPPED : verdict === 'pass' ? 0 : NOT_PASSED
