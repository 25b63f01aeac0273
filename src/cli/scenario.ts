// understudy scenario: the scenarios that ship, as a list and as files to begin your own with.
import { Command } from 'commander'
import { loadShipped, shippedScenarios, unknownScenario } from '../scenarios/load.ts'
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
    console.log(JSON.stringify(scenarios))
    return
  }
  const column = 2 + Math.max(...scenarios.map(({ name }) => name.length))
  for (const { name, description } of scenarios)
    for (const line of wrapLine(`${name.padEnd(column)}${description}`, terminalWidth(), column)) console.log(line)
}

function show(name: string): void {
  const text = loadShipped(name)?.text
  if (text === undefined) throw unknownScenario(name, 'scenario')
  process.stdout.write(text)
}
