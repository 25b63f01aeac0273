// Reads scenario files: the shipped ones by name, others by path; strict, with the place of every mistake.
import { readFileSync, statSync } from 'node:fs'
import { basename, dirname, extname } from 'node:path'
import { agentSubject } from '../contract/core/agent-subjects.ts'
import type { Problem } from '../contract/core/problem.ts'
import { listAssets, readAsset } from '../lib/assets.ts'
import { fileVersion } from '../lib/file-version.ts'
import { suggestion } from '../lib/likely-name.ts'
import { globRegex } from '../lib/match.ts'
import { FileError, parseSource, problemsIn, type SourceFile } from '../schema/source.ts'
import { problemsOf, safeParse } from '../schema/validation.ts'
import type { Scenario } from './engine.ts'
import { isOfRouter, pointOf } from './rule-match.ts'
import { type Rule, ScenarioFile } from './schema.ts'

const decoder = new TextDecoder()
const nameOf = (path: string) => basename(path, extname(path))

/** Names of the scenarios inside the executable. */
export const shippedScenarios = (): string[] => listAssets('scenarios').map(nameOf)

/**
 * A scenario of a file's text.
 * @throws FileError with all problems.
 */
export const parseScenario = (path: string, text: string): Scenario => scenarioIn(parseSource(path, text), text)

/** Mistakes that are told of one scenario: nobody reads thousands. */
const MAX_PROBLEMS = 100

/**
 * The scenario that a parsed text holds.
 * @throws FileError with all problems.
 */
export function scenarioIn(source: SourceFile, text: string): Scenario {
  const result = safeParse(ScenarioFile, source.value)
  if (!result.success) {
    const problems = problemsOf(result.error, source.value)
    throw new FileError(problems.slice(0, MAX_PROBLEMS).map((problem) => source.line(problem, 'the scenario')))
  }
  return { ...result.data, location: source.path, text }
}

/** What is wrong with the value of a scenario file. */
export function scenarioProblems(value: unknown): Problem[] {
  const result = safeParse(ScenarioFile, value)
  return result.success ? [] : problemsOf(result.error, value)
}

/** Whether a file is a scenario and not a fixture: by its folder, or because it has rules or expectations. */
export function isScenario(path: string, text: string): boolean {
  if (basename(dirname(path)) === 'scenarios') return true
  try {
    const { value } = parseSource(path, text)
    return typeof value === 'object' && value !== null && ('rules' in value || 'expect' in value)
  } catch {
    return false
  }
}

/** A scenario where it comes from. */
export interface ScenarioSource {
  /** As it was when it was last valid. */
  readonly scenario: Scenario
  /** Why the file, as it stands now, is not what is played. */
  readonly problem: string | undefined
  /** Reads the file again if it has changed; a file with a mistake leaves all as it was, and is told of once. */
  refresh(): void
}

/** A scenario that never changes. */
export const fixedSource = (scenario: Scenario): ScenarioSource => ({ scenario, problem: undefined, refresh() {} })

/** The shipped scenario of a name, undefined when there is none. */
export function loadShipped(name: string): Scenario | undefined {
  const path = listAssets('scenarios').find((one) => nameOf(one) === name)
  return path === undefined ? undefined : parseScenario(path, decoder.decode(readAsset(path)))
}

/** The error for a name that no shipped scenario has, with the name that was probably meant. */
export function unknownScenario(name: string, what: 'scenario' | 'scenario or file'): FileError {
  const names = shippedScenarios()
  return new FileError(
    `there is no ${what} ${JSON.stringify(name)}${suggestion(name, names)}; shipped: ${names.join(', ')}`,
  )
}

/**
 * The scenario of a shipped name or of a file, which is read again when it changes.
 * @param tell told of every edit that cannot be played.
 * @throws FileError for one that does not exist or is not valid.
 */
