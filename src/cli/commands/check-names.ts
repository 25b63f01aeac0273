// Finds unknown names in fixtures and scenarios: providers, those of models, and operations; and models that are probably
// misspelled. Any model name is valid, so that is only a warning.
import type { Problem } from '../../contract/core/problem.ts'
import { suggestion } from '../../lib/likely-name.ts'
import { globRegex } from '../../lib/match.ts'
import { likelyModel } from '../../providers/likely-model.ts'
import type { Scenario } from '../../scenarios/engine.ts'
import { isOfRouter } from '../../scenarios/rule-match.ts'
import type { CallPattern } from '../../scenarios/schema.ts'
import { FileError, parseSource, type SourceFile } from '../../schema/source.ts'
import { quote } from '../../schema/validation.ts'

/** The known names. */
export interface KnownNames {
  /** Those of the registry, and those in the settings file. */
  providers: readonly string[]
  /** Of the router. */
  operations: readonly string[]
  /** Ids of known models; others are valid, too. */
  models: readonly string[]
}

type Path = readonly PropertyKey[]

/** The problem of a name at a place, if it has one. */
function problemAt(path: Path, name: unknown, problemOf: (name: string) => string | undefined): Problem[] {
  const message = typeof name === 'string' ? problemOf(name) : undefined
  return message === undefined ? [] : [{ path: [...path], message }]
}

/** A line, with its position, for each model of a fixture file with an unknown provider. */
export function fixtureNameProblems(source: SourceFile, known: KnownNames): string[] {
  const { value } = source
  const many = Array.isArray(value)
  const problems = (many ? value : [value]).flatMap((one: unknown, index): Problem[] => {
    const model = (one as { match?: { model?: unknown } } | null)?.match?.model
    const path = [...(many ? [index] : []), 'match', 'model']
    return problemAt(path, model, (name) => fullModelProblem(name, known))
  })
  return problems.map((problem) => source.line(problem))
}

/** A line, with its position, for each unknown name in a valid scenario. */
export function scenarioNameProblems(source: SourceFile, scenario: Scenario, known: KnownNames): string[] {
  const rules = scenario.rules.flatMap((rule, index) => {
    const path = ['rules', index, 'match']
    // Workspace operations have other names.
    const operation = isOfRouter(rule) ? rule.match.operation : undefined
    return [
      ...patternProblems(rule.match, path, known),
      ...problemAt([...path, 'operation'], operation, (name) => globProblem(name, 'operation', known.operations)),
    ]
  })
  const expected = scenario.expect.flatMap((one, index) => {
    const patterns: [Path, CallPattern][] = [
      [['expect', index], one],
      ...(one.order ?? []).map((like, step): [Path, CallPattern] => [['expect', index, 'order', step], like]),
    ]
    return patterns.flatMap(([path, like]) => [
      ...patternProblems(like, path, known),
      // An expectation needs the whole name of an operation.
      ...problemAt([...path, 'operation'], like.operation, (name) =>
        known.operations.includes(name) ? undefined : unknownName(name, 'operation', known.operations),
      ),
    ])
  })
  return [...rules, ...expected].map((problem) => source.line(problem))
}

/**
 * A line, with its position, for each model that is probably misspelled.
 * @param models known ids
 */
export const modelWarnings = (source: SourceFile, models: readonly string[]): string[] =>
  patternsIn(source.value).flatMap(({ path, pattern }) => {
    const near = likelyModel(pattern, models)
    const message = `names the unknown model ${quote(pattern)} (did you mean '${near}'?)`
    return near === undefined ? [] : [source.line({ path, message })]
  })

/** The models in the patterns of matches and expectations. */
function patternsIn(value: unknown, path: Path = [], within = false): { path: PropertyKey[]; pattern: string }[] {
  if (typeof value !== 'object' || value === null) return []
  const steps = Array.isArray(value) ? value.map((one, index) => [index, one] as const) : Object.entries(value)
  return steps.flatMap(([step, one]) => {
    if (step === 'model') return within && typeof one === 'string' ? [{ path: [...path, step], pattern: one }] : []
    return patternsIn(one, [...path, step], within || step === 'match' || step === 'expect')
  })
}

/** A parsed file; undefined if it is invalid, which is reported elsewhere. */
export function sourceOf(path: string, text: string): SourceFile | undefined {
  try {
    return parseSource(path, text)
  } catch (error) {
    if (error instanceof FileError) return undefined
    throw error
  }
}

type Pattern = Pick<CallPattern, 'provider' | 'model'>

function patternProblems({ provider, model }: Pattern, path: Path, known: KnownNames): Problem[] {
  return [
    ...problemAt([...path, 'provider'], provider, (name) => globProblem(name, 'provider', known.providers)),
    ...problemAt([...path, 'model'], model, (name) => modelProblem(name, known)),
  ]
}

/**
 * For a pattern that may also be a model without provider, whose name may contain a slash: a problem only if it
 * resembles a provider.
 */
function modelProblem(pattern: string, { providers }: KnownNames): string | undefined {
  const provider = pattern.slice(0, Math.max(0, pattern.indexOf('/')))
  const isKnown = provider === '' || provider.includes('*') || providers.includes(provider)
  if (isKnown || suggestion(provider, providers) === '') return undefined
  return unknownName(provider, 'provider', providers)
}

/** For a pattern of ids, which always have a provider. */
function fullModelProblem(pattern: string, { providers }: KnownNames): string | undefined {
  const [beginning = ''] = pattern.split('*', 1)
  if (providers.some((name) => beginning.startsWith(`${name}/`))) return undefined
  if (pattern.includes('*') && providers.some((name) => `${name}/`.startsWith(beginning))) return undefined
  if (!beginning.includes('/')) return `must be '<provider>/<model>' (* matches any characters), got ${quote(pattern)}`
  return unknownName(beginning.slice(0, beginning.indexOf('/')), 'provider', providers)
}

function globProblem(pattern: string, what: string, known: readonly string[]): string | undefined {
  return known.some((name) => globRegex(pattern).test(name)) ? undefined : unknownName(pattern, what, known)
}

const unknownName = (name: string, what: string, known: readonly string[]) =>
  `names the unknown ${what} ${quote(name)}${suggestion(name, known)}; valid: ${known.join(', ')}`
