// understudy licenses: the licenses of everything inside the executable.
import { Command } from 'commander'
import { ConfigError } from '../../config.ts'
import { suggestion } from '../../lib/likely-name.ts'
import type { CommandIo } from '../io.ts'
import { type Notice, readNotices } from '../notices-file.ts'

interface Options {
  text?: boolean
  json?: boolean
}

/** `understudy licenses`: lists what the executable contains with its licenses, or prints their texts. */
export function licensesCommand({ stdout }: CommandIo): Command {
  return new Command('licenses')
    .description('print the licenses of everything inside the executable')
    .argument('[NAME...]', 'packages whose license texts to print (default: a list of all)')
    .option('--text', 'print all license texts')
    .option('--json', 'print name, version, license and text of each as JSON')
    .action((names: string[], { text, json }: Options) => {
      const all = readNotices()
      const chosen = names.length === 0 ? all : chosenNotices(all, names)
      if (json) stdout.json(chosen)
      else if (text || names.length > 0) stdout.lines(chosen.flatMap(noticeLines))
      else stdout.lines(listLines(all))
    })
}

function chosenNotices(all: readonly Notice[], names: readonly string[]): Notice[] {
  return names.flatMap((name) => {
    const found = all.filter((notice) => notice.name.toLowerCase() === name.toLowerCase())
    if (found.length > 0) return found
    const hint = suggestion(
      name,
      all.map((notice) => notice.name),
    )
    throw new ConfigError(
      `${JSON.stringify(name)} is not inside this executable${hint}; understudy licenses lists what is`,
    )
  })
}

const titleOf = ({ name, version }: Notice) => (version === null ? name : `${name} ${version}`)

const RULE = '-'.repeat(80)
const noticeLines = (notice: Notice): string[] => [
  RULE,
  `${titleOf(notice)} (${notice.license})`,
  RULE,
  '',
  ...notice.text.split('\n'),
  '',
]

function listLines(all: readonly Notice[]): string[] {
  const width = Math.max(...all.map((notice) => titleOf(notice).length))
  return [
    'Understudy is published under the MIT license. This executable contains:',
    '',
    ...all.map((notice) => `  ${titleOf(notice).padEnd(width)}  ${notice.license}`),
    '',
    'understudy licenses NAME prints the text of one, understudy licenses --text all texts.',
  ]
}
