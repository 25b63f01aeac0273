// understudy exec: runs a command, such as a test suite, against a server of its own, and says what really happened.
import { Command } from 'commander'
import { printableJson } from '../../lib/printable.ts'
import type { CommandIo } from '../io.ts'
import { junit } from '../print/junit.ts'
import type { Printer } from '../print/output.ts'
import { writeOutputFile } from '../print/output-file.ts'
import { fittedReport, runLines } from '../print/report.ts'
import { addCoverage, readCoverage, wayLines } from '../run/coverage-file.ts'
import { announceAddresses } from '../run/listen.ts'
import { runReport } from '../run/run-report.ts'
import { runSuite } from '../run/suite.ts'
import { exitCodeOf, runAsJson, type SuiteRun } from '../run/suite-run.ts'
import { commandConfig, durationOf, refuseUnwritable, seedOf } from './command-flags.ts'
import type { Exiting } from './exiting.ts'
import { addSettingFlags, repeated } from './setting-flags.ts'

interface Options extends Record<string, unknown> {
  seed?: string[]
  timeout?: string
  hangLimit?: string
  db?: string
  junit?: string
  html?: string
  coverage?: string
  json?: boolean
  jsonFile?: string
}

/** Settings whose flags mean something else here, or nothing. */
const OWN = ['scenario', 'seed', 'strict', 'db', 'port', 'json', 'ready_file', 'stop_with_stdin']

export function execCommand(io: CommandIo, exiting: Exiting): Command {
  const command = new Command('exec')
    .description('run a command against a temporary server and report faults, retries and problems')
    .argument('<COMMAND...>', 'after --: the command and its arguments, such as: -- npm test')
    .option(
      '--scenario <NAME>',
      'what goes wrong, in every session: a shipped name or a file; repeatable, the command runs once for each',
      repeated,
    )
    .option('--seed <NUMBER>', 'seed of ids and chance; repeatable, the command runs once for each', repeated)
    .option('--timeout <TIME>', 'how long the command may take, such as 10m; it is then ended, with exit code 124')
    .option(
      '--hang-limit <TIME>',
      'a client that still waits after so long a silence has no timeout: its call is reset, and the report says so (default: 30s)',
    )
    .option('--strict', 'count warnings as errors')
    .option('--db <FILE>', 'keep the calls in this file, for understudy trace --db FILE')
    .option('--junit <FILE>', 'write the verdicts as JUnit XML')
    .option('--html <FILE>', 'write the calls and the verdicts as a page that opens without a server')
    .option(
      '--coverage <FILE>',
      'add up in this file which configured ways (retry, each fallback, ...) runs have taken',
    )
    .option('--json', 'print the reports as one line of JSON, the last one')
    .option('--json-file <FILE>', 'write the reports as JSON, apart from what the command prints')
    .option('--port <NUMBER>', 'port to listen on (default: a free one)')
  addSettingFlags(command, OWN)
  return command
    .addHelpText(
      'after',
      '\nThe exit code is that of the command if it fails. Otherwise 0 for PASS, and 3 for FAIL (an error was found or an expectation is not met) and INCONCLUSIVE (no fault was injected, or the scenario needs calls that were not made).',
    )
    .action(exiting((typed: string[], options: Options) => exec(io, typed, options)))
}

async function exec(io: CommandIo, command: string[], options: Options): Promise<number> {
  const { db, junit: file, html, json, jsonFile, timeout, hangLimit, coverage } = options
  const config = commandConfig(options, io.env)
  io.log.useFormat(config.log)
  const files = { '--junit': file, '--html': html, '--coverage': coverage, '--json-file': jsonFile }
  for (const [flag, path] of Object.entries(files)) if (path !== undefined) refuseUnwritable(flag, path)
  announceAddresses(io, config)
  const before = coverage === undefined ? {} : readCoverage(coverage)
  const report = html === undefined ? undefined : runReport()
  const runs = await runSuite(command, {
    ...{ io, config, db, scenarios: config.scenario, seeds: (options.seed ?? []).map(seedOf) },
    hangLimit: hangLimit === undefined ? undefined : durationOf('--hang-limit', hangLimit),
    timeout: timeout === undefined ? undefined : durationOf('--timeout', timeout),
    report,
  })
  print(io.stdout, runs, json === true)
  if (coverage !== undefined) {
    const ways = addCoverage(
      coverage,
      before,
      runs.map((run) => run.ways),
    )
    if (!json) io.stdout.lines(wayLines(ways).map((text) => `Understudy: ways, with those of earlier runs: ${text}`))
  }
  if (file !== undefined) writeOutputFile(file, junit(runs))
  if (jsonFile !== undefined) writeOutputFile(jsonFile, `${reportJson(runs)}\n`)
  if (html !== undefined && report) await report.write(html, command.join(' '))
  return exitCodeOf(runs)
}

const reportJson = (runs: readonly SuiteRun[]) => printableJson({ runs: runs.map(runAsJson) })

function print(stdout: Printer, runs: readonly SuiteRun[], json: boolean): void {
  if (json) stdout.text(reportJson(runs))
  else for (const run of runs) stdout.lines(['', ...fittedReport(runLines(run), stdout.width)])
}
