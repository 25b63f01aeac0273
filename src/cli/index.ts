// The command line: one file a command, and the one place that turns an error into a line and an exit code.
import { Command, CommanderError } from 'commander'
import { asksJsonLog, ConfigError } from '../config.ts'
import { FileError } from '../contract/source.ts'
import { DatabaseError } from '../db/open.ts'
import { VERSION } from '../version.ts'
import { ServerError, TraceError } from './errors.ts'
import { logLine, logsJson, useLogFormat } from './log.ts'
import { printError } from './output.ts'
import { stopWithLauncher } from './stop-signals.ts'

// Each is loaded when it is run, or when the help names them all; the version needs none.
const COMMANDS: Record<string, () => Command> = {
  serve: (): Command => require('./serve.ts').serveCommand(),
  exec: (): Command => require('./exec.ts').execCommand(),
  explore: (): Command => require('./explore.ts').exploreCommand(),
  rehearse: (): Command => require('./rehearse.ts').rehearseCommand(),
  check: (): Command => require('./check.ts').checkCommand(),
  scenario: (): Command => require('./scenario.ts').scenarioCommand(),
  fixture: (): Command => require('./fixture.ts').fixtureCommand(),
  schema: (): Command => require('./schema.ts').schemaCommand(),
  health: (): Command => require('./health.ts').healthCommand(),
  trace: (): Command => require('./trace.ts').traceCommand(),
  snapshot: (): Command => require('./snapshot.ts').snapshotCommand(),
  seed: (): Command => require('./snapshot.ts').seedCommand(),
  reset: (): Command => require('./snapshot.ts').resetCommand(),
}

const VERSION_FLAG = '--version'
function commandsFor(first = ''): readonly (() => Command)[] {
  if (first === VERSION_FLAG) return []
  const named = Object.hasOwn(COMMANDS, first) && COMMANDS[first]
  return named ? [named] : Object.values(COMMANDS)
}

/** Exit codes: 1 is trouble with the world (a port, a file), 2 is a mistake in what was typed. */
const USAGE = 2

/** Runs the command line; resolves when the command has ended or its server is up. */
export async function runCli(typed: readonly string[]): Promise<void> {
  // Who reads what is printed may go: what a command does, and its exit code, stay the same.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  // `help trace show` is the help of that, which commander has no word for.
  const args = typed[0] === 'help' && typed.length > 2 ? [...typed.slice(1), '--help'] : typed
  // Mistakes in what is typed are lines of the log, too.
  if (asksJsonLog(args)) useLogFormat('json')
  const program = new Command('understudy')
    .description('A local stand-in for a model gateway and workspace API: offline, deterministic, in one executable.')
    .version(VERSION, VERSION_FLAG, 'print the version')
    .helpOption('--help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .showSuggestionAfterError(false)
    .configureOutput({ outputError: () => {} })
    .exitOverride()
  for (const load of commandsFor(args[0])) {
    const command = load()
    program.addCommand(command)
    for (const one of [command, ...command.commands]) {
      one
        .helpOption('--help', 'print this help')
        .exitOverride()
        .showSuggestionAfterError(false)
        .configureOutput({ outputError: () => {} })
    }
  }
  try {
    refuseUnknownHelp(program, typed)
    stopWithLauncher()
    await program.parseAsync(args as string[], { from: 'user' })
  } catch (error) {
    fail(error, program, args)
  }
}

function fail(error: unknown, program: Command, args: readonly string[]): never {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) process.exit(0)
    if (error.code === 'commander.help') process.exit(USAGE)
    logLine('error', plain(error, program, args))
    process.exit(USAGE)
  }
  if (error instanceof ConfigError || error instanceof FileError) {
    for (const line of error instanceof FileError ? error.problems : [error.message]) logLine('error', line)
    process.exit(USAGE)
  }
  if (error instanceof DatabaseError || error instanceof TraceError || error instanceof ServerError) {
    logLine('error', error.message)
    process.exit(1)
  }
  if (isOfSystem(error)) {
    logLine('error', error.message)
    process.exit(1)
  }
  if (!(error instanceof Error)) throw error
  if (logsJson()) logLine('error', error.message, { stack: error.stack })
  else for (const line of (error.stack ?? error.message).split('\n')) printError(line)
  process.exit(1)
}

/** Trouble with files and connections, which the system has put into words. */
const isOfSystem = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'syscall' in error && 'code' in error

const commandsOf = (program: Command) => `${program.commands.map((one) => one.name()).join(', ')}, help`

/** Commander answers `help nosuch` with the help of everything; a wrong name gets its line like everywhere. */
function refuseUnknownHelp(program: Command, [first, name, inner]: readonly string[]): void {
  if (first !== 'help' || name === undefined) return
  const command = program.commands.find((one) => one.name() === name)
  const refuse = (message: string): never => {
    throw new CommanderError(USAGE, 'understudy.help', message)
  }
  if (!command) refuse(`no help for '${name}'; valid: ${commandsOf(program)}`)
  else if (inner !== undefined && command.commands.length === 0)
    refuse(`no help for '${name} ${inner}': ${name} has no commands of its own`)
  else if (inner !== undefined && !command.commands.some((one) => one.name() === inner))
    refuse(`unknown command '${inner}'; valid: ${commandsOf(command)}`)
}

/** Commander's message as one line that also says what would be valid. */
function plain(error: CommanderError, program: Command, args: readonly string[]): string {
  const message = error.message.replace(/^error: /, '').replaceAll('\n', ' ')
  const named = (parent: Command | undefined, name: string | undefined) =>
    parent?.commands.find((one) => one.name() === name)
  const outer = named(program, args[0])
  const command = named(outer, args[1]) ?? outer
  if (error.code === 'commander.unknownOption') {
    const flags = (command ?? program).options.map((option) => option.long).join(', ')
    // What is behind the = may be a token.
    return `${message.replace(/=.*'/s, "=...'")}; valid: ${flags}`
  }
  if (error.code === 'commander.unknownCommand' || (error.code === 'commander.excessArguments' && !command)) {
    const word = command ? args[1] : args[0]
    return `unknown command '${word}'; valid: ${commandsOf(command ?? program)}`
  }
  if (error.code === 'commander.optionMissingArgument') {
    const option = command?.options.find((one) => message.includes(`'${one.flags}'`))
    return `${option?.flags ?? message} needs a value: ${option?.description ?? ''}`
  }
  // A word that is none of its commands is taken for an argument of the one that is meant when none is named.
  const stray = outer?.commands.find((one) => one.args.length > 0)?.args[0]
  if (error.code === 'commander.excessArguments' && stray !== undefined && command === outer) {
    return `unknown command '${stray}'; valid: ${commandsOf(outer as Command)}`
  }
  if (error.code === 'commander.excessArguments') return `${message} (${command?.args.join(' ')})`
  return message
}
