// understudy exec: runs a command, such as a test suite, against a temporary server, and reports what happened.
import { Command } from 'commander'
import { type Config, ConfigError } from '../../config.ts'
import { FORMATS } from '../../contract/core/formats.ts'
import { printableJson } from '../../lib/printable.ts'
import { shellLine } from '../../lib/shell-line.ts'
import type { CommandIo, Exiting } from '../io.ts'
import { junit } from '../print/junit.ts'
import type { Printer } from '../print/output.ts'
import { writeOutputFile } from '../print/output-file.ts'
import { fittedReport, runLines } from '../print/report.ts'
import { addCoverage, readCoverage, recoveryPathLines } from '../run/coverage-file.ts'
import { announceAddresses } from '../run/listen.ts'
import { leftVariables } from '../run/not-emulated.ts'
import { runReport } from '../run/run-report.ts'
import { runSuite } from '../run/suite.ts'
import { exitCodeOf, runAsJson, type SuiteRun } from '../run/suite-run.ts'
import {
  addReportOptions,
  addSettingFlags,
  commandConfig,
  durationOf,
  type ReportOptions,
  rejectUnusedReplaySettings,
  rejectUnwritable,
  repeated,
  seedOf,
} from './command-flags.ts'

/** The options of exec. */
export interface ExecOptions extends ReportOptions {
  seed?: string[]
  db?: string
}

/** Settings whose flags differ here, or do not exist. */
const OWN = ['scenario', 'seed', 'strict', 'db', 'port', 'json', 'ready_file', 'stop_with_stdin']

/** `understudy exec`: runs a command against a temporary server and prints its verdict. */
export function execCommand(io: CommandIo, exiting: Exiting): Command {
  const command = new Command('exec').description(
    'run a command against a temporary server and report faults, retries and problems',
  )
  return addExecOptions(command)
    .addHelpText('after', EXIT_CODES)
    .action(exiting((typed: string[], options: ExecOptions) => exec(io, typed, options)))
}

/** Adds the argument and the options of exec. */
export function addExecOptions(command: Command, without: readonly string[] = []): Command {
  command
    .argument('<COMMAND...>', 'after --: the command and its arguments, such as: -- npm test')
    .option(
      '--scenario <NAME>',
      'scenario for every session, a shipped name or a file; repeat it to run the command once per scenario',
      repeated,
    )
    .option('--seed <NUMBER>', 'seed for ids and randomness; repeat it to run the command once per seed', repeated)
    .option('--timeout <TIME>', 'stop the command after this time, such as 10m, and exit with 124')
    .option(
      '--hang-limit <TIME>',
      'reset a call whose client has waited this long without receiving data, and report the missing timeout (default: 30s)',
    )
    .option('--strict', 'treat warnings as errors')
    .option('--db <FILE>', 'save the calls to this file, for understudy trace --db FILE')
    .option('--junit <FILE>', 'write the verdicts as JUnit XML to this file')
    .option('--html <FILE>', 'write the calls and verdicts as a self-contained HTML page')
  addReportOptions(command).option('--port <NUMBER>', 'port to listen on (default: a free port)')
  addSettingFlags(command, [...OWN, ...without])
  return command
}

/** The exit codes, for the help. */
export const EXIT_CODES = `
Exit code: that of the command if it fails, otherwise
  0  PASS
  3  FAIL: an error was found, an expectation was not met, a replay had misses,
     or a cassette stays incomplete
  3  INCONCLUSIVE: no fault was injected, or the scenario needs calls that were
     not made, or an API was called that is not emulated, or calls reached no
     session, or were not sent to a real provider`

/** Changes of a run that has recordings of its own. */
interface ExecChanges {
  /** The folder of cassettes that are replayed in sessions that are not recorded. */
  replay?: string | undefined
  /** Cassettes that are recorded, while all others are replayed. */
  recordOnly?: readonly string[] | undefined
}

/** Runs a command and prints the report. Resolves with the exit code. */
export async function exec(
  io: CommandIo,
  command: string[],
  options: ExecOptions,
  { replay, recordOnly }: ExecChanges = {},
): Promise<number> {
  const { db, junit: file, html, json, jsonFile, timeout, hangLimit, coverage } = options
  const read = commandConfig(options, io.env)
  // The settings of other replays must not forward the calls of cassettes that stay as they are.
  const config: Config = replay === undefined ? read : { ...read, replay, on_miss: 'error' }
  refuseSeveralRecordings(config, options)
  io.log.useFormat(config.log)
  rejectUnusedReplaySettings(config, io)
  rejectUnwritable({ '--junit': file, '--html': html, '--coverage': coverage, '--json-file': jsonFile })
  announceAddresses(io, config)
  const before = coverage === undefined ? {} : readCoverage(coverage)
  const report = html === undefined ? undefined : runReport()
  const runs = await runSuite(command, {
    ...{ io, config, db, scenarios: config.scenario, seeds: (options.seed ?? []).map(seedOf) },
    hangLimit: durationOf('--hang-limit', hangLimit),
    timeout: durationOf('--timeout', timeout),
    report,
    leaveEnv: leftVariables(options.leaveEnv ?? []),
    recordOnly,
  })
  print(io.stdout, runs, json === true)
  for (const name of recordOnly ?? []) if (!runs.some((run) => hasRecorded(run, name))) warnNotRecorded(io, name, runs)
  if (coverage !== undefined) {
    const covered = addCoverage(
      coverage,
      before,
      runs.map((run) => run.recovery_paths),
    )
    if (!json) io.stdout.lines(recoveryPathLines(covered).map((text) => `Understudy: including earlier runs: ${text}`))
  }
  if (file !== undefined) writeOutputFile(file, junit(runs))
  if (jsonFile !== undefined) writeOutputFile(jsonFile, `${reportJson(runs)}\n`)
  if (html !== undefined && report) await report.write(html, shellLine(command), runs)
  return exitCodeOf(runs)
}

/** Whether a run has recorded a cassette. */
const hasRecorded = ({ cassettes }: SuiteRun, name: string): boolean =>
  cassettes?.sessions.some(({ recorded, cassette }) => recorded !== null && cassette === name) ?? false

function warnNotRecorded({ log }: CommandIo, name: string, runs: readonly SuiteRun[]): void {
  const names = runs.flatMap(({ cassettes }) => cassettes?.sessions.map(({ cassette }) => cassette) ?? [])
  const used = names.length > 0 ? `: the run had the sessions ${names.join(', ')}` : ''
  log.line('warn', `no call of session ${JSON.stringify(name)} was recorded${used}`, { prefix: 'warning: ' })
}

/** A second run would record the same cassettes again. */
function refuseSeveralRecordings({ record, scenario }: Config, { seed = [] }: ExecOptions): void {
  if (record === undefined || (scenario.length < 2 && seed.length < 2)) return
  throw new ConfigError('--record runs the command once: use --scenario and --seed once at most')
}

const reportJson = (runs: readonly SuiteRun[]) =>
  printableJson({ format_version: FORMATS.reports, runs: runs.map(runAsJson) })

/** Prints the report, on lines of its own even if the command did not end its last one. */
function print(stdout: Printer, runs: readonly SuiteRun[], json: boolean): void {
  if (json) {
    stdout.line('')
    stdout.text(reportJson(runs))
  } else for (const run of runs) stdout.lines(['', ...fittedReport(runLines(run), stdout.width)])
}
