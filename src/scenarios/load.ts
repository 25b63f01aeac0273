// Loads scenarios: the shipped ones by name, others by path. Errors have the line of every problem.
import { readFileSync, statSync } from 'node:fs'
import { basename, dirname, extname } from 'node:path'
import { agentSubject } from '../contract/core/agent-subjects.ts'
import type { Problem } from '../contract/core/problem.ts'
import { isCompiled, listAssets, readAsset } from '../lib/assets.ts'
import { fileVersion } from '../lib/file-version.ts'
import { lazy } from '../lib/lazy.ts'
import { suggestion } from '../lib/likely-name.ts'
import { globRegex } from '../lib/match.ts'
import { once } from '../lib/once.ts'
import { FileError, parseSource, problemsIn, type SourceFile } from '../schema/source.ts'
import { problemsOf, problemsWith, safeParse } from '../schema/validation.ts'
import type { Scenario } from './engine.ts'
import { isOfRouter, pointOf } from './rule-match.ts'
import type { Rule, ScenarioFile } from './schema.ts'

const format = lazy<typeof import('./schema.ts')>(() => require('./schema.ts'))

const decoder = new TextDecoder()
const nameOf = (path: string) => basename(path, extname(path))

/** Paths of the shipped scenarios, listed once: sessions activate them by name. */
const shippedPaths = once(() => listAssets('scenarios'))

/** Names of the scenarios inside the executable: first the general ones, then past incidents. */
export const shippedScenarios = (): string[] => {
  const paths = shippedPaths()
  return [...paths.filter((path) => !INCIDENT.test(path)), ...paths.filter((path) => INCIDENT.test(path))].map(nameOf)
}

const INCIDENT = /(?:^|\/)incidents\//
/** Whether a shipped scenario is a past incident of a provider. */
export const isIncident = ({ location }: Pick<Scenario, 'location'>): boolean => INCIDENT.test(location)

/**
 * Parses a scenario file.
 * @throws FileError with all problems.
 */
export const parseScenario = (path: string, text: string): Scenario => scenarioIn(parseSource(path, text), text)

/**
 * The scenario in a parsed file.
 * @throws FileError with all problems.
 */
export function scenarioIn(source: SourceFile, text: string): Scenario {
  const result = safeParse(format().ScenarioFile, source.value)
  if (!result.success)
    throw new FileError(problemsOf(result.error, source.value).map((problem) => source.line(problem, 'the scenario')))
  return { ...result.data, location: source.path, text }
}

/** The problems in the value of a scenario file. */
export const scenarioProblems = (value: unknown): Problem[] => problemsWith(format().ScenarioFile, value)

/** Whether a file is a scenario and not a fixture: by its folder, or by its rules or expectations. */
export function isScenario(path: string, text: string): boolean {
  if (basename(dirname(path)) === 'scenarios') return true
  try {
    const { value } = parseSource(path, text)
    return typeof value === 'object' && value !== null && ('rules' in value || 'expect' in value)
  } catch {
    return false
  }
}

/** The source of a scenario: a file, or a fixed one. */
export interface ScenarioSource {
  /** The last valid version. */
  readonly scenario: Scenario
  /** Why the current file is not used. Undefined if it is. */
  readonly problem: string | undefined
  /** Reloads the file if it has changed. An invalid file is reported once and not used. */
  refresh(): void
}

/** A scenario that never changes. */
export const fixedSource = (scenario: Scenario): ScenarioSource => ({ scenario, problem: undefined, refresh() {} })

/** The shipped scenarios that were used, by path: sessions share them, since none changes. */
const shipped = new Map<string, Scenario>()

/** The shipped scenario with a name; undefined for an unknown name. */
export function loadShipped(name: string): Scenario | undefined {
  const path = shippedPaths().find((one) => nameOf(one) === name)
  if (path === undefined) return undefined
  return shipped.getOrInsertComputed(path, () => {
    const text = decoder.decode(readAsset(path))
    const checked = stored()[path]
    return checked ? { ...checked, location: path, text } : parseScenario(path, text)
  })
}

/** Path of the shipped scenarios as the build stores them: checked, so that the executable parses no YAML. */
export const SCENARIOS_FILE = 'dist/scenarios.json'
const stored = once(
  (): Record<string, ScenarioFile> => (isCompiled ? JSON.parse(decoder.decode(readAsset(SCENARIOS_FILE))) : {}),
)

/** The error for an unknown scenario name, with a suggestion. */
export function unknownScenario(name: string, what: 'scenario' | 'scenario or file'): FileError {
  const names = shippedScenarios()
  return new FileError(
    `there is no ${what} ${JSON.stringify(name)}${suggestion(name, names)}; shipped: ${names.join(', ')}`,
  )
}

/**
 * Opens a shipped scenario by name, or a file, which is reloaded when it changes.
 * @param notify Called for every invalid version of the file.
 * @throws FileError if it does not exist or is not valid.
 */
export function openScenario(nameOrFile: string, notify: (problem: FileError) => void): ScenarioSource {
  const known = loadShipped(nameOrFile)
  if (known) return fixedSource(known)
  if (!statSync(nameOrFile, { throwIfNoEntry: false })?.isFile()) {
    throw unknownScenario(nameOrFile, 'scenario or file')
  }
  return fileSource(nameOrFile, notify)
}

