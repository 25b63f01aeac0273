// understudy exec: runs a command, such as a test suite, against a server of its own, and says what really happened.

import { writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { Command } from 'commander'
import { type Config, ConfigError, clientEnvironment, readConfig } from '../config.ts'
import { FileError } from '../contract/source.ts'
import type { Verification } from '../contract/verification.ts'
import { createUnderstudy, type Understudy } from '../deps.ts'
import type { Scenario } from '../scenarios/engine.ts'
import { fixedSource, openScenario } from '../scenarios/load.ts'
import { junit, reportLines, type SuiteRun } from './report.ts'
import { listen, report } from './serve.ts'

/** An expectation is not met, although the command ended well. */
const NOT_AS_EXPECTED = 3
const list = (value: string, all: string[] | undefined) => [...(all ?? []), value]

interface Options {
  scenario?: string[]
  seed?: string[]
  fixtures?: string[]
  config?: string
  junit?: string
  json?: boolean
}

export function execCommand(): Command {
  return new Command('exec')
    .description('run a command against a server of its own, and say what was exercised')
    .argument('<COMMAND...>', 'after --: the command and its arguments, such as: -- npm test')
    .option(
      '--scenario <NAME>',
      'what goes wrong: a shipped name or a file; repeatable, the command runs once for each',
      list,
    )
    .option('--seed <NUMBER>', 'seed of ids and chance; repeatable, the command runs once for each', list)
    .option('--fixtures <DIR>', 'fixture file or folder, tried before the embedded ones; repeatable', list)
    .option('--config <FILE>', 'settings file (default: understudy.yaml, when there is one)')
    .option('--junit <FILE>', 'write the verdicts as JUnit XML')
    .option('--json', 'print the reports as one line of JSON, the last one')
    .addHelpText('after', '\nThe exit code is that of the command; 3 when only an expectation is not met.')
    .action(exec)
}

async function exec(command: string[], options: Options): Promise<void> {
  const { scenario, fixtures, config: file } = options
  const given = { scenario, fixtures, config: file }
  const read = readConfig(given)
  const config: Config = { ...read, db: ':memory:', host: undefined, port: 0, token: [], tokens: {} }
  const seeds = (options.seed ?? [undefined]).map(seedOf)
  const understudy = createUnderstudy({ ...config, scenario: [] }, report)
  const scenarios = config.scenario.map((name) => openScenario(name, report).scenario)
  const servers = await listen(config, understudy)
  const url = `http://127.0.0.1:${servers[0]?.port}`
  const runs: SuiteRun[] = []
  for (const played of scenarios.length > 0 ? scenarios : [undefined]) {
    for (const seed of seeds) runs.push(await runOnce(command, { understudy, url, scenario: played, seed }))
  }
  await Promise.all(servers.map((server) => server.stop(true)))
  understudy.sessions.close()
  tell(runs, options)
  const failed = runs.find(({ code }) => code !== 0)
  process.exit(failed?.code ?? (runs.every((one) => one.report.ok) ? 0 : NOT_AS_EXPECTED))
}

function seedOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d+$/.test(text) && Number.isSafeInteger(Number(text))) return Number(text)
  throw new ConfigError(`--seed ${JSON.stringify(text)} is not valid: it must be a whole number from 0`)
}

interface Place {
  understudy: Understudy
  url: string
  scenario: Scenario | undefined
  seed: number | undefined
}

/** Runs the command in a session of its own. */
async function runOnce(command: readonly string[], { understudy, url, scenario, seed }: Place): Promise<SuiteRun> {
  const { sessions, runs, app } = understudy
  // The name is part of all chance: the same scenario and seed get the same one.
  const label = [scenario?.name ?? 'no scenario', ...(seed === undefined ? [] : [`seed ${seed}`])].join(', ')
  const session = sessions.create(label.replace(/[^\w.-]+/g, '-').slice(0, 64), { seed, clock: scenario?.clock })
  if (scenario) runs.start(session, fixedSource(seed === undefined ? scenario : { ...scenario, seed }))
  const code = await runChild(command, clientEnvironment(url, session.name))
  const headers = { 'x-understudy-session': session.name }
  // What the command had under way when it ended is over in a moment.
  const answer = await app.fetch(new Request(`${url}/_understudy/verify?wait=1s`, { headers }))
  return { name: label, code, report: (await answer.json()) as Verification }
}

/** Exit code of a command that runs as if it had been typed; signals reach it. */
async function runChild(command: readonly string[], env: Record<string, string | undefined>): Promise<number> {
  let child: Bun.Subprocess
  try {
    child = Bun.spawn([...command], { env, stdin: 'inherit', stdout: 'inherit', stderr: 'inherit' })
  } catch {
    throw new ConfigError(`${JSON.stringify(command[0])} cannot be run: there is no such program`)
  }
  const passOn = (signal: NodeJS.Signals) => child.kill(signal)
  process.on('SIGINT', passOn)
  process.on('SIGTERM', passOn)
  await child.exited
  process.off('SIGINT', passOn)
  process.off('SIGTERM', passOn)
  return child.exitCode ?? 128 + (child.signalCode ? constants.signals[child.signalCode as NodeJS.Signals] : 0)
}

function tell(runs: readonly SuiteRun[], { json, junit: file }: Options): void {
  if (file !== undefined) {
    try {
      writeFileSync(file, junit(runs))
    } catch (error) {
      throw new FileError(`--junit ${JSON.stringify(file)} cannot be written: ${(error as Error).message}`)
    }
  }
  if (json) {
    console.log(JSON.stringify({ runs }))
    return
  }
  for (const { name, code, report: found } of runs) {
    const verdict = code !== 0 ? `the command failed with ${code}` : found.ok ? 'as expected' : 'NOT as expected'
    console.log(['', `Understudy: ${name}: ${verdict}`, ...reportLines(found)].join('\n'))
  }
}
