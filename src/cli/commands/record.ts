// understudy record: runs a command against real providers and records their responses.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { type ProposedRule, proposeRules, type RecordedTwice, rulesText } from '../../cassettes/doctor.ts'
import { fieldDifferenceText } from '../../cassettes/nearest.ts'
import { readCassette } from '../../cassettes/read.ts'
import { ConfigError } from '../../config.ts'
import { counted } from '../../lib/units.ts'
import { notSentTexts } from '../../verdict/inconclusive.ts'
import type { CommandIo, Exiting } from '../io.ts'
import { announceAddresses } from '../run/listen.ts'
import { runSuite } from '../run/suite.ts'
import { NOT_PASSED } from '../run/suite-run.ts'
import { commandConfig, durationOf, rejectUnusedReplaySettings, repeated } from './command-flags.ts'
import { addExecOptions, EXIT_CODES, type ExecOptions, exec } from './exec.ts'

interface RecordOptions extends ExecOptions {
  out: string
  only?: string[]
  doctor?: boolean
}

/** Settings of replays, and the folder, which is `--out`. */
const NOT_HERE = ['record', 'replay', 'on_miss', 'allow']

/** `understudy record`: runs a command against real providers and records their responses. */
export function recordCommand(io: CommandIo, exiting: Exiting): Command {
  const command = new Command('record')
    .description('run a command against real providers and record their responses in cassettes, one per session')
    .option('--out <DIR>', 'folder of the cassettes', 'cassettes')
    .option(
      '--only <NAME>',
      'record only the cassette of this session, and replay all others; default is the session of programs that name none; repeatable',
      repeated,
    )
    .option('--doctor', 'run the command twice, write no cassettes, and propose rules for fields that change')
  return addExecOptions(command, NOT_HERE)
    .addHelpText('after', EXIT_CODES)
    .action(exiting((typed: string[], options: RecordOptions) => record(io, typed, options)))
}

async function record(io: CommandIo, command: string[], options: RecordOptions): Promise<number> {
  const { out, only, doctor, ...rest } = options
  if (doctor && only) throw new ConfigError('--doctor and --only exclude each other: --doctor writes no cassettes')
  if (out === '') throw new ConfigError('--out must be a folder, got ""')
  if (doctor) return diagnose(io, command, rest)
  return exec(io, command, { ...rest, record: out }, only && { replay: out, recordOnly: only })
}

/** Runs a command twice, and prints the rules under which its requests are the same. */
async function diagnose(io: CommandIo, command: string[], options: ExecOptions): Promise<number> {
  const folders = [0, 1].map(() => mkdtempSync(join(tmpdir(), 'understudy-doctor-')))
  const timeout = durationOf('--timeout', options.timeout)
  try {
    for (const [index, folder] of folders.entries()) {
      const config = commandConfig({ ...options, record: folder }, io.env)
      if (index === 0) {
        rejectUnusedReplaySettings(config, io)
        announceAddresses(io, config)
      }
      const [run] = await runSuite(command, { io, config, scenarios: config.scenario, timeout })
      if (run?.stopped) return run.code
      if (run && run.code !== 0) {
        io.stderr.line(`understudy: the command failed with exit code ${run.code}, so nothing is proposed`)
        return run.code
      }
      const notSent = notSentTexts(run?.sessions.flatMap((session) => session.not_sent) ?? [])
      if (notSent.length > 0) {
        io.stderr.line(`understudy: ${notSent.join('; ')}; so nothing is proposed`)
        return NOT_PASSED
      }
    }
    const { volatile } = commandConfig(options, io.env)
    const sessions = recordedTwice(folders)
    if (sessions.length === 0) {
      io.stderr.line('understudy: the command made no calls that can be recorded, so nothing is proposed')
      return 0
    }
    const { rules, remaining } = proposeRules(sessions, volatile)
    if (rules.length > 0 || remaining.length === 0) printRules(io, rules)
    for (const line of remaining) io.stderr.line(`understudy: warning: ${line}`)
    return 0
  } finally {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  }
}

function printRules({ stdout, stderr }: CommandIo, rules: readonly ProposedRule[]): void {
  if (rules.length === 0) {
    stderr.line('understudy: both runs sent the same requests: no rules are needed')
    return
  }
  stderr.line(`understudy: ${counted(rules.length, 'field')} differed; add the rules that fit to understudy.yaml:`)
  for (const example of rules.flatMap(({ examples }) => examples))
    stderr.line(
      `understudy: ${fieldDifferenceText(example).replace(': recorded ', ': first ').replace(', sent ', ', then ')}`,
    )
  stdout.text(rulesText(rules))
}

/** The cassettes of both runs by session. */
function recordedTwice(folders: readonly string[]): RecordedTwice[] {
  const cassettes = folders.map((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.yaml'))
      .map((name) => readCassette(join(folder, name))),
  )
  const sessions = [...new Set(cassettes.flat().map(({ header }) => header.session))].sort()
  return sessions.map((session) => {
    const [first = [], second = []] = cassettes.map(
      (recorded) => recorded.findLast(({ header }) => header.session === session)?.interactions,
    )
    return { session, first, second }
  })
}
