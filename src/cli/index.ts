// The command line: one file per command, and the only place that turns an error into a line and an exit code.
import { Command, CommanderError, type OutputConfiguration } from 'commander'
import { ConfigError, flagOf, launcher, requestsJsonLog } from '../config.ts'
import { DatabaseError } from '../db/open.ts'
import { lazy } from '../lib/lazy.ts'
import { suggestion } from '../lib/likely-name.ts'
import { FileError } from '../schema/source.ts'
import { VERSION } from '../version.ts'
import { ListenError, ServerError } from './errors.ts'
import type { CommandIo, Exiting } from './io.ts'

/** A command, which reads and prints with `io`. */
type LoadCommand = (io: CommandIo, exiting: Exiting) => Command
// Each is loaded when it runs, or when the help lists them all. The version needs none.
const modules = {
  serve: lazy<typeof import('./commands/serve.ts')>(() => require('./commands/serve.ts')),
  exec: lazy<typeof import('./commands/exec.ts')>(() => require('./commands/exec.ts')),
  explore: lazy<typeof import('./commands/explore.ts')>(() => require('./commands/explore.ts')),
  record: lazy<typeof import('./commands/record.ts')>(() => require('./commands/record.ts')),
  drift: lazy<typeof import('./commands/drift.ts')>(() => require('./commands/drift.ts')),
  rehearse: lazy<typeof import('./commands/rehearse.ts')>(() => require('./commands/rehearse.ts')),
  check: lazy<typeof import('./commands/check.ts')>(() => require('./commands/check.ts')),
  scenario: lazy<typeof import('./commands/scenario.ts')>(() => require('./commands/scenario.ts')),
  fixture: lazy<typeof import('./commands/fixture.ts')>(() => require('./commands/fixture.ts')),
  schema: lazy<typeof import('./commands/schema.ts')>(() => require('./commands/schema.ts')),
  health: lazy<typeof import('./commands/health.ts')>(() => require('./commands/health.ts')),
  trace: lazy<typeof import('./commands/trace.ts')>(() => require('./commands/trace.ts')),
  version: lazy<typeof import('./print/version-json.ts')>(() => require('./print/version-json.ts')),
  licenses: lazy<typeof import('./commands/licenses.ts')>(() => require('./commands/licenses.ts')),
  snapshot: lazy<typeof import('./commands/snapshot.ts')>(() => require('./commands/snapshot.ts')),
}
const COMMANDS: Record<string, LoadCommand> = {
  serve: (io, exiting) => modules.serve().serveCommand(io, exiting),
  exec: (io, exiting) => modules.exec().execCommand(io, exiting),
  explore: (io, exiting) => modules.explore().exploreCommand(io, exiting),
  record: (io, exiting) => modules.record().recordCommand(io, exiting),
  drift: (io, exiting) => modules.drift().driftCommand(io, exiting),
  rehearse: (io, exiting) => modules.rehearse().rehearseCommand(io, exiting),
  check: (io) => modules.check().checkCommand(io),
  scenario: (io) => modules.scenario().scenarioCommand(io),
  fixture: (io) => modules.fixture().fixtureCommand(io),
  schema: (io) => modules.schema().schemaCommand(io),
  health: (io) => modules.health().healthCommand(io),
  trace: (io) => modules.trace().traceCommand(io),
  snapshot: (io, exiting) => modules.snapshot().snapshotCommand(io, exiting),
  seed: (io) => modules.snapshot().seedCommand(io),
  reset: (io) => modules.snapshot().resetCommand(io),
  licenses: (io) => modules.licenses().licensesCommand(io),
}

/** All commands, for inspection only. */
export const allCommands = (io: CommandIo): Command[] =>
  Object.values(COMMANDS).map((load) =>
    load(
      io,
      (run) =>
        async (...args) =>
          void (await run(...args)),
    ),
  )

const VERSION_FLAG = '--version'
function commandsFor(first = ''): readonly LoadCommand[] {
  if (first === VERSION_FLAG) return []
  const named = Object.hasOwn(COMMANDS, first) && COMMANDS[first]
  return named ? [named] : Object.values(COMMANDS)
}

/** Exit codes: 1 for a problem of the environment (a port, a file), 2 for a mistake on the command line. */
const USAGE = 2

/** Runs the command line. Resolves with the exit code when the command, or its server, has ended. */
export async function runCli(typed: readonly string[], io: CommandIo): Promise<number> {
  // `help trace show` is the help of a subcommand, which commander does not support.
  const args = typed[0] === 'help' && typed.length > 2 ? [...typed.slice(1), '--help'] : typed
  // Mistakes on the command line are lines of the log, too.
  if (requestsJsonLog(args, io.env)) io.log.useFormat('json')
  const program = new Command('understudy')
    .description('Test how your code handles model provider failures: a local, offline, deterministic model gateway.')
    .version(
      VERSION,
      VERSION_FLAG,
      'print the version; with --json, also the commit, the build and the versions of the formats',
    )
    .helpOption('--help', 'print this help')
    .helpCommand('help [command]', 'print the help for a command')
    .showSuggestionAfterError(false)
    .configureOutput(helpOutput(io))
    .exitOverride()
  if (args.length === 2 && args.includes(VERSION_FLAG) && args.includes('--json')) {
    io.stdout.json(modules.version().versionJson())
    return 0
  }
  let code = 0
  const exiting: Exiting =
    (run) =>
    async (...args) => {
      code = await run(...args)
    }
  for (const load of commandsFor(args[0])) {
    const command = load(io, exiting)
    program.addCommand(command)
    for (const one of [command, ...command.commands]) {
      one
        .helpOption('--help', 'print this help')
        .exitOverride()
        .showSuggestionAfterError(false)
        .configureOutput(helpOutput(io))
    }
  }
  try {
    refuseUnknownHelp(program, typed)
    const parent = launcher(io.env)
    if (parent !== undefined) io.signals.endWith(parent)
    await program.parseAsync(args as string[], { from: 'user' })
    return code
  } catch (error) {
    return fail(io, error, { program, args })
  }
}

