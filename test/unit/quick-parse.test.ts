// The quick parser of call bodies, fixtures and settings accepts nothing that the schemas reject, and gives the same for the rest.
import { expect } from 'bun:test'
import { z } from 'zod'
import { fixtureSchema } from '../../src/backends/fixture/fixture-schema.ts'
import { embeddedFixtures } from '../../src/backends/fixture/load.ts'
import { SETTINGS, valueSchemas } from '../../src/config/settings.ts'
import { ApiError } from '../../src/contract/core/error.ts'
import { allOperations, fixtureSubjects } from '../../src/endpoints/index.ts'
import { compiledAsJson, compileSchema } from '../../src/schema/compile.ts'
import { parseCall, quickParser } from '../../src/schema/parse.ts'
import { compiledParser, NOT_VALID } from '../../src/schema/parser.ts'
import { parseRequest, safeParse } from '../../src/schema/validation.ts'
import { type Schema, schemaValue } from '../fuzz/from-schema.ts'
import { hostileValue } from '../fuzz/hostile.ts'
import { type Chance, chanceOf } from '../fuzz/random.ts'
import { property, runs, test } from '../support/property.ts'

/** Over all operations. */
const BODIES = runs(30_000)
/** Of each subject. */
const FIXTURES = Math.max(200, runs(500))
const operations = allOperations()

type Fields = Record<string, unknown>
interface Definitions {
  $defs?: Record<string, Schema>
}

/** A body of an operation's schema: an example with some fields changed, or one made up from nothing. */
function bodyMaker({ request, examples, body }: (typeof operations)[number], chance: Chance): () => unknown {
  const document = z.toJSONSchema(request, { io: 'input', unrepresentable: 'any' }) as Schema & Definitions
  const resolve = (reference: string) => document.$defs?.[reference.replace('#/$defs/', '')] ?? {}
  const making = { chance, resolve, known: ['openai/gpt-4o'], sanity: 150 }
  const names = Object.keys(document.properties ?? {})
  const field = names.includes('image') ? 'image' : 'file'
  const file = () => (body === 'multipart' && !chance.oneIn(20) ? { [field]: new File(['RIFF'], 'a.wav') } : {})
  return () => {
    if (chance.oneIn(50)) return hostileValue(chance)
    const whole = chance.oneIn(20) ? schemaValue(document, making) : chance.pick(Object.values(examples))
    if (typeof whole !== 'object' || whole === null) return whole
    const made: Fields = { ...whole, ...file() }
    for (let changes = chance.below(4); changes > 0; changes--) {
      const name = chance.pick(names)
      if (chance.oneIn(12)) delete made[name]
      else made[name] = schemaValue(document.properties?.[name] ?? {}, making)
    }
    if (chance.oneIn(10)) {
      const name = chance.pick(['extra', '__proto__', 'constructor'])
      // Own, as JSON would make it.
      Object.defineProperty(made, name, { value: hostileValue(chance), enumerable: true })
    }
    return made
  }
}

/** The parser that the executable has of a schema. */
const fromJson = (schema: z.ZodType) => compiledParser(JSON.parse(compiledAsJson(compileSchema(schema))))

/** Counts what a parser takes, which must be what the schema takes, and the same be made of it. */
function heldTo(parse: (value: unknown) => unknown) {
  return {
    taken: 0,
    look(value: unknown, slow: Written) {
      const parsed = parse(value)
      if (parsed === NOT_VALID) return
      this.taken++
      if (!slow.success || written(parsed) !== slow.text) expect([value, parsed]).toEqual([value, slow.data])
    },
  }
}

/** What a schema makes of a value, with its text. */
type Written = z.ZodSafeParseResult<unknown> & { text: string | undefined }
const slowParse = (schema: z.ZodType, value: unknown): Written => {
  const slow = safeParse<unknown>(schema, value)
  return { ...slow, text: slow.success ? written(slow.data) : undefined }
}

