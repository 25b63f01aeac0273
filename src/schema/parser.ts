// A schema as plain data, created by compile.ts, and its parser: fast, and without messages. The build embeds the compiled schemas
// that a start needs, so that neither zod nor the schema is loaded before a value is rejected.
import { type RuleName, rules } from '../contract/core/rules.ts'
import { isObject, type JsonObject } from '../lib/values.ts'

/** Returned for a value that is not known to be valid. */
export const NOT_VALID = Symbol('refused')
/** Parses a value, or returns `NOT_VALID`. */
export type Parser = (value: unknown) => unknown

/** A rule for a value of the right type; a live one is zod's own. */
export type SchemaRule =
  | { is: 'min' | 'max'; length: number }
  | { is: 'above' | 'below'; limit: number; inclusive: boolean }
  | { is: 'safeint' }
  | { is: 'pattern'; source: string; flags: string }
  | { is: 'test' | 'finds'; name: RuleName }
  | { is: 'live'; check: LiveCheck }
/** A value and the issues that zod's rules find. */
interface Findings {
  value: unknown
  issues: object[]
}
/** A rule of zod. */
interface LiveCheck {
  check(findings: Findings): unknown
  def: { when?: (findings: Findings) => boolean }
}

/** A field of an object. */
interface CompiledField {
  name: string
  /** What happens to an absent field: it is omitted, its parser supplies a value, or the object is rejected. */
  absent: 'left out' | 'parsed' | 'refused'
  outline: CompiledSchema
}

/** A type of values, without its rules. */
type CompiledKind =
  | { is: 'string' | 'boolean' | 'number' | 'unknown' }
  | { is: 'values'; values: readonly unknown[] }
  | { is: 'nullable' | 'optional' | 'array'; of: CompiledSchema }
  | { is: 'default' | 'prefault'; of: CompiledSchema; value: unknown }
  | { is: 'record'; key: CompiledSchema; of: CompiledSchema }
  | { is: 'pipe'; of: CompiledSchema; to: CompiledSchema }
  | { is: 'made'; by: RuleName }
  | { is: 'union'; options: readonly CompiledSchema[] }
  | {
      is: 'choice'
      by: string
      options: readonly { names: readonly string[]; absent: boolean; outline: CompiledSchema }[]
    }
  | { is: 'object'; fields: readonly CompiledField[]; others: 'kept' | 'dropped' | 'refused' }
  | { is: 'live'; parse: Parser }
/** A compiled schema; null means unknown. */
export type CompiledSchema = (CompiledKind & { rules?: readonly SchemaRule[] }) | null

type KindOf<Is extends CompiledKind['is']> = Extract<CompiledKind, { is: Is }>

/** A function that parses a value by a compiled schema; `NOT_VALID` if zod must decide. */
export function compiledParser(outline: CompiledSchema): Parser {
  const parser = parserOf(outline)
  return (value) => {
    try {
      return parser(value)
    } catch {
      // A rule that cannot read the value: zod runs into it again, and its result counts.
      return NOT_VALID
    }
  }
}

const refuse: Parser = () => NOT_VALID

function parserOf(compiled: CompiledSchema): Parser {
  if (!compiled) return refuse
  const parser = parserOfKind(compiled)
  if (!compiled.rules) return parser
  const checks = compiled.rules.map(checkOf)
  const [only] = checks
  if (checks.length === 1 && only) {
    return (value) => {
      const parsed = parser(value)
      return parsed === NOT_VALID ? NOT_VALID : only(parsed)
    }
  }
  return (value) => {
    let parsed = parser(value)
    for (const check of checks) {
      if (parsed === NOT_VALID) return NOT_VALID
      parsed = check(parsed)
    }
    return parsed
  }
}

/** The parser of a type, without its rules. */
function parserOfKind(compiled: CompiledKind): Parser {
  switch (compiled.is) {
    case 'string':
    case 'boolean':
      return (value) => (typeof value === compiled.is ? value : NOT_VALID)
    case 'number':
      return (value) => (Number.isFinite(value) ? value : NOT_VALID)
    case 'unknown':
      return (value) => value
    case 'values': {
      const values = new Set(compiled.values)
      return (value) => (values.has(value) ? value : NOT_VALID)
    }
    case 'nullable': {
      const inner = parserOf(compiled.of)
      return (value) => (value === null ? null : inner(value))
    }
    case 'optional': {
      const inner = parserOf(compiled.of)
      return (value) => (value === undefined ? undefined : inner(value))
    }
    case 'default': {
      const inner = parserOf(compiled.of)
      return (value) => (value === undefined ? copyOf(compiled.value) : inner(value))
    }
    case 'prefault': {
      const inner = parserOf(compiled.of)
      return (value) => inner(value === undefined ? copyOf(compiled.value) : value)
    }
    case 'array':
      return arrayParser(parserOf(compiled.of))
    case 'record':
      return recordParser(parserOf(compiled.key), parserOf(compiled.of))
    case 'pipe': {
      const [first, second] = [parserOf(compiled.of), parserOf(compiled.to)]
      return (value) => {
        const parsed = first(value)
        return parsed === NOT_VALID ? NOT_VALID : second(parsed)
      }
    }
    case 'made':
      return rules[compiled.by] as Parser
    case 'union':
      return unionParser(compiled)
    case 'choice':
      return choiceParser(compiled)
    case 'object':
      return objectParser(compiled)
    case 'live':
      return compiled.parse
  }
}

/** A copy of a default. */
const copyOf = (value: unknown) => (typeof value === 'object' && value !== null ? structuredClone(value) : value)

