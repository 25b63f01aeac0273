// Named rules for fields of a request that change from run to run: their paths, and how they are applied.
import { asText, isObject, type JsonObject, mapTexts, parsedJson } from '../../lib/values.ts'
import type { FormField, UpstreamBody, VolatileRule } from './cassette.ts'

/** A step of a path: the name of a field, the index of an item, or null for every item of a list. */
export type FieldStep = string | number | null

/** A name as a path writes it without quotes. */
const NAME = /^[^.[\]"]+$/
const STEP = /(^|\.)([^.[\]"]+)|\[(\*|\d{1,9})\]|\[("(?:[^"\\]|\\.)*")\]/y

/**
 * The steps of a path such as `messages[*].content` or `metadata["run.id"]`; undefined if it is invalid.
 * @example
 * parseFieldPath('messages[*].content') // => ['messages', null, 'content']
 * parseFieldPath('metadata["run.id"]') // => ['metadata', 'run.id']
 * parseFieldPath('messages[') // => undefined
 */
export function parseFieldPath(path: string): FieldStep[] | undefined {
  const steps: FieldStep[] = []
  STEP.lastIndex = 0
  for (let at = 0; at < path.length; at = STEP.lastIndex) {
    const found = STEP.exec(path)
    if (!found) return undefined
    const [, dot, name, index, quoted] = found
    if (dot === '' && steps.length > 0) return undefined
    const step = name ?? (index === '*' ? null : index === undefined ? asText(parsedJson(quoted ?? '')) : Number(index))
    if (step === undefined) return undefined
    steps.push(step)
  }
  return steps.length > 0 ? steps : undefined
}

/**
 * A path as text, which `parseFieldPath` reads.
 * @example
 * formatFieldPath(['messages', 0, 'content']) // => 'messages[0].content'
 * formatFieldPath(['metadata', 'run.id']) // => 'metadata["run.id"]'
 */
export const formatFieldPath = (steps: readonly FieldStep[]): string =>
  steps.reduce<string>((path, step) => {
    if (typeof step !== 'string') return `${path}[${step ?? '*'}]`
    return NAME.test(step) ? `${path}${path && '.'}${step}` : `${path}[${JSON.stringify(step)}]`
  }, '')

const REMOVED = Symbol('removed')

/** A rule that is ready to be applied; `count` returns how often it was. */
function readyRule({ name: ruleName, path, pattern }: VolatileRule) {
  const steps = parseFieldPath(path) ?? []
  const volatile = pattern === undefined ? undefined : new RegExp(pattern, 'gu')
  // In place of what is not compared.
  const mark = `<volatile:${ruleName}>`
  let count = 0

  const stableText = (text: string): string =>
    text.replace(volatile ?? '', (found: string) => {
      if (found === '') return ''
      count++
      return mark
    })
  /** A value without its volatile part: the value itself if it has none. With a pattern, it applies to every text in the value. */
  const stableValue = (value: unknown, depth = 0): unknown => {
    if (depth === steps.length && volatile) return mapTexts(value, stableText)
    if (depth === steps.length) {
      count++
      return REMOVED
    }
    const step = steps[depth]
    if (Array.isArray(value)) return typeof step === 'string' ? value : stableItems(value, step, depth)
    if (typeof step !== 'string' || !isObject(value) || !Object.hasOwn(value, step)) return value
    const inner = stableValue(value[step], depth + 1)
    if (inner === value[step]) return value
    const entries = Object.entries(value)
    return Object.fromEntries(
      inner === REMOVED
        ? entries.filter(([name]) => name !== step)
        : entries.map(([name, old]): [string, unknown] => [name, name === step ? inner : old]),
    )
  }
  const stableItems = (list: readonly unknown[], step: number | null | undefined, depth: number) => {
    let changed: unknown[] | undefined
    for (const [index, item] of list.entries()) {
      if (step !== null && step !== index) continue
      const inner = stableValue(item, depth + 1)
      if (inner === item) continue
      changed ??= [...list]
      // The other items keep their places.
      changed[index] = inner === REMOVED ? mark : inner
    }
    return changed ?? list
  }
  /** The fields of a form; fields of the same name are a list. */
  const stableFields = (fields: readonly FormField[]): readonly FormField[] => {
    const [name, ...rest] = steps
    if (rest.length > 1 || (rest.length === 1 && rest[0] !== null)) return fields
    return fields.flatMap((field): FormField[] => {
      if (field.name !== name) return [field]
      if (volatile) return 'value' in field ? [{ name: field.name, value: stableText(field.value) }] : [field]
      count++
      return []
    })
  }
  return { stableValue, stableFields, count: () => count }
}

/**
 * A body without what the rules of an operation call volatile, and how often each rule applied. A field is left out;
 * an item of a list and a part of a text are replaced by a mark.
 */
export function withoutVolatileFields(
  body: UpstreamBody,
  operation: string,
  rules: readonly VolatileRule[],
): { body: UpstreamBody; applied: ReadonlyMap<string, number> } {
  const applied = new Map(rules.map(({ name }) => [name, 0]))
  let stable = body
  for (const rule of rules) {
    if (rule.operation !== undefined && rule.operation !== operation) continue
    const { stableValue, stableFields, count } = readyRule(rule)
    if (stable.kind === 'json') {
      const value = stableValue(stable.value)
      stable = value === stable.value ? stable : { kind: 'json', value: value as JsonObject }
    } else if (stable.kind === 'form') stable = { kind: 'form', fields: stableFields(stable.fields) }
    applied.set(rule.name, (applied.get(rule.name) ?? 0) + count())
  }
  return { body: stable, applied }
}
