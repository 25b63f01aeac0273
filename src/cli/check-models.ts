// Models in fixtures and scenarios that are nearly one that is known: models may be anybody's own, so it is only a warning.
import type { SourceFile } from '../contract/source.ts'
import { quote } from '../contract/validation.ts'
import { lettersBetween } from '../lib/likely-name.ts'
import { globRegex } from '../lib/match.ts'

type Path = readonly PropertyKey[]
/** Shorter names have little that could be wrong. */
const SHORT = 8
/** What may stand behind the name of a model without making it another. */
const VERSION = /[-:@](?:\d{4}[\d-]*|latest|preview)$/

/**
 * A line, with its place, for each model that was probably misspelt.
 * @param models ids that are known
 */
export function modelWarnings(source: SourceFile, models: readonly string[]): string[] {
  return patternsIn(source.value).flatMap(({ path, pattern }) => {
    const near = nearlyMeant(pattern, models)
    const message = `is ${quote(pattern)}, and no such model is known (did you mean '${near}'?)`
    return near === undefined ? [] : [source.line({ path, message })]
  })
}

interface ModelPattern {
  path: PropertyKey[]
  pattern: string
}

/** The models that calls are matched by or expected of. */
function patternsIn(value: unknown, path: Path = [], within = false): ModelPattern[] {
  if (typeof value !== 'object' || value === null) return []
  const steps = Array.isArray(value) ? value.map((one, index) => [index, one] as const) : Object.entries(value)
  return steps.flatMap(([step, one]): ModelPattern[] => {
    if (step === 'model') return within && typeof one === 'string' ? [{ path: [...path, step], pattern: one }] : []
    return patternsIn(one, [...path, step], within || step === 'match' || step === 'expect')
  })
}

/** The known model that a pattern is nearly, undefined when it matches one, or is like none. */
function nearlyMeant(pattern: string, models: readonly string[]): string | undefined {
  // A scenario may name a model alone.
  const names = pattern.includes('/') ? models : models.map((id) => id.slice(id.indexOf('/') + 1))
  const given = pattern.split('*', 1)[0] ?? ''
  const isGlob = given !== pattern
  const written = given.replace(VERSION, '')
  const isKnown = (name: string) => (isGlob ? globRegex(pattern).test(name) : name === given || name === written)
  if (names.some(isKnown)) return undefined
  const most = written.slice(written.indexOf('/') + 1).length < SHORT ? 1 : 2
  const candidates = names.flatMap((name) => {
    const beginnings = isGlob ? [1, 0, -1].map((more) => name.slice(0, written.length + more)) : [name]
    return beginnings.map((text) => ({ text, name, wrong: mistakesBetween(text, written) }))
  })
  // Another number is another version, which we may not know yet.
  if (candidates.some(({ text }) => numberless(text) === numberless(written))) return undefined
  const near = candidates.filter(({ text, wrong }) => wrong <= most && !isVariant(text, written))
  return near.toSorted((one, other) => one.wrong - other.wrong || other.text.length - one.text.length)[0]?.name
}

const isVariant = (name: string, written: string) => written.startsWith(name) && /\d/.test(written.slice(name.length))
const numberless = (text: string) => text.replace(/[\d.]+/g, '#')

/** Two letters in the wrong order are one mistake. */
function mistakesBetween(one: string, other: string): number {
  const wrong = lettersBetween(one, other)
  return wrong === 2 && [...one].sort().join('') === [...other].sort().join('') ? 1 : wrong
}