function arrayParser(element: Parser): Parser {
  return (value) => {
    if (!Array.isArray(value)) return NOT_VALID
    const parsed: unknown[] = []
    for (const item of value) {
      const one = element(item)
      if (one === NOT_VALID) return NOT_VALID
      parsed.push(one)
    }
    return parsed
  }
}

/** An object with any keys. One that is not a plain object is left to zod. */
function recordParser(key: Parser, element: Parser): Parser {
  return (value) => {
    if (!isObject(value) || Object.getPrototypeOf(value) !== Object.prototype) return NOT_VALID
    const parsed: JsonObject = {}
    for (const name of Object.keys(value)) {
      if (name === '__proto__') continue
      const one = element(value[name])
      if (one === NOT_VALID || key(name) !== name) return NOT_VALID
      parsed[name] = one
    }
    return parsed
  }
}

/** Created on first use: little of most schemas is used. */
interface Later {
  outline: CompiledSchema
  parse?: Parser
}

/** The first of several schemas that accepts a value. */
function unionParser({ options }: KindOf<'union'>): Parser {
  const all = options.map((compiled): Later => ({ outline: compiled }))
  return (value) => {
    for (const option of all) {
      option.parse ??= parserOf(option.outline)
      const parsed = option.parse(value)
      if (parsed !== NOT_VALID) return parsed
    }
    return NOT_VALID
  }
}

/** The schema that a discriminator selects. */
function choiceParser({ by, options }: KindOf<'choice'>): Parser {
  const byName = new Map<unknown, Later>()
  for (const { names, absent, outline } of options) {
    const option: Later = { outline }
    for (const name of names) byName.set(name, option)
    if (absent) byName.set(undefined, option)
  }
  return (value) => {
    const option = isObject(value) ? byName.get(value[by]) : undefined
    if (!option) return NOT_VALID
    option.parse ??= parserOf(option.outline)
    return option.parse(value)
  }
}

/** A field with its position in the schema, which is its position in the parsed object. */
type Field = CompiledField & Later & { place: number }

/** Inserts a field at its position. */
function insert(fields: Field[], field: Field): void {
  let at = fields.length
  while (at > 0 && (fields[at - 1]?.place ?? 0) > field.place) at--
  if (at === fields.length) fields.push(field)
  else fields.splice(at, 0, field)
}

/**
 * An object; unknown fields come after those of the schema. Most optional fields are absent, so only present ones are
 * visited.
 */
function objectParser({ fields, others }: KindOf<'object'>): Parser {
  const all = fields.map((field, place): Field => ({ ...field, place }))
  const byName = new Map(all.map((field) => [field.name, field]))
  const needed = all.filter(({ absent }) => absent !== 'left out')
  return (value) => {
    if (!isObject(value)) return NOT_VALID
    const present: Field[] = []
    let more = false
    for (const name in value) {
      const field = byName.get(name)
      if (field) insert(present, field)
      else more = true
    }
    if (more && others === 'refused') return NOT_VALID
    for (const field of needed) {
      if (field.name in value) continue
      if (field.absent === 'refused') return NOT_VALID
      insert(present, field)
    }
    const parsed: JsonObject = {}
    for (const field of present) {
      field.parse ??= parserOf(field.outline)
      const { name } = field
      const one = field.parse(value[name])
      if (one === NOT_VALID) return NOT_VALID
      if (one !== undefined || name in value) parsed[name] = one
    }
    if (!more || others === 'dropped') return parsed
    for (const name in value) if (!byName.has(name) && name !== '__proto__') parsed[name] = value[name]
    return parsed
  }
}

/** The value after a rule: unchanged, unless the rule transforms it. */
function checkOf(rule: SchemaRule): Parser {
  switch (rule.is) {
    case 'min':
      return (value) => (isShorter(value as Sized, rule.length) ? NOT_VALID : value)
    case 'max':
      return (value) => (isLonger(value as Sized, rule.length) ? NOT_VALID : value)
    case 'above':
      return (value) => ((value as number) > rule.limit || (rule.inclusive && value === rule.limit) ? value : NOT_VALID)
    case 'below':
      return (value) => ((value as number) < rule.limit || (rule.inclusive && value === rule.limit) ? value : NOT_VALID)
    case 'safeint':
      return (value) => (Number.isSafeInteger(value) ? value : NOT_VALID)
    case 'pattern': {
      const pattern = new RegExp(rule.source, rule.flags)
      return (value) => {
        pattern.lastIndex = 0
        return pattern.test(value as string) ? value : NOT_VALID
      }
    }
    case 'test': {
      const test = rules[rule.name] as (value: unknown) => unknown
      return (value) => (test(value) ? value : NOT_VALID)
    }
    case 'finds':
      return looked({ check: rules[rule.name] as LiveCheck['check'], def: {} })
    case 'live':
      return looked(rule.check)
  }
}

type Sized = string | readonly unknown[]
/**
 * The length of a text is its number of code points, which are one or two units each: they are counted only if the
 * number of units does not decide.
 */
const pointsOf = (text: string) => [...text].length
const isShorter = (value: Sized, length: number) =>
  value.length < length ||
  (typeof value === 'string' && length > 1 && value.length < 2 * length && pointsOf(value) < length)
const isLonger = (value: Sized, length: number) =>
  value.length > length && !(typeof value === 'string' && value.length <= 2 * length && pointsOf(value) <= length)

const looked =
  (rule: LiveCheck): Parser =>
  (value) => {
    const findings: Findings = { value, issues: [] }
    if (rule.def.when && !rule.def.when(findings)) return value
    return rule.check(findings) instanceof Promise || findings.issues.length > 0 ? NOT_VALID : findings.value
  }
