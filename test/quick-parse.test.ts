// The quick parser of call bodies takes nothing that the schemas refuse, and makes of the rest what they make of it.
import { expect, test } from 'bun:test'
import { z } from 'zod'
import { ApiError } from '../src/contract/error.ts'
import { parseCall, quickParser, REFUSED } from '../src/contract/quick-parse.ts'
import { parseRequest } from '../src/contract/validation.ts'
import { allOperations } from '../src/endpoints/index.ts'
import { type Schema, schemaValue } from './fuzz/from-schema.ts'
import { hostileValue } from './fuzz/hostile.ts'
import { type Chance, chanceOf } from './fuzz/random.ts'

/** Over all operations. */
const BODIES = 100_000
const operations = allOperations()

type Fields = Record<string, unknown>

/** A body of an operation's schema: an example with some fields changed, or one made up from nothing. */
function bodyMaker({ request, examples, body }: (typeof operations)[number], chance: Chance): () => unknown {
  const document = z.toJSONSchema(request, { io: 'input', unrepresentable: 'any' }) as Schema & {
    $defs?: Record<string, Schema>
  }
  const resolve = (reference: string) => document.$defs?.[reference.replace('#/$defs/', '')] ?? {}
  const making = { chance, resolve, known: ['openai/gpt-4o'], sanity: 150 }
  const names = Object.keys(document.properties ?? {})
  const field = names.includes('image') ? 'image' : 'file'
  const file = () => (body === 'multipart' && !chance.oneIn(20) ? { [field]: new File(['RIFF'], 'a.wav') } : {})
  return () => {
    if (chance.oneIn(50)) return hostileValue(chance)
    const whole = chance.oneIn(20) ? schemaValue(document, making) : chance.pick(Object.values(examples))
    if (typeof whole !== 'object' || whole === null) return whole
    const made: Fields = { ...(structuredClone(whole) as Fields), ...file() }
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

const written = (value: unknown) => JSON.stringify(value)
const messageOf = (run: () => unknown) => {
  try {
    return written(run())
  } catch (error) {
    return error instanceof ApiError ? `${error.status} ${error.param} ${error.message}` : String(error)
  }
}

test.each(operations.map((operation) => [operation.name, operation] as const))(
  'bodies of %s',
  (_, operation) => {
    const { request: schema } = operation
    const next = bodyMaker(operation, chanceOf(3))
    const parse = quickParser(schema)
    let valid = 0
    let quick = 0
    for (let count = 0; count < BODIES / operations.length; count++) {
      const body = next()
      const parsed = parse(body)
      const slow = schema.safeParse(body)
      if (parsed !== REFUSED) {
        quick++
        if (!slow.success || written(parsed) !== written(slow.data)) expect([body, parsed]).toEqual([body, slow.data])
      }
      if (slow.success) valid++
      // The words are those of the slow way by construction; now and then that is looked at.
      if (count % 40 === 0)
        expect(messageOf(() => parseCall(schema, body))).toBe(messageOf(() => parseRequest(schema, body)))
    }
    expect(valid).toBeGreaterThan(BODIES / operations.length / 20)
    // What it does not take costs time, and no more than that.
    expect(quick).toBe(valid)
  },
  120_000,
)
