// understudy explore: injects every applicable failure into each call of a command, and reports which ones it does not
// handle.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { type Config, ConfigError, type Environment } from '../../config.ts'
import {
  type CaseResult,
  type CoverageNumbers,
  FAILURE_MODES,
  type FailureModeName,
} from '../../contract/core/exploration.ts'
import { openRunFile } from '../../db/run-file.ts'
import { coverageOf } from '../../exploration/coverage.ts'
import { type Exploration, explore } from '../../exploration/explore.ts'
import { acceptKnownFailures, KNOWN_FILE, readKnownFailures } from '../../exploration/known-failures.ts'
import { exploreProblems } from '../../exploration/problems.ts'
import { isError } from '../../exploration/severity.ts'
import { realClock } from '../../lib/clock.ts'
import { suggestion } from '../../lib/likely-name.ts'
import { printableJson } from '../../lib/printable.ts'
import type { CommandIo } from '../io.ts'
import { writeExploration } from '../print/explore-html.ts'
import { exploreLines } from '../print/explore-matrix.ts'
import {
  coverageAsJson,
  exploreJunit,
  keptState,
  RUNS,
  reportAsJson,
  writeScenarios,
} from '../print/explore-outputs.ts'
import { exploreProgress } from '../print/explore-progress.ts'
import { repeater, shellLine } from '../print/explore-repeat.ts'
import { writeOutputFile } from '../print/output-file.ts'
import { fittedReport } from '../print/report.ts'
import type { ExploreJson } from '../print/report-schemas.ts'
import { drawingWidth } from '../print/terminal.ts'
import { addCoverage, readCoverage } from '../run/coverage-file.ts'
import { announceAddresses } from '../run/listen.ts'
import { commandProgram, observer, routeRunner } from '../run/observe.ts'
import { NOT_PASSED, STOPPED } from '../run/suite-run.ts'
import { commandConfig, durationOf, rejectUnwritable, seedOf } from './command-flags.ts'
import type { Exiting } from './exiting.ts'
import { addSettingFlags, repeated } from './setting-flags.ts'

interface Options extends Record<string, unknown> {
  failureMode?: string[]
  case?: string
  depth?: string
  budget?: string
  jobs?: string
  timeout?: string
  knownFailures?: string
  out: string
  seed?: string
  resume?: boolean
  prune: boolean
  junit?: string
  html?: string
  coverage?: string
  json?: boolean
  jsonFile?: string
}

/** Settings whose flags differ here, or do not exist. */
const OWN = [
  ...['scenario', 'seed', 'strict', 'db', 'port', 'json', 'ready_file', 'stop_with_stdin', 'clock'],
  ...['otlp', 'otlp_content'],
]
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
    .option('--jobs <NUMBER>', `number of parallel runs, up to ${MAX_JOBS}`, '1')
    .option(
      '--timeout <TIME>',
      'time after which a run counts as hung (default: three times the baseline run, but at least 10s longer than it)',
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
    .option(
      '--coverage <FILE>',
      'count in this file, across runs, which configured recovery paths (retry, each fallback, ...) were exercised',
    )
    .option('--json', 'print the report as JSON, on the last line')
    .option('--json-file <FILE>', 'write the report as JSON to this file')
  addSettingFlags(command, OWN)
  return command
    .addHelpText(
      'after',
      [
        '',
        'Exit code: that of the command if it fails without a fault, 130 after Ctrl-C,',
        'otherwise',
        '  0  PASS: no problem, apart from warnings and accepted cases',
        '  3  FAIL: at least one problem',
        '  3  INCONCLUSIVE: no fault was injected',
      ].join('\n'),
    )
    .action(exiting((typed: string[], options: Options) => exploration(io, typed, options)))
}