function fileSource(path: string, notify: (problem: FileError) => void): ScenarioSource {
  const read = () => parseScenario(path, readFileSync(path, 'utf8'))
  let version = fileVersion(path)
  let scenario = read()
  let problem: string | undefined
  return {
    get scenario() {
      return scenario
    },
    get problem() {
      return problem
    },
    refresh() {
      const found = fileVersion(path)
      if (found === version) return
      version = found
      try {
        scenario = read()
        problem = undefined
      } catch (error) {
        const problems = problemsIn(error)
        problem = problems.join('\n')
        notify(new FileError([...problems, `cannot reload ${path}: keeping the previous scenario`]))
      }
    },
  }
}

/**
 * Warns about each rule that can never be triggered.
 * @param operations Names of the router's operations.
 * @param locationOf Returns the location of a rule by index. Default: the scenario's location.
 */
export function rulesWithoutEffect(
  { rules, location }: Scenario,
  operations: readonly string[],
  locationOf = (_: number) => location,
): string[] {
  const states = new Set(['start', ...rules.map((rule) => rule.when.sets)])
  return rules.flatMap((rule, index) => {
    const reason = idleReason(rule, states) ?? unknownOperation(rule, operations)
    return reason
      ? [`${locationOf(index)}: rules[${index}] ${JSON.stringify(rule.name)} can never be triggered: ${reason}`]
      : []
  })
}

const MODELS_ONLY = ['provider', 'model', 'called_first', 'identity', 'thread', 'text'] as const
const NO_CALL = ['body', 'path', 'stream', 'target', 'attempt'] as const
const AGENTS_ONLY = ['agent', 'task', 'iteration'] as const

function idleReason(rule: Rule, states: Set<string | undefined>): string | undefined {
  const { calls, every, first = every ?? 1, probability, requires, schedule } = rule.when
  if (probability === 0) return 'its probability is 0'
  if (calls?.[1] === 0) return 'calls are counted from 1'
  if (rule.match.attempt?.[1] === 0) return 'attempts are counted from 1'
  if (rule.match.iteration?.[1] === 0) return 'iterations are counted from 1'
  if (calls && every && lastSelected(calls[1], every, first) < Math.max(calls[0], first))
    return `'every: ${every}, first: ${first}' selects no call from ${calls[0]} to ${calls[1]}`
  if (requires !== undefined && !states.has(requires)) {
    const set = [...states].filter((state) => state !== undefined)
    return `no rule sets the state ${JSON.stringify(requires)}${suggestion(requires, set)}`
  }
  if (schedule?.every(({ phase, from = 0, to = 0 }) => phase === 'healthy' && from === 0 && to === 0))
    return 'its schedule is always healthy'
  if (pointOf(rule) === 'gateway' && ![undefined, 'primary', 0].includes(rule.match.target))
    return "rules at 'gateway' act before any fallback target is called"
  return invalidCondition(rule)
}

/** The last selected call up to a number, for `every` and `first`. */
const lastSelected = (last: number, every: number, first: number): number =>
  last - ((((last - first) % every) + every) % every)

/** Explains a match condition that does not apply at the point of a rule. */
function invalidCondition(rule: Rule): string | undefined {
  const at = pointOf(rule)
  const firstUsed = (fields: readonly (keyof Rule['match'])[]) =>
    fields.find((field) => rule.match[field] !== undefined)
  const modelField = at === 'workspace' && firstUsed(MODELS_ONLY)
  if (modelField) return `workspace calls have no ${modelField}`
  const subject = agentSubject(at)
  const invalid =
    subject && firstUsed(['provider', 'model', 'called_first', 'text', 'header', ...(at === 'tool' ? [] : NO_CALL)])
  if (invalid) return `${subject.noun} have no ${invalid}`
  const agentField = (at === 'workspace' || at === 'gateway') && firstUsed(AGENTS_ONLY)
  if (agentField) return `'${agentField}' only applies at 'provider', 'tool', 'task', 'approval' and 'cancel'`
  const allowsTool = at === 'tool' || at === 'cancel'
  return !allowsTool && firstUsed(['tool']) ? "'tool' only applies at 'tool' and 'cancel'" : undefined
}

function unknownOperation(rule: Rule, operations: readonly string[]): string | undefined {
  const { operation } = rule.match
  const at = pointOf(rule)
  const subject = agentSubject(at)
  if (subject) {
    const { name, path } = subject
    for (const [field, valid] of Object.entries({ operation: name, path })) {
      const pattern = rule.match[field as 'operation' | 'path']
      if (pattern !== undefined && !globRegex(pattern).test(valid))
        return `at '${at}', '${field}' must be omitted or ${JSON.stringify(valid)}, got ${JSON.stringify(pattern)}`
    }
  }
  if (operation === undefined || !isOfRouter(rule)) return undefined
  if (operations.some((name) => globRegex(operation).test(name))) return undefined
  return `unknown operation ${JSON.stringify(operation)}; valid: ${operations.join(', ')}`
}
