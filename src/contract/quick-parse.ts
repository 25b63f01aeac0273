// Parses the bodies of calls as their schemas do, without what zod needs to say what is wrong: that is half of its time, and
// nearly all bodies are valid. It says only that a body is valid, and what the schema makes of it; whatever it does not take is
// parsed by zod, whose verdict and words then count (test/quick-parse.test.ts holds the two together).
import { z } from 'zod'
import { parseRequest } from './validation.ts'

/** What stands for a value that is not known to be valid. */
export const REFUSED = Symbol('refused')
/** What a schema makes of a value, or `REFUSED`. */
type Parser = (value: unknown) => unknown
type Fields = Record<string, unknown>

/** Uses of a schema after which a parser is made of it: a start has few calls. */
const OFTEN = 16
const parsers = new WeakMap<z.ZodType, { uses: number; parser?: Parser }>()

/** The body of a call as the schema makes it; a 400 that names the first field at fault otherwise. */
export function parseCall<T>(schema: z.ZodType<T>, value: unknown, { status = 400 } = {}): T {
  let known = parsers.get(schema)
  if (!known) parsers.set(schema, (known = { uses: 0 }))
  if (known.uses++ < OFTEN) return parseRequest(schema, value, { status })
  known.parser ??= quickParser(schema)
  const parsed = known.parser(value)
  return parsed === REFUSED ? parseRequest(schema, value, { status }) : (parsed as T)
}

/** What gives, for a value that a schema takes, what it makes of it; `REFUSED` for what zod has to look at. */
export function quickParser(schema: z.ZodType): Parser {
  const parser = parserOf(schema)
  return (value) => {
    try {
      return parser(value)
    } catch {
      // A rule that cannot read the value: zod meets it again, and then it counts.
      return REFUSED
    }
  }
}

/** The parser of a schema; one of a kind that is not known here asks zod. */
function parserOf(schema: z.core.$ZodType): Parser {
  const { _zod: internals } = schema as z.core.$ZodTypes
  const parser = kindOf(schema as z.core.$ZodTypes) ?? askZod(schema)
  const own = internals.traits.has('$ZodCheck') ? [schema as unknown as z.core.$ZodCheck] : []
  const checks = [...own, ...(internals.def.checks ?? [])].filter(({ _zod: { def } }) => !SAYS_NOTHING.has(def.check))
  return checks.length === 0 || parser.asksZod ? parser : withChecks(parser, checks)
}
const SAYS_NOTHING = new Set(['describe', 'meta'])

const askZod = (schema: z.core.$ZodType): Parser & { asksZod: true } =>
  Object.assign(
    (value: unknown) => {
      const { success, data } = z.safeParse(schema, value)
      return success ? data : REFUSED
    },
    { asksZod: true as const },
  )

/** What passes the rules of a schema too: limits, patterns, and what its author wrote. */
function withChecks(parser: Parser, checks: readonly z.core.$ZodCheck[]): Parser {
  return (value) => {
    const parsed = parser(value)
    if (parsed === REFUSED) return REFUSED
    const payload = { value: parsed, issues: [] } as unknown as z.core.ParsePayload<never>
    for (const { _zod: check } of checks) {
      if (check.def.when && !check.def.when(payload)) continue
      if (check.check(payload) instanceof Promise || payload.issues.length > 0) return REFUSED
    }
    return payload.value
  }
}

const ofType =
  (type: 'boolean' | 'string'): Parser =>
  (value) =>
    typeof value === type ? value : REFUSED

