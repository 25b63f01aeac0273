// understudy scenario: the scenarios that ship, as a list and as files to begin your own with.
import { Command } from 'commander'
import { loadShipped, shippedScenarios, unknownScenario } from '../scenarios/load.ts'
import { printJson, printLines, printText } from './output.ts'
import { terminalWidth, wrapLine } from './terminal.ts'

export function scenarioCommand(): Command {
  const scenario = new Command('scenario').description('list the scenarios that ship, or print one as a file')
  scenario.addCommand(
    new Command('list')
      .description('list the scenarios that ship, one line each')
      .option('--json', 'print JSON: an array with name, description and needs')
      .action(list),
  )
  scenario.addCommand(
    new Command('show')
      .description('print the file of a shipped scenario, such as: show black-hole > mine.yaml')
      .argument('<NAME>', 'a name from list')
      .action(show),
  )
  return scenario
}

function list({ json }: { json?: boolean }): void {
  const scenarios = shippedScenarios().flatMap((name) => {
    const { description = '', needs = {} } = loadShipped(name) ?? {}
    return [{ name, description, needs }]
  })
  if (json) {
    printJson(scenarios)
    return
  }
  const column = 2 + Math.max(...scenarios.map(({ name }) => name.length))
  const lineOf = ({ name, description }: { name: string; description: string }) =>
    wrapLine(`${name.padEnd(column)}${description}`, terminalWidth(), column)
  printLines(scenarios.flatMap(lineOf))
}

function show(name: string): void {
  const text = loadShipped(name)?.text
  if (text === undefined) throw unknownScenario(name, 'scenario')
  printText(text.replace(/\n$/, ''))
}
