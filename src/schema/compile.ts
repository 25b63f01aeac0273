// Compiles a zod schema to plain data.
import { z } from 'zod'
import { type RuleName, rules } from '../contract/core/rules.ts'
import { type CompiledSchema, NOT_VALID, type SchemaRule } from './parser.ts'

const ruleNames = new Map<unknown, RuleName>(Object.entries(rules).map(([name, rule]) => [rule, name as RuleName]))

/** The compiled form of a schema; what plain data cannot express is delegated to zod. */
export function compileSchema(schema: z.core.$ZodType): CompiledSchema {
  const compiled = kindOf(schema as z.core.$ZodTypes)
  if (!compiled) return asksZod(schema)
  const { _zod: internals } = schema as z.core.$ZodTypes
  const own = internals.traits.has('$ZodCheck') ? [schema as unknown as z.core.$ZodCheck] : []
  const checks = [...own, ...(internals.def.checks ?? [])].filter(({ _zod: { def } }) => !ANNOTATIONS.has(def.check))
  return checks.length === 0 ? compiled : { ...compiled, rules: checks.map(ruleOf) }
}
const ANNOTATIONS = new Set(['describe', 'meta'])

const asksZod = (schema: z.core.$ZodType): CompiledSchema => ({
  is: 'live',
  parse(value) {
    const { success, data } = z.safeParse(schema, value)
    return success ? data : NOT_VALID
  },
})

/** A compiled schema as JSON. Parts that need zod become null, which accepts nothing. */
export const compiledAsJson = (compiled: CompiledSchema): string =>
  JSON.stringify(compiled, (_, one: Partial<{ is: string; rules: SchemaRule[] }> | null) => {
    const isLive = one?.is === 'live' || (one?.is !== undefined && one.rules?.some((rule) => rule.is === 'live'))
    return isLive ? null : one
  })

/** A check as a rule, in zod's order. */
function ruleOf({ _zod: check }: z.core.$ZodCheck): SchemaRule {
  const def = check.def as z.core.$ZodChecks['_zod']['def'] & { fn?: unknown }
  const live: SchemaRule = { is: 'live', check: check as Extract<SchemaRule, { is: 'live' }>['check'] }
  switch (def.check as string) {
    case 'min_length':
      return { is: 'min', length: (def as z.core.$ZodCheckMinLengthDef).minimum }
    case 'max_length':
      return { is: 'max', length: (def as z.core.$ZodCheckMaxLengthDef).maximum }
    case 'greater_than':
    case 'less_than':
      return limitOf(def as z.core.$ZodCheckGreaterThanDef) ?? live
    case 'number_format':
      return (def as z.core.$ZodCheckNumberFormatDef).format === 'safeint' ? { is: 'safeint' } : live
    case 'string_format':
      return patternOf(def as z.core.$ZodCheckRegexDef) ?? live
    case 'custom': {
      const test = ruleNames.get(def.fn)
      const finds = ruleNames.get(check.check)
      return test ? { is: 'test', name: test } : finds ? { is: 'finds', name: finds } : live
    }
    default:
      return live
  }
}

function limitOf({ check, value, inclusive }: z.core.$ZodCheckGreaterThanDef | z.core.$ZodCheckLessThanDef) {
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined
  const above = check === 'greater_than'
  return { is: above ? 'above' : 'below', limit: value, inclusive } as const
}

function patternOf({ format, pattern }: z.core.$ZodCheckRegexDef): SchemaRule | undefined {
  return format === 'regex' || format === 'email'
    ? { is: 'pattern', source: pattern.source, flags: pattern.flags }
    : undefined
}

const isPlain = (value: unknown) => Bun.deepEquals(value, JSON.parse(JSON.stringify(value) ?? 'null'), true)

/** The compiled form of a supported type, without its rules. */
function kindOf(schema: z.core.$ZodTypes): CompiledSchema | undefined {
  const { def } = schema._zod
  switch (def.type) {
    case 'string':
    case 'boolean':
    case 'number':
      return def.coerce ? undefined : { is: def.type }
    case 'unknown':
      return { is: 'unknown' }
    case 'literal':
    case 'enum': {
      const values = [...(schema._zod as unknown as { values: ReadonlySet<unknown> }).values]
      return values.every((one) => one === null || SIMPLE.has(typeof one)) ? { is: 'values', values } : undefined
    }
    case 'nullable':
      return { is: 'nullable', of: compileSchema(def.innerType) }
    case 'optional':
      return def.innerType._zod.optin === 'defaulted' ? undefined : { is: 'optional', of: compileSchema(def.innerType) }
    case 'default':
    case 'prefault':
      return isPlain(def.defaultValue)
        ? { is: def.type, of: compileSchema(def.innerType), value: def.defaultValue }
        : undefined
    case 'array':
      return { is: 'array', of: compileSchema(def.element) }
    case 'record':
      return recordOutline(def)
    case 'pipe':
      return { is: 'pipe', of: compileSchema(def.in), to: compileSchema(def.out) }
    case 'transform': {
      const by = ruleNames.get(def.transform)
      return by && { is: 'made', by }
    }
    case 'union':
      if ('discriminator' in def) return choiceOutline(def as z.core.$ZodDiscriminatedUnionDef)
      return def.inclusive === false ? undefined : { is: 'union', options: def.options.map(compileSchema) }
    case 'object':
      return objectOutline(def)
    default:
      return undefined
  }
}
const SIMPLE = new Set(['string', 'number', 'boolean'])

function recordOutline({
  keyType,
  valueType,
  mode,
}: z.core.$ZodRecordDef & { mode?: string }): CompiledSchema | undefined {
  const isText = (keyType as z.core.$ZodTypes)._zod.def.type === 'string'
  return isText && mode !== 'loose'
    ? { is: 'record', key: compileSchema(keyType), of: compileSchema(valueType) }
    : undefined
}

function choiceOutline({ discriminator: by, options }: z.core.$ZodDiscriminatedUnionDef): CompiledSchema | undefined {
  const all = options.map((option) => ({ option, own: [...(option._zod.propValues?.[by] ?? [])] }))
  const names = all.flatMap(({ own }) => own)
  if (all.some(({ own }) => own.length === 0) || new Set(names).size < names.length) return undefined
  if (!names.every((name) => name === undefined || typeof name === 'string')) return undefined
  // JSON has no undefined, which only a default can yield.
  const listed = all.map(({ option, own }) => ({
    names: own.filter((name) => typeof name === 'string'),
    absent: own.includes(undefined),
    outline: compileSchema(option),
  }))
  return { is: 'choice', by, options: listed }
}

const OTHERS = { unknown: 'kept', never: 'refused' } as const

function objectOutline({ shape, catchall }: z.core.$ZodObjectDef): CompiledSchema | undefined {
  const { type } = (catchall as z.core.$ZodTypes | undefined)?._zod.def ?? {}
  const others = type === undefined ? 'dropped' : OTHERS[type as keyof typeof OTHERS]
  if (!others) return undefined
  const fields = Object.entries(shape).map(([name, field]) => {
    const { optin, optout } = field._zod
    const leftOut = optin === 'optional' && optout === 'optional'
    const absent = leftOut ? 'left out' : optin === undefined ? 'refused' : 'parsed'
    return { name, absent, outline: compileSchema(field) } as const
  })
  return { is: 'object', fields, others }
}
