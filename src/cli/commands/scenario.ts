// understudy scenario: lists the shipped scenarios, or prints one as a file to start from.
import { Command } from 'commander'
import { loadShipped, shippedScenarios, unknownScenario } from '../../scenarios/load.ts'
import type { CommandIo } from '../io.ts'
import type { Printer } from '../print/output.ts'
import { wrapLine } from '../print/terminal.ts'

/** `understudy scenario`: lists the shipped scenarios, or prints one as a file to start from. */
export function scenarioCommand({ stdout }: CommandIo): Command {
  const scenario = new Command('scenario').description('list the shipped scenarios, or print one')
  scenario.addCommand(
    new Command('list')
      .description('list the shipped scenarios, one per line')
      .option('--json', 'print JSON: an array with name, description and needs')
      .action((options: { json?: boolean }) => list(stdout, options)),
  )
  scenario.addCommand(
    new Command('show')
      .description('print the file of a shipped scenario, for example: scenario show black-hole > mine.yaml')
      .argument('<NAME>', 'a name from scenario list')
      .action((name: string) => show(stdout, name)),
  )
  return scenario
}

function list(stdout: Printer, { json }: { json?: boolean }): void {
  const scenarios = shippedScenarios().flatMap((name) => {
    const { description = '', needs = {} } = loadShipped(name) ?? {}
    return [{ name, description, needs }]
  })
  if (json) {
    stdout.json(scenarios)
    return
  }
  const column = 2 + Math.max(...scenarios.map(({ name }) => name.length))
  const lineOf = ({ name, description }: { name: string; description: string }) =>
    wrapLine(`${name.padEnd(column)}${description}`, stdout.width, column)
  stdout.lines(scenarios.flatMap(lineOf))
}

function show(stdout: Printer, name: string): void {
  const text = loadShipped(name)?.text
  if (text === undefined) throw unknownScenario(name, 'scenario')
  stdout.text(text.replace(/\n$/, ''))
}
