// The pages on the command line and the settings.
import type { Command } from 'commander'
import { allCommands } from '../../cli/index.ts'
import { processIo } from '../../cli/io.ts'
import { flagOf, isFileOnly, isList, SETTINGS, variableOf, writtenDefault } from '../../config.ts'
import { block, code, meanings, page, sentence, table } from './markdown.ts'

/** One setting. */
function settingSection(key: keyof typeof SETTINGS): string {
  const setting: { help: string; valid: string; fallback: unknown; takes?: string } = SETTINGS[key]
  const { help, valid, takes } = setting
  const isListed = isList(key)
  const facts = [
    ['key of the file', key],
    ['flag', isFileOnly(key) ? '' : `${flagOf(key)}${takes === undefined ? '' : ` ${takes}`}`],
    ['variable', isFileOnly(key) ? '' : variableOf(key)],
    ['default', writtenDefault(setting)],
  ].flatMap(([name, value = '']) => (value === '' ? [] : [`- ${name}: ${code(value)}`]))
  return [
    `## ${key}`,
    sentence(help),
    [...facts, `- valid: ${valid}${isListed ? '. In a variable, separate values by commas' : ''}`].join('\n'),
  ].join('\n\n')
}

/** Variables that are no settings. Those of OpenTelemetry are listed in the guide on telemetry. */
export const OTHER_VARIABLES: Readonly<Record<string, string>> = {
  UNDERSTUDY_CONFIG: 'Settings file, as `--config`. Default: `understudy.yaml` in the current folder.',
  UNDERSTUDY_URL:
    'Address of a running server, for commands that use one. `exec` and `explore` set it for their command.',
  UNDERSTUDY_TOKEN:
    'Token for that server. For `serve` it is the setting `token`. `exec` and `explore` set it for their command.',
  UNDERSTUDY_CLOCK_URL: 'Set by `exec`: the address at which a test moves the clock of the run.',
  UNDERSTUDY_RUN: 'Set by `explore`: the number of the run, from 1.',
  UNDERSTUDY_RUN_DIR: 'Set by `explore`: an empty folder for the files of the run, which is deleted after it.',
  UNDERSTUDY_BIN: 'Path of the executable, for `@understudy/test`. `exec` and `explore` set it for their command.',
  UNDERSTUDY_PARENT: 'Process id: the server ends when that process does.',
}

/** Every setting. */
export const settingsPage = (): string =>
  page(
    'Settings',
    'Every setting is a flag of `understudy serve`, an environment variable, and a key of `understudy.yaml`. A flag takes precedence over a variable, and a variable over the file.',
    block('yaml', '# understudy.yaml\nport: 4020\nclock: virtual\nfixtures: [fixtures]'),
    'With the same effect: `understudy serve --port 4020`, or `UNDERSTUDY_PORT=4020 understudy serve`.',
    ...Object.keys(SETTINGS).map((key) => settingSection(key as keyof typeof SETTINGS)),
    '## Providers',
    'The section `providers` of `understudy.yaml` is described in [Real providers](../real-providers.md).',
    '## Other environment variables',
    meanings('variable', OTHER_VARIABLES),
    'The variables of OpenTelemetry are in [Telemetry](../telemetry.md#traces). `exec` and `explore` also set those that [the SDKs read](../openai-and-anthropic.md).',
    '## Limits of settings',
    'An unknown key, flag or `UNDERSTUDY_` variable is an error at the start, with the valid names.',
  )

/** A command with the commands below it, by its whole name. */
function withCommands(command: Command, prefix = ''): { name: string; command: Command }[] {
  const name = `${prefix}${command.name()}`
  const below = command.commands.flatMap((one) => withCommands(one, `${name} `))
  return below.length > 0 ? below : [{ name, command }]
}

const argumentsOf = ({ registeredArguments }: Command) =>
  registeredArguments.map((one) => {
    const name = `${one.name()}${one.variadic ? '...' : ''}`
    if (!one.required) return `[${name}]`
    // A command with flags of its own.
    return one.variadic ? `-- ${name}` : name
  })

/** The flags of a command that are no settings, then the names of those that are. */
function commandSection({ name, command }: { name: string; command: Command }): string {
  const settings = new Set(Object.keys(SETTINGS).map(flagOf))
  const options = command.options.filter(({ hidden }) => !hidden)
  // `serve` has the settings themselves.
  const isSetting = (option: { long?: string | undefined; description: string }) => {
    const key = (option.long ?? '').slice(2).replaceAll('-', '_') as keyof typeof SETTINGS
    return settings.has(option.long ?? '') && option.description.startsWith(SETTINGS[key].help)
  }
  const own = options.filter((option) => !isSetting(option))
  const shared = options.filter(isSetting)
  return [
    `## understudy ${name}`,
    sentence(command.description()),
    block('sh', `understudy ${[name, ...argumentsOf(command)].join(' ')}`),
    ...command.registeredArguments.map(
      (one) =>
        `${code(one.name())}: ${[one.description, (one.argChoices ?? []).map(code).join(', ')].filter((part) => part !== '').join('; one of ')}.`,
    ),
    own.length === 0
      ? ''
      : table(
          ['flag', 'meaning'],
          own.map(({ flags, description }) => [code(flags.replace(/[<>]/g, '')), sentence(description)]),
        ),
    shared.length === 0
      ? ''
      : `${own.length === 0 ? 'Its flags are settings' : 'It also takes these settings'} ([Settings](settings.md)): ${shared.map(({ long }) => code(long ?? '')).join(', ')}.`,
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}

/** Every command by its whole name. */
export const commands = (): { name: string; command: Command }[] =>
  allCommands(processIo()).flatMap((one) => withCommands(one))

/** Every command with its flags. */
export const commandsPage = (): string =>
  page(
    'Commands and flags',
    'One executable, `understudy`, has all commands. This page lists each with its flags; `understudy help COMMAND` prints the same.',
    block('sh', 'understudy help exec\nunderstudy --version'),
    '[Command line](../command-line.md) explains how to use them, and lists the exit codes.',
    ...commands().map(commandSection),
    '## Limits of flags',
    'A flag is written in full: there are no short forms. What follows `--` belongs to the command that `exec` or `explore` runs.',
  )