const written = (value: unknown) => JSON.stringify(value)
const messageOf = (run: () => unknown) => {
  try {
    return written(run())
  } catch (error) {
    return error instanceof ApiError ? `${error.status} ${error.param} ${error.message}` : String(error)
  }
}

property.each(operations.map((operation) => [operation.name, operation] as const))(
  "quick parse of %s bodies: equals the schema's parse",
  (name, operation) => {
    const { request: schema } = operation
    const next = bodyMaker(operation, chanceOf(3))
    const quick = heldTo(quickParser(schema))
    const embedded = heldTo(fromJson(schema))
    let valid = 0
    let embeddable = 0
    for (let count = 0; count < BODIES / operations.length; count++) {
      const body = next()
      const slow = slowParse(schema, body)
      quick.look(body, slow)
      embedded.look(body, slow)
      if (slow.success) valid++
      // Conditions on metadata by any name are no part of an outline.
      if (slow.text !== undefined && !slow.text.includes('"filter_by"')) embeddable++
      // The words are those of the slow way by construction; now and then that is looked at.
      if (count % 40 === 0)
        expect(messageOf(() => parseCall(operation, body))).toBe(messageOf(() => parseRequest(schema, body)))
    }
    expect(valid).toBeGreaterThan(BODIES / operations.length / 20)
    // What it does not take costs time, and no more than that.
    expect(quick.taken / valid).toBeGreaterThan(0.99)
    // A start loads no schema for the calls that are made most.
    if (name === 'chat.completions') expect(embedded.taken).toBe(embeddable)
  },
  120_000,
)

property.each(fixtureSubjects.map((subject) => [subject.name, subject] as const))(
  "quick parse of %s fixtures: equals the schema's parse",
  (name, subject) => {
    const schema = fixtureSchema(subject)
    const chance = chanceOf(5)
    const document = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Schema & Definitions
    const resolve = (reference: string) => document.$defs?.[reference.replace('#/$defs/', '')] ?? {}
    const making = { chance, resolve, known: ['openai/gpt-4o'], sanity: 150 }
    const embedded = heldTo(fromJson(schema))
    const shipped = embeddedFixtures([subject, ...fixtureSubjects.filter((other) => other !== subject)])
      .filter(({ operation }) => operation === name)
      .map(({ name, match, replies }) => ({ name, match, replies: [...replies] }))
    for (let count = 0; count < FIXTURES; count++) {
      const whole = shipped.length > 0 && chance.oneIn(2) ? chance.pick(shipped) : schemaValue(document, making)
      const fixture = typeof whole === 'object' && whole !== null ? { ...(whole as Fields) } : whole
      if (chance.oneIn(4) && typeof fixture === 'object' && fixture !== null)
        Object.assign(fixture, { [chance.pick(['match', 'reply', 'replies', 'extra'])]: hostileValue(chance) })
      embedded.look(fixture, slowParse(schema, fixture))
    }
    for (const fixture of shipped) embedded.look(fixture, slowParse(schema, fixture))
    expect(embedded.taken).toBeGreaterThan(0)
  },
  120_000,
)

test("quick parse of settings: equals the schema's parse", () => {
  const values = [
    '',
    'x',
    '0',
    '17',
    '4.5',
    'true',
    '2s',
    '5m',
    '64MiB',
    '*',
    'http://localhost',
    'a b',
    'env',
    'forward',
  ]
  const more = [0, 1, -1, 70_000, 1.5, true, null, undefined, [], ['a'], [''], [1], { a: { workspace: 'b' } }, { a: 1 }]
  for (const { schema: schemaOf } of Object.values(SETTINGS)) {
    const schema = schemaOf(valueSchemas())
    const embedded = heldTo(fromJson(schema))
    const all = [...values, ...values.map((value) => [value]), ...more]
    const valid = all.filter((value) => {
      const slow = slowParse(schema, value)
      embedded.look(value, slow)
      return slow.success
    })
    expect(embedded.taken).toBe(valid.length)
  }
})
