// Warns about models in fixtures and scenarios that resemble a known one. Any model name is valid, so these are no
// errors.

import { likelyModel } from '../../providers/likely-model.ts'
import type { SourceFile } from '../../schema/source.ts'
import { quote } from '../../schema/validation.ts'

type Path = readonly PropertyKey[]
/**
 * A line, with its position, for each model that is probably misspelled.
 * @param models known ids
 */
export function modelWarnings(source: SourceFile, models: readonly string[]): string[] {
  return patternsIn(source.value).flatMap(({ path, pattern }) => {
    const near = likelyModel(pattern, models)
    const message = `names the unknown model ${quote(pattern)} (did you mean '${near}'?)`
    return near === undefined ? [] : [source.line({ path, message })]
  })
}

interface ModelPattern {
  path: PropertyKey[]
  pattern: string
}

/** The models in the patterns of matches and expectations. */
function patternsIn(value: unknown, path: Path = [], within = false): ModelPattern[] {
  if (typeof value !== 'object' || value === null) return []
  const steps = Array.isArray(value) ? value.map((one, index) => [index, one] as const) : Object.entries(value)
  return steps.flatMap(([step, one]): ModelPattern[] => {
    if (step === 'model') return within && typeof one === 'string' ? [{ path: [...path, step], pattern: one }] : []
    return patternsIn(one, [...path, step], within || step === 'match' || step === 'expect')
  })
}