export function openScenario(nameOrFile: string, notify: (problem: FileError) => void): ScenarioSource {
  const shipped = loadShipped(nameOrFile)
  if (shipped) return fixedSource(shipped)
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
 * A line for each rule that can never fire.
 * @param operations names of the router's operations
 * @param locationOf where a rule stands; the scenario's location when left out
 */
export function rulesWithoutEffect(
  { rules, location }: Scenario,
  operations: readonly string[],
  locationOf = (_: number) => location,
): string[] {
  const states = new Set(['start', ...rules.map((rule) => rule.when.sets)])
  return rules.flatMap((rule, index) => {
    const why = whyIdle(rule, states) ?? unknownOperation(rule, operations)
    return why
      ? [`${locationOf(index)}: rules[${index}] ${JSON.stringify(rule.name)} can never be triggered: ${why}`]
      : []
  })
}

const MODELS_ONLY = ['provider', 'model', 'called_first', 'identity', 'thread', 'text'] as const
/** What agents do, by where rules act on it. */
const OF_AGENTS: Record<string, string | undefined> = {
  tool: 'tool calls',
  task: 'task iterations',
  approval: 'tool approvals',
  cancel: 'calls of canceled tasks',
}
const NO_CALL = ['body', 'path', 'stream', 'target', 'attempt'] as const
const AGENTS_ONLY = ['agent', 'task', 'iteration'] as const

function whyIdle(rule: Rule, states: Set<string | undefined>): string | undefined {
  const { calls, every, first = every ?? 1, probability, requires, schedule } = rule.when
  if (probability === 0) return 'its probability is 0'
  if (calls?.[1] === 0) return 'calls are counted from 1'
  if (calls && every && lastDue(calls[1], every, first) < Math.max(calls[0], first))
    return `'every: ${every}, first: ${first}' selects no call from ${calls[0]} to ${calls[1]}`
  if (requires !== undefined && !states.has(requires)) {
    const set = [...states].filter((state) => state !== undefined)
    return `no rule sets the state ${JSON.stringify(requires)}${suggestion(requires, set)}`
  }
  if (schedule?.every(({ phase, from = 0, to = 0 }) => phase === 'healthy' && from === 0 && to === 0))
    return 'its schedule is always healthy'
  if (
    pointOf(rule) === 'gateway' &&
    rule.match.target !== undefined &&
    rule.match.target !== 'primary' &&
    rule.match.target !== 0
  )
    return "rules at 'gateway' act before any fallback target is called"
  return foreignWord(rule)
}

/** The last call up to a number that is one of every so many from a first one. */
const lastDue = (last: number, every: number, first: number): number =>
  last - ((((last - first) % every) + every) % every)

/** That a rule says something of calls which those at its point have not. */
function foreignWord(rule: Rule): string | undefined {
  const at = pointOf(rule)
  const given = (words: readonly (keyof Rule['match'])[]) => words.find((word) => rule.match[word] !== undefined)
  const ofWorkspace = at === 'workspace' && given(MODELS_ONLY)
  if (ofWorkspace) return `workspace calls have no ${ofWorkspace}`
  const thing = OF_AGENTS[at]
  const foreign =
    thing !== undefined &&
    given(['provider', 'model', 'called_first', 'text', 'header', ...(at === 'tool' ? [] : NO_CALL)])
  if (foreign) return `${thing} have no ${foreign}`
  const agents = (at === 'workspace' || at === 'gateway') && given(AGENTS_ONLY)
  if (agents) return `'${agents}' only applies at 'provider', 'tool', 'task', 'approval' and 'cancel'`
  const ofTools = at === 'tool' || at === 'cancel'
  return !ofTools && given(['tool']) ? "'tool' only applies at 'tool' and 'cancel'" : undefined
}

function unknownOperation(rule: Rule, operations: readonly string[]): string | undefined {
  const { operation } = rule.match
  const at = pointOf(rule)
  const subject = agentSubject(at)
  for (const [word, only] of subject
    ? ([
        ['operation', subject.name],
        ['path', subject.path],
      ] as const)
    : []) {
    const wanted = rule.match[word]
    if (wanted !== undefined && !globRegex(wanted).test(only))
      return `at '${at}', '${word}' must be omitted or ${JSON.stringify(only)}, got ${JSON.stringify(wanted)}`
  }
  if (operation === undefined || !isOfRouter(rule)) return undefined
  if (operations.some((name) => globRegex(operation).test(name))) return undefined
  return `unknown operation ${JSON.stringify(operation)}; valid: ${operations.join(', ')}`
}