async function exploration(io: CommandIo, command: string[], options: Options): Promise<number> {
  const { stdout, log } = io
  const { case: only, json, jsonFile, junit, html, coverage: recoveryPaths, resume = false, prune } = options
  // A single case leaves the results of the whole exploration as they are.
  const out = only === undefined ? options.out : join(options.out, ONE_CASE)
  const config = configOf(options, io.env)
  log.useFormat(config.log)
  const depth = numberOf('depth', options.depth, 2) === 2 ? 2 : 1
  const classes = (options.failureMode ?? []).map(classOf)
  const jobs = numberOf('jobs', options.jobs, MAX_JOBS)
  const budget = options.budget === undefined ? undefined : durationOf('--budget', options.budget)
  const limitMs = options.timeout === undefined ? undefined : durationOf('--timeout', options.timeout)
  const written = { '--junit': junit, '--html': html, '--coverage': recoveryPaths, '--json-file': jsonFile }
  for (const [flag, path] of Object.entries(written)) if (path !== undefined) rejectUnwritable(flag, path)
  announceAddresses(io, config)
  const before = recoveryPaths === undefined ? {} : readCoverage(recoveryPaths)
  const known = readKnown(options.knownFailures)
  const state = keptState(out, { command, seed: config.seed }, resume)
  const file = openRunFile(`${out}/${RUNS}`, { add: resume, bytes: config.keep_trace_bytes })
  const progress = exploreProgress(io)
  const player = config.forwarding.upstreams.length > 0 ? undefined : routeRunner(io, config)
  const began = realClock.now()
  const found = await explore({
    ...{ classes, only, depth, jobs, prune, limitMs, before: state.before },
    run: observer({ io, program: commandProgram(io, command, config), config, file }),
    runRoute: only === undefined ? player?.play : undefined,
    hasTime: () => budget === undefined || realClock.now() - began < budget,
    notify(one) {
      state.add(one.tried)
      progress.show(one)
    },
  }).finally(() => {
    state.save()
    progress.end()
    player?.close()
    file.close()
  })
  if (found.failedBaseline) return refuseRed(io, found.failedBaseline, json === true)
  if (only !== undefined && found.cases.length === 0 && !found.stopped) throw new ConfigError(unknownCase(only, found))
  const isWhole = classes.length === 0 && only === undefined && found.skipped.length === 0
  const { cases, fixed } = acceptKnownFailures(found.cases, known, isWhole)
  const problems = exploreProblems(cases, found.points)
  const coverage = coverageOf(cases, found, found.recoveryPaths)
  const files = writeScenarios(out, cases)
  const report = { found, cases, problems, fixed, coverage, repeat: repeater(command, options) }
  if (html !== undefined) await writeExploration(html, `${out}/${RUNS}`, { ...report, command: shellLine(command) })
  const asJson = printableJson(reportAsJson(found, cases, { ...report, files }))
  if (jsonFile !== undefined) writeOutputFile(jsonFile, `${asJson}\n`)
  if (json) stdout.text(asJson)
  else stdout.lines(['', ...fittedReport(exploreLines({ ...report, width: drawingWidth(stdout) }), stdout.width)])
  if (recoveryPaths !== undefined) addCoverage(recoveryPaths, before, [found.recoveryPaths])
  if (junit !== undefined) writeOutputFile(junit, exploreJunit(cases))
  return exitCode(cases, found, coverage)
}

function configOf({ seed, ...flags }: Options, env: Environment): Config {
  const config = commandConfig(flags, env)
  if (config.record !== undefined)
    throw new ConfigError('explore does not record: use understudy record, then --replay')
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

function numberOf(name: string, text: string | undefined, most: number): number {
  const number = Number(text)
  if (Number.isInteger(number) && number >= 1 && number <= most) return number
  throw new ConfigError(`--${name} must be a number from 1 to ${most}, got ${JSON.stringify(text)}`)
}

const readKnown = (named: string | undefined) =>
  named === undefined ? (existsSync(KNOWN_FILE) ? readKnownFailures(KNOWN_FILE) : []) : readKnownFailures(named)

const NONE = { of: 0, all: 0 }
const NOTHING_EXPLORED: ExploreJson = {
  ...{
    problems: [],
    injection_points: [],
    cases: [],
    recovery_paths: {},
    routes: [],
    not_run: [],
    dropped: 0,
    runs: 0,
    runs_saved: 0,
  },
  coverage: coverageAsJson({ delivered: NONE, tolerated: NONE, recoveryPaths: NONE }),
}

/** A command that fails without a fault proves nothing. */
function refuseRed(
  { stdout, stderr, log }: CommandIo,
  { code, stopped, output }: NonNullable<Exploration['failedBaseline']>,
  json: boolean,
): number {
  stderr.raw(output)
  if (json) stdout.json({ ...NOTHING_EXPLORED, baseline_failure: { code, output } } satisfies ExploreJson)
  log.line(
    'error',
    stopped
      ? 'stopped during the baseline run: nothing was explored'
      : `the command failed without any fault (exit code ${code}), so nothing was explored: fix the command first`,
  )
  return stopped ? STOPPED : code
}

/** If no fault was injected, nothing is proved: that is no success. */
function exitCode(results: readonly CaseResult[], { stopped }: Exploration, { delivered }: CoverageNumbers): number {
  if (stopped) return STOPPED
  if (delivered.of === 0) return NOT_PASSED
  return results.some(isError) ? NOT_PASSED : 0
}
