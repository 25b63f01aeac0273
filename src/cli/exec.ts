// understudy exec: runs a command, such as a test suite, against a server of its own, and says what really happened.
import { accessSync, constants, statSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { Command } from 'commander'
import { type Config, ConfigError, readConfig } from '../config.ts'
import { FileError } from '../contract/source.ts'
import { parseDuration } from '../lib/units.ts'
import { junit } from './junit.ts'
import { refuseOpenHost } from './listen.ts'
import { fittedReport, runLines } from './report.ts'
import { addSettingFlags, repeated, settingsByKey } from './setting-flags.ts'
import { runSuite } from './suite.ts'
import { exitCodeOf, runAsJson, type SuiteRun } from './suite-run.ts'

interface Options extends Record<string, unknown> {
  seed?: string[]
  timeout?: string
  db?: string
  junit?: string
  json?: boolean
}

/** Settings whose flags mean something else here, or nothing. */
const OWN = ['scenario', 'seed', 'strict', 'db', 'port', 'json', 'ready_file']

export function execCommand(): Command {
  const command = new Command('exec')
    .description('run a command against a server of its own, and say what was exercised and what went wrong')
    .argument('<COMMAND...>', 'after --: the command and its arguments, such as: -- npm test')
    .option(
      '--scenario <NAME>',
      'what goes wrong, in every session: a shipped name or a file; repeatable, the command runs once for each',
      repeated,
    )
    .option('--seed <NUMBER>', 'seed of ids and chance; repeatable, the command runs once for each', repeated)
    .option('--timeout <TIME>', 'how long the command may take, such as 10m; it is then ended, with exit code 124')
    .option('--strict', 'warnings are errors')
    .option('--db <FILE>', 'keep the calls in this file, for understudy trace --db FILE')
    .option('--junit <FILE>', 'write the verdicts as JUnit XML')
    .option('--json', 'print the reports as one line of JSON, the last one')
    .option('--port <NUMBER>', 'port to listen on (default: a free one)')
  addSettingFlags(command, OWN)
  return command
    .addHelpText(
      'after',
      '\nThe exit code is that of the command; 3 when only its verdict is bad: an error was found, an expectation is not met, or no fault has acted.',
    )
    .action(exec)
}

async function exec(command: string[], options: Options): Promise<void> {
  const { db, junit: file, json, timeout } = options
  const config = configOf(options)
  if (file !== undefined) refuseUnwritable(file)
  const runs = await runSuite(command, {
    ...{ config, db, scenarios: config.scenario, seeds: (options.seed ?? []).map(seedOf) },
    timeout: timeout === undefined ? undefined : durationOf(timeout),
  })
  print(runs, json === true)
  if (file !== undefined) writeFileSync(file, junit(runs))
  process.exit(exitCodeOf(runs))
}

/** The settings as for serve, but nothing of a server that runs beside: where it listens, its database and its tokens. */
function configOf(options: Options): Config {
  const { seed: _, db: _db, json: _json, ...flags } = settingsByKey(options)
  const read = readConfig(flags)
  const config: Config = {
    ...read,
    ...{ db: ':memory:', json: false, ready_file: undefined },
    port: flags.port === undefined ? 0 : read.port,
    host: flags.host === undefined ? undefined : read.host,
    token: flags.token === undefined ? [] : read.token,
  }
  refuseOpenHost(config)
  return config
}

function seedOf(text: string): number {
  if (/^\d+$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text)
  throw new ConfigError(`--seed ${JSON.stringify(text)} is not valid: it must be a whole number from 0`)
}

function durationOf(text: string): number {
  const ms = /[a-z]/i.test(text) ? parseDuration(text) : undefined
  if (ms !== undefined && ms > 0) return ms
  throw new ConfigError(`--timeout ${JSON.stringify(text)} is not valid: it must be a time such as 90s or 10m`)
}

/** Found out before the command runs, which may take long. */
function refuseUnwritable(file: string): void {
  try {
    accessSync(dirname(resolve(file)), constants.W_OK)
    if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) throw new Error('it is a folder')
  } catch (error) {
    throw new FileError(`--junit ${JSON.stringify(file)} cannot be written: ${(error as Error).message}`)
  }
}

function print(runs: readonly SuiteRun[], json: boolean): void {
  if (json) console.log(JSON.stringify({ runs: runs.map(runAsJson) }))
  else for (const run of runs) console.log(['', ...fittedReport(runLines(run))].join('\n'))
}