/** The parser of a kind that is known here, without its rules. */
function kindOf(schema: z.core.$ZodTypes): (Parser & { asksZod?: true }) | undefined {
  const { def } = schema._zod
  switch (def.type) {
    case 'string':
      return def.coerce ? undefined : ofType('string')
    case 'boolean':
      return def.coerce ? undefined : ofType('boolean')
    case 'number':
      return def.coerce ? undefined : (value) => (Number.isFinite(value) ? value : REFUSED)
    case 'unknown':
      return (value) => value
    case 'literal':
    case 'enum': {
      const { values } = schema._zod as unknown as { values: ReadonlySet<unknown> }
      return (value) => (values.has(value) ? value : REFUSED)
    }
    case 'nullable': {
      const inner = parserOf(def.innerType)
      return (value) => (value === null ? null : inner(value))
    }
    case 'optional': {
      const inner = parserOf(def.innerType)
      if (def.innerType._zod.optin === 'defaulted') return undefined
      return (value) => (value === undefined ? undefined : inner(value))
    }
    case 'default': {
      const inner = parserOf(def.innerType)
      return (value) => (value === undefined ? def.defaultValue : inner(value))
    }
    case 'array':
      return arrayParser(parserOf(def.element))
    case 'union':
      return 'discriminator' in def ? choiceParser(def as z.core.$ZodDiscriminatedUnionDef) : unionParser(def)
    case 'object':
      return def.catchall?._zod.def.type === 'unknown' ? objectParser(def) : undefined
    default:
      return undefined
  }
}

function arrayParser(element: Parser): Parser {
  return (value) => {
    if (!Array.isArray(value)) return REFUSED
    const parsed: unknown[] = []
    for (const item of value) {
      const one = element(item)
      if (one === REFUSED) return REFUSED
      parsed.push(one)
    }
    return parsed
  }
}

/** The first of some schemas that takes a value. */
function unionParser(def: z.core.$ZodUnionDef): Parser | undefined {
  if (def.inclusive === false) return undefined
  const options = def.options.map(parserOf)
  return (value) => {
    for (const option of options) {
      const parsed = option(value)
      if (parsed !== REFUSED) return parsed
    }
    return REFUSED
  }
}

/** The schema that a field names. */
function choiceParser({ discriminator, options }: z.core.$ZodDiscriminatedUnionDef): Parser | undefined {
  const byName = new Map<unknown, Parser>()
  for (const option of options) {
    const names = option._zod.propValues?.[discriminator]
    const parser = parserOf(option)
    for (const name of names ?? []) {
      if (byName.has(name)) return undefined
      byName.set(name, parser)
    }
    if (!names) return undefined
  }
  return (value) => {
    if (!isObject(value)) return REFUSED
    return byName.get(value[discriminator])?.(value) ?? REFUSED
  }
}

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

interface Field {
  name: string
  /** Its place among those of the schema, which is its place in what is parsed. */
  place: number
  parse: Parser
  /** What becomes of one that is not there: it stays so, or its parser says it; otherwise there is none without it. */
  absent: 'left out' | 'parsed' | 'refused'
}

const fieldOf = ([name, schema]: [string, z.core.$ZodType], place: number): Field => {
  const { optin, optout } = schema._zod
  const leftOut = optin === 'optional' && optout === 'optional'
  const absent = leftOut ? 'left out' : optin === undefined ? 'refused' : 'parsed'
  return { name, place, parse: parserOf(schema), absent }
}

/** Puts a field at its place among some. */
function insert(fields: Field[], field: Field): void {
  let at = fields.length
  while (at > 0 && (fields[at - 1]?.place ?? 0) > field.place) at--
  if (at === fields.length) fields.push(field)
  else fields.splice(at, 0, field)
}

/** An object whose other fields are kept, behind those of the schema. Of these most are not there, so only those are looked at that are. */
function objectParser({ shape }: z.core.$ZodObjectDef): Parser {
  const fields = Object.entries(shape).map(fieldOf)
  const byName = new Map(fields.map((field) => [field.name, field]))
  const needed = fields.filter(({ absent }) => absent !== 'left out')
  return (value) => {
    if (!isObject(value)) return REFUSED
    const present: Field[] = []
    let others = false
    for (const name in value) {
      const field = byName.get(name)
      if (field) insert(present, field)
      else others = true
    }
    for (const field of needed) {
      if (field.name in value) continue
      if (field.absent === 'refused') return REFUSED
      insert(present, field)
    }
    const parsed: Fields = {}
    for (const { name, parse } of present) {
      const field = parse(value[name])
      if (field === REFUSED) return REFUSED
      if (field !== undefined || name in value) parsed[name] = field
    }
    if (!others) return parsed
    for (const name in value) if (!byName.has(name) && name !== '__proto__') parsed[name] = value[name]
    return parsed
  }
}