/** Help goes to the same streams as everything else. `fail` prints errors. */
const helpOutput = ({ stdout, stderr }: CommandIo): OutputConfiguration => ({
  writeOut: stdout.raw,
  writeErr: stderr.raw,
  outputError: () => {},
  // Wrapped to a terminal's width only if there is one.
  getOutHelpWidth: () => stdout.columns as number,
  getErrHelpWidth: () => stderr.columns as number,
  getOutHasColors: () => false,
  getErrHasColors: () => false,
})

/** Prints an error and returns the exit code. */
function fail(
  { log, stderr }: CommandIo,
  error: unknown,
  { program, args }: { program: Command; args: readonly string[] },
): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0
    if (error.code !== 'commander.help') log.line('error', plain(error, program, args))
    return USAGE
  }
  if (error instanceof ConfigError || error instanceof FileError) {
    for (const line of error instanceof FileError ? error.problems : [error.message]) log.line('error', line)
    return USAGE
  }
  if (OF_THE_WORLD.some((type) => error instanceof type) || isOfSystem(error)) {
    log.line('error', (error as Error).message)
    return 1
  }
  if (!(error instanceof Error)) throw error
  if (log.isJson) log.line('error', error.message, { stack: error.stack })
  else for (const line of (error.stack ?? error.message).split('\n')) stderr.line(line)
  return 1
}

/** Errors whose message is complete. */
const OF_THE_WORLD = [DatabaseError, ServerError, ListenError]
/** Errors of files and connections with a message of the system. */
const isOfSystem = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'syscall' in error && 'code' in error

const commandsOf = (program: Command) => `${program.commands.map((one) => one.name()).join(', ')}, help`

/** Commander answers `help nosuch` with the whole help. An unknown name gets an error line instead. */
function refuseUnknownHelp(program: Command, [first, name, inner]: readonly string[]): void {
  if (first !== 'help' || name === undefined) return
  const command = program.commands.find((one) => one.name() === name)
  const refuse = (message: string): never => {
    throw new CommanderError(USAGE, 'understudy.help', message)
  }
  if (!command) refuse(`no help for '${name}'; valid: ${commandsOf(program)}`)
  else if (inner !== undefined && command.commands.length === 0)
    refuse(`no help for '${name} ${inner}': ${name} has no subcommands`)
  else if (inner !== undefined && !command.commands.some((one) => one.name() === inner))
    refuse(`unknown command '${inner}'; valid: ${commandsOf(command)}`)
}

/** The flag that an unknown one probably means, including former names. */
function likelyFlag(message: string, flags: readonly string[]): string {
  const written = /'--([\w-]+)/.exec(message)?.[1] ?? ''
  const keys = flags.map((flag) => flag.slice(2).replaceAll('-', '_'))
  return suggestion(written.replaceAll('-', '_'), keys).replace(/'(\w+)'/, (_, key: string) => `'${flagOf(key)}'`)
}

/** Commander's message as one line that also lists what is valid. */
function plain(error: CommanderError, program: Command, args: readonly string[]): string {
  const message = error.message.replace(/^error: /, '').replaceAll('\n', ' ')
  const named = (parent: Command | undefined, name: string | undefined) =>
    parent?.commands.find((one) => one.name() === name)
  const outer = named(program, args[0])
  const command = named(outer, args[1]) ?? outer
  if (error.code === 'commander.unknownOption') {
    const flags = (command ?? program).options.flatMap(({ long }) => long ?? [])
    // The value after the = may be a token.
    const written = message.replace(/=.*'/s, "=...'")
    return `${written}${likelyFlag(written, flags)}; valid: ${flags.join(', ')}`
  }
  if (error.code === 'commander.unknownCommand' || (error.code === 'commander.excessArguments' && !command)) {
    const word = command ? args[1] : args[0]
    return `unknown command '${word}'; valid: ${commandsOf(command ?? program)}`
  }
  if (error.code === 'commander.optionMissingArgument') {
    const option = command?.options.find((one) => message.includes(`'${one.flags}'`))
    return `${option?.flags ?? message} needs a value: ${option?.description ?? ''}`
  }
  // An unknown subcommand is parsed as an argument of the default one.
  const unknown = outer?.commands.find((one) => one.args.length > 0)?.args[0]
  if (error.code === 'commander.excessArguments' && unknown !== undefined && command === outer) {
    return `unknown command '${unknown}'; valid: ${commandsOf(outer as Command)}`
  }
  if (error.code === 'commander.excessArguments') return `${message} (${command?.args.join(' ')})`
  return message
}
