// Parts of requests that stand in an interaction above: the beginning of a conversation, tools, instructions.
import { canonicalJson } from '../lib/canonical.ts'
import { isObject, type JsonObject } from '../lib/values.ts'

/** A body without its repeated parts, and where each of them stands. */
export interface ReducedBody {
  value: unknown
  repeats: Readonly<Record<string, string>>
}

/** Characters of JSON from which a part is not repeated. */
const WORTH = 200

const sha = (text: string): string => new Bun.CryptoHasher('sha256').update(text).digest('base64')

/** The bodies of the interactions so far, in the order of the file. */
export class EarlierBodies {
  readonly #bodies = new Map<string, unknown>()
  /** Where a value, or the beginning of a list, first occurred: by field and checksum. */
  readonly #first = new Map<string, string>()

  /** Whether an interaction has an id. */
  has(id: string): boolean {
    return this.#bodies.has(id)
  }

  /** Adds an interaction. The body is for `restore`, and may be left out where nothing is restored. */
  add(id: string, body?: unknown): void {
    this.#bodies.set(id, body)
  }

  /** The body of an interaction without the parts that one above has in the same field; those below may repeat the others. */
  reduce(id: string, body: unknown): ReducedBody {
    if (!isObject(body)) return { value: body, repeats: {} }
    const found = new Map<string, { reference: string; items: number }>()
    for (const [field, value] of Object.entries(body))
      for (const { place, reference: own, items } of placesIn(field, value, id)) {
        const reference = this.#first.get(place)
        if (reference === undefined) this.#first.set(place, own)
        else if (REPEATED_NAME.test(field)) found.set(field, { reference, items })
      }
    if (found.size === 0) return { value: body, repeats: {} }
    const repeats: Record<string, string> = {}
    const rest: JsonObject = {}
    for (const [field, value] of Object.entries(body)) {
      const repeated = found.get(field)
      if (!repeated) define(rest, field, value)
      else {
        repeats[field] = repeated.reference
        if (Array.isArray(value) && repeated.items < value.length) define(rest, field, value.slice(repeated.items))
      }
    }
    return { value: rest, repeats }
  }

  /**
   * The whole body.
   * @throws Error with the field and what is wrong
   */
  restore({ value, repeats }: ReducedBody): unknown {
    const whole: JsonObject = {}
    const fail = (field: string, message: string) => new RepeatProblem(field, message)
    const own = isObject(value) ? value : undefined
    for (const [field, reference] of Object.entries(repeats)) {
      if (!own) throw fail(field, 'repeats a field, but the body is not an object')
      const [, count, id = ''] = /^(?:same as|first (\d+) of) (\S+)$/.exec(reference) ?? []
      if (!this.has(id)) throw fail(field, `repeats the interaction '${id}', which is not above`)
      const earlier = this.#bodies.get(id)
      const source = isObject(earlier) && Object.hasOwn(earlier, field) ? earlier[field] : undefined
      if (source === undefined) throw fail(field, `repeats the field '${field}' of '${id}', which has none`)
      if (count === undefined) whole[field] = source
      else {
        if (!Array.isArray(source) || source.length < Number(count))
          throw fail(field, `repeats the first ${count} items of '${field}' of '${id}', which has fewer`)
        const further = Object.hasOwn(own, field) ? own[field] : []
        if (!Array.isArray(further)) throw fail(field, 'repeats items of a list, but is not a list in the body')
        whole[field] = [...source.slice(0, Number(count)), ...further]
      }
    }
    if (Object.keys(whole).length === 0) return value
    const rest = Object.entries(own ?? {}).filter(([field]) => !Object.hasOwn(whole, field))
    return Object.fromEntries([...rest, ...Object.entries(whole)])
  }
}

/** A reference to an interaction above that is wrong. */
export class RepeatProblem extends Error {
  readonly field: string
  constructor(field: string, message: string) {
    super(message)
    this.field = field
  }
}

/** Names of fields that may be keys of `repeats`. */
const REPEATED_NAME = /^(?!__proto__$).{1,100}$/

const define = (object: JsonObject, name: string, value: unknown): void =>
  void Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true })

/** The value of a field, or each beginning of a list that is long enough, the shortest first. */
function* placesIn(field: string, value: unknown, id: string) {
  if (!Array.isArray(value)) {
    // A number or a short text is not worth a look.
    if (typeof value !== 'object' && (typeof value !== 'string' || value.length < WORTH)) return
    const json = canonicalJson(value)
    if (json.length >= WORTH) yield { place: `${field} ${sha(json)}`, reference: `same as ${id}`, items: 0 }
    return
  }
  let chain = ''
  let length = 0
  for (const [index, item] of value.entries()) {
    const json = canonicalJson(item)
    length += json.length
    chain += json
    if (length < WORTH) continue
    chain = sha(chain)
    yield { place: `${field} [${chain}`, reference: `first ${index + 1} of ${id}`, items: index + 1 }
  }
}
