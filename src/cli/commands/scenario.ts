// understudy scenario: lists the shipped scenarios, prints one as a file to start from, or makes one of what happened.
import { readFileSync, statSync } from 'node:fs'
import { basename, extname } from 'node:path'
import { Command } from 'commander'
import { isRecording, readCassette } from '../../cassettes/read.ts'
import { ConfigError } from '../../config.ts'
import type { Evidence } from '../../evidence/evidence.ts'
import { cassetteEvidence, EVIDENCE_FORMATS, readEvidence } from '../../evidence/readers.ts'
import { rulesOf } from '../../evidence/rules.ts'
import { attemptsScenario, incidentScenario, type ScenarioOrigin } from '../../evidence/scenario-text.ts'
import { shellLine } from '../../lib/shell-line.ts'
import { counted } from '../../lib/units.ts'
import { MAX_RULES } from '../../scenarios/limits.ts'
import { isIncident, loadShipped, parseScenario, shippedScenarios, unknownScenario } from '../../scenarios/load.ts'
import { ServerError } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import type { Printer } from '../print/output.ts'
import { wrapLine } from '../print/output.ts'
import { writeOutputFile } from '../print/output-file.ts'
import { rehearseAttempts } from '../run/evidence-rehearsal.ts'

/** `understudy scenario`: lists the shipped scenarios, prints one, or makes one from a recording. */
export function scenarioCommand(io: CommandIo): Command {
  const { stdout } = io
  const scenario = new Command('scenario').description(
    'list the shipped scenarios, print one, or make one from a recording',
  )
  scenario.addCommand(
    new Command('list')
      .description('list the shipped scenarios, one per line')
      .option('--json', 'print JSON: an array with name, description, needs, and whether it is a past incident')
      .action((options: { json?: boolean }) => list(stdout, options)),
  )
  scenario.addCommand(
    new Command('show')
      .description('print the file of a shipped scenario, for example: scenario show black-hole > mine.yaml')
      .argument('<NAME>', 'a name from scenario list')
      .action((name: string) => show(stdout, name)),
  )
  scenario.addCommand(
    new Command('from')
      .description(`make a scenario from what happened: ${EVIDENCE_FORMATS}`)
      .argument('<FILE>', 'the recording')
      .option('--out <FILE>', 'file to write (default: standard output)')
      .option('--name <NAME>', 'name of the scenario (default: that of the file)')
      .option('--incident <ID>', 'the incident to use, of a file with several')
      .option('--force', 'replace an existing file')
      .action((file: string, options: FromOptions) => from(io, file, options)),
  )
  return scenario
}

interface FromOptions {
  out?: string
  name?: string
  incident?: string
  force?: true
}

/**
 * Makes a scenario, plays what it was made from under it, and prints or writes it.
 * @throws ConfigError if the file cannot be read
 * @throws ServerError if an attempt has another outcome in the rehearsal: nothing is written then
 */
async function from(io: CommandIo, file: string, options: FromOptions): Promise<void> {
  const { out, name = nameFor(file), force } = options
  const existing = out === undefined ? undefined : statSync(out, { throwIfNoEntry: false })
  if (existing?.isDirectory()) throw new ConfigError(`--out ${out} is a folder: name a file in it`)
  if (existing && !force) throw new ConfigError(`${out} exists: use --force to replace it`)
  const content = contentOf(file)
  const evidence =
    !isJson(content) && isRecording(file, content)
      ? cassetteEvidence(readCassette(file))
      : readEvidence(file, content, options.incident)
  const text = await made(io, { name, file: basename(file) }, evidence)
  parseScenario(out ?? `the scenario from ${file}`, text)
  if (out === undefined) io.stdout.text(text.replace(/\n$/, ''))
  else {
    writeOutputFile(out, text)
    io.stdout.line(
      `wrote ${out}; to try it: ${shellLine(['understudy', 'exec', '--scenario', out, '--', 'npm', 'test'])}`,
    )
  }
}

function contentOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new ConfigError(`${file} cannot be read (${(error as Error).message}): give ${EVIDENCE_FORMATS}`)
  }
}

const isJson = (text: string) => /^\s*[[{]/.test(text)
const nameFor = (file: string) => basename(file, extname(file)).replaceAll(/[^\w.-]+/g, '-') || 'recorded'

const SHOWN = 3

async function made(io: CommandIo, origin: ScenarioOrigin, evidence: Evidence): Promise<string> {
  if (evidence.kind === 'incident') return incidentScenario(origin, evidence)
  const { attempts, skipped } = evidence
  for (const line of skipped) io.stderr.line(`understudy: warning: ${origin.file}: ${line}: skipped`)
  const rules = rulesOf(attempts)
  if (rules.length === 0) {
    throw new ServerError(
      `${origin.file}: none of its ${counted(attempts.length, 'attempt')} failed, so there is nothing to rehearse`,
    )
  }
  if (rules.length > MAX_RULES) {
    throw new ServerError(
      `${origin.file}: its failures are too irregular: they need ${rules.length} rules, and a scenario has at most ${MAX_RULES}; keep only the calls of the incident`,
    )
  }
  const text = attemptsScenario(origin, evidence, rules)
  const differences = await rehearseAttempts(io, text, attempts)
  if (differences.length === 0) return text
  const shown = differences
    .slice(0, SHOWN)
    .map(
      ({ number, attempt, recorded, rehearsed }) =>
        `attempt ${number} (${attempt.provider}/${attempt.model ?? '?'}): recorded ${recorded}, rehearsed ${rehearsed}`,
    )
  throw new ServerError(
    `the rehearsal differs from ${origin.file} in ${differences.length} of ${counted(attempts.length, 'attempt')}, so nothing was written: ${shown.join('; ')}`,
  )
}

function list(stdout: Printer, { json }: { json?: boolean }): void {
  const scenarios = shippedScenarios().flatMap((name) => {
    const found = loadShipped(name)
    return found
      ? [{ name, description: found.description ?? '', needs: found.needs ?? {}, incident: isIncident(found) }]
      : []
  })
  if (json) {
    stdout.json(scenarios)
    return
  }
  const column = 2 + Math.max(...scenarios.map(({ name }) => name.length))
  const lineOf = ({ name, description }: { name: string; description: string }) =>
    wrapLine(`${name.padEnd(column)}${description}`, stdout.width, column)
  const { past = [], general = [] } = Object.groupBy(scenarios, ({ incident }) => (incident ? 'past' : 'general'))
  stdout.lines([...general.flatMap(lineOf), '', 'Past incidents:', ...past.flatMap(lineOf)])
}

function show(stdout: Printer, name: string): void {
  const text = loadShipped(name)?.text
  if (text === undefined) throw unknownScenario(name, 'scenario')
  stdout.text(text.replace(/\n$/, ''))
}
