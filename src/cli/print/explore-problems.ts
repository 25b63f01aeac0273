// The first part of an exploration's report: what is wrong with the program, and the command that shows it again.
import { caseName, type ExploreProblem } from '../../contract/core/exploration.ts'
import { counted } from '../../lib/units.ts'
import { listed, PROBLEM_TITLES } from '../../views/problem-text.ts'
import { paint } from './output.ts'
import { wrapText } from './terminal.ts'

/** Columns of the list: it is read in terminals and CI logs. */
const WIDTH = 80
const INDENT = '   '
/** Maximum number of calls that a problem names, one in each line. */
const MAX_CALLS = 3

/** The command that reproduces a problem. */
export const problemCommand = ({ cases: [first] }: ExploreProblem, repeat: (caseId: string) => string): string =>
  first ? repeat(caseName(first)) : ''

/** The problems as a numbered list. */
export const problemLines = (problems: readonly ExploreProblem[], repeat: (caseId: string) => string): string[] =>
  problems.flatMap((problem, index) => {
    const { kind, severity, why, calls, classes } = problem
    const indented = (text: string) => wrapText(text, WIDTH - INDENT.length).map((line) => `${INDENT}${line}`)
    const title = `${index + 1}. ${PROBLEM_TITLES[kind]}`
    return [
      `${paint(severity === 'error' ? 'red' : 'yellow', title)}${severity === 'warning' ? ' (warning)' : ''}`,
      ...calls.slice(0, MAX_CALLS).flatMap(indented),
      ...(calls.length > MAX_CALLS ? indented(`and ${counted(calls.length - MAX_CALLS, 'other')}`) : []),
      ...indented(`under ${listed(classes)}`),
      ...indented(why),
      ...commandLines(problemCommand(problem, repeat)).map((line) => `${INDENT}${INDENT}${paint('dim', line)}`),
      '',
    ]
  })

/** A command that a shell reads in one line or in two. */
function commandLines(command: string): string[] {
  const own = command.indexOf(' -- ')
  if (own < 0 || command.length + 2 * INDENT.length <= WIDTH) return [command]
  return [`${command.slice(0, own)} \\`, `  ${command.slice(own + 1)}`]
}
