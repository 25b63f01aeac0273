// Reads scenario files: the shipped ones by name, others by path; strict, with the place of every mistake.
import { readFileSync, statSync } from 'node:fs'
import { basename, extname } from 'node:path'
import { FileError, parseSource } from '../contract/source.ts'
import { formatPath, problemsOf, safeParse } from '../contract/validation.ts'
import { listAssets, readAsset } from '../lib/assets.ts'
import type { Scenario } from './engine.ts'
import { pointOf } from './engine.ts'
import { type Rule, ScenarioFile } from './schema.ts'

const decoder = new TextDecoder()
const nameOf = (path: string) => basename(path, extname(path))

/** Names of the scenarios inside the executable. */
export const shippedScenarios = (): string[] => listAssets('scenarios').map(nameOf)

/**
 * A scenario of a file's text.
 * @throws FileError with all problems.
 */
export function parseScenario(path: string, text: string): Scenario {
  const source = parseSource(path, text)
  const result = safeParse(ScenarioFile, source.value)
  if (!result.success) {
    const problems = problemsOf(result.error, source.value)
    throw new FileError(
      problems
        .map((one) => `${source.at(one.path)}: ${formatPath(one.path) || 'the scenario'} ${one.message}`)
        .join('\n'),
    )
  }
  return { ...result.data, place: path }
}

/** The shipped scenario of a name, undefined when there is none. */
export function loadShipped(name: string): Scenario | undefined {
  const path = listAssets('scenarios').find((one) => nameOf(one) === name)
  return path === undefined ? undefined : parseScenario(path, decoder.decode(readAsset(path)))
}

/** The scenario of a shipped name or of a file; throws `FileError` for one that does not exist or is not valid. */
export function loadScenario(nameOrFile: string): Scenario {
  const shipped = loadShipped(nameOrFile)
  if (shipped) return shipped
  if (!statSync(nameOrFile, { throwIfNoEntry: false })?.isFile()) {
    const names = shippedScenarios().join(', ')
    throw new FileError(`there is no scenario or file ${JSON.stringify(nameOrFile)}; shipped: ${names || 'none'}`)
  }
  return parseScenario(nameOrFile, readFileSync(nameOrFile, 'utf8'))
}

/** A line for each rule that can never fire. */
export function idleRules({ rules, place }: Scenario): string[] {
  const states = new Set(['start', ...rules.map((rule) => rule.when.sets)])
  return rules.flatMap((rule, index) => {
    const why = whyIdle(rule, states)
    return why ? [`${place}: rules[${index}] ${JSON.stringify(rule.name)} can never fire: ${why}`] : []
  })
}

function whyIdle(rule: Rule, states: Set<string | undefined>): string | undefined {
  const { calls, every, probability, requires, schedule } = rule.when
  if (probability === 0) return 'its probability is 0'
  if (calls?.[1] === 0) return 'calls are counted from 1'
  if (calls && every && Math.floor(calls[1] / every) * every < calls[0])
    return `no call of ${calls[0]} to ${calls[1]} is an ${every}th`
  if (requires !== undefined && !states.has(requires)) return `no rule sets the state ${JSON.stringify(requires)}`
  if (schedule?.every(({ phase, from = 0, to = 0 }) => phase === 'healthy' && from === 0 && to === 0))
    return 'its schedule is always healthy'
  if (
    pointOf(rule) === 'gateway' &&
    rule.match.target !== undefined &&
    rule.match.target !== 'primary' &&
    rule.match.target !== 0
  )
    return 'at the gateway there is no fallback target yet'
  return undefined
}
