// The recorded interaction that is nearest to a request that has none, and the fields in which they differ.
import type { Interaction, UpstreamRequest, VolatileRule } from '../contract/core/cassette.ts'
import { comparableRequest } from '../contract/core/cassette-key.ts'
import { type FieldStep, formatFieldPath } from '../contract/core/volatile-rule.ts'
import { sameHead, sameTail } from '../lib/front-coding.ts'
import { isObject } from '../lib/values.ts'
import { cutWhole } from '../lib/well-formed.ts'

/** A field in which two requests differ. */
export interface FieldDifference {
  /** Such as `model`, `messages[2].content` or `headers.anthropic-beta`. */
  path: string
  /** Its value in the recorded request; undefined if it has none. */
  recorded: unknown
  /** Its value in the request that was sent; undefined if it has none. */
  sent: unknown
}

const MAX_DIFFERENCES = 50
/** The cost of another operation: only if there is none of the same one is it the nearest. */
const OTHER_OPERATION = 1_000

/**
 * The interaction whose request has the fewest differences, among those of the same operation if there are any, and these differences: at least
 * one; of very different requests, the first ones. Undefined without candidates.
 */
export function nearestInteraction<Recorded extends Interaction>(
  request: UpstreamRequest,
  candidates: Iterable<Recorded>,
  rules: readonly VolatileRule[],
) {
  const sent = comparableRequest(request, rules).request
  let best: { interaction: Recorded; found: Differences } | undefined
  for (const interaction of candidates) {
    const found = new Differences(best?.found.cost ?? Number.POSITIVE_INFINITY)
    found.requests(comparableRequest(interaction.request, rules).request, sent)
    if (!best || found.cost < best.found.cost) best = { interaction, found }
  }
  return best && { interaction: best.interaction, differences: best.found.list.map(inJson) }
}

/** Collects differences. Once they cost as much as `limit`, nothing more is compared. */
class Differences {
  readonly list: FieldDifference[] = []
  cost = 0
  readonly #limit: number
  constructor(limit: number) {
    this.#limit = limit
  }

  requests(recorded: UpstreamRequest, sent: UpstreamRequest): void {
    if (recorded.operation !== sent.operation) this.cost += OTHER_OPERATION
    for (const name of ['operation', 'provider', 'model'] as const) this.#compare(recorded[name], sent[name], [name])
    this.#compare(recorded.headers, sent.headers, ['headers'])
    if (recorded.body.kind !== sent.body.kind) this.#add(['body'], recorded.body, sent.body)
    else this.#compare(fieldsIn(recorded.body), fieldsIn(sent.body), [])
  }

  #add(steps: readonly FieldStep[], recorded: unknown, sent: unknown): void {
    const path = formatFieldPath(steps) || 'body'
    this.cost += 1 + (typeof recorded === 'string' && typeof sent === 'string' ? distance(recorded, sent) : 1)
    // The body has the name of the model, too.
    if (this.list.length < MAX_DIFFERENCES && !this.list.some((one) => one.path === path))
      this.list.push({ path, recorded, sent })
  }

  #compare(recorded: unknown, sent: unknown, steps: readonly FieldStep[]): void {
    if (this.cost >= this.#limit || recorded === sent) return
    if (Array.isArray(recorded) && Array.isArray(sent)) this.#lists(recorded, sent, steps)
    else if (isObject(recorded) && isObject(sent)) {
      for (const name of new Set([...Object.keys(recorded), ...Object.keys(sent)]))
        this.#compare(own(recorded, name), own(sent, name), [...steps, name])
    } else this.#add(steps, recorded, sent)
  }

  /** Items at the beginning and, of lists of other lengths, at the end that are equal belong together. */
  #lists(recorded: readonly unknown[], sent: readonly unknown[], steps: readonly FieldStep[]): void {
    const shorter = Math.min(recorded.length, sent.length)
    let first = 0
    let last = 0
    if (recorded.length !== sent.length) {
      while (first < shorter && Bun.deepEquals(recorded[first], sent[first], true)) first++
      while (last < shorter - first && Bun.deepEquals(recorded.at(-1 - last), sent.at(-1 - last), true)) last++
    }
    for (let index = first; index < Math.max(recorded.length, sent.length) - last; index++) {
      const step = [...steps, index]
      this.#compare(
        index < recorded.length - last ? recorded[index] : undefined,
        index < sent.length - last ? sent[index] : undefined,
        step,
      )
      if (this.cost >= this.#limit) return
    }
  }
}

const own = (object: Record<string, unknown>, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined

/** A difference that JSON can contain: bigints become texts. */
function inJson(difference: FieldDifference): FieldDifference {
  const toText = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value)
  const [recorded, sent] = [difference.recorded, difference.sent].map((value) =>
    value === undefined ? undefined : JSON.parse(JSON.stringify(value, toText)),
  )
  return { path: difference.path, recorded, sent }
}

/** The body as fields: those of a form by name. */
function fieldsIn(body: UpstreamRequest['body']): unknown {
  switch (body.kind) {
    case 'json':
      return body.value
    case 'text':
      return body.text
    case 'form': {
      const fields = Object.entries(Object.groupBy(body.fields, ({ name }) => name))
      return Object.fromEntries(
        fields.map(([name, same = []]): [string, unknown] => {
          const values = same.map((field) => ('value' in field ? field.value : { ...field, name: undefined }))
          return [name, values.length === 1 ? values[0] : values]
        }),
      )
    }
  }
}

/** How different two texts are, from 0 to 1: the share between their equal beginnings and ends. */
function distance(one: string, other: string): number {
  const longer = Math.max(one.length, other.length)
  const head = sameHead(one, other)
  const tail = sameTail(one, other, { room: Math.min(one.length, other.length) - head })
  return longer === 0 ? 0 : (longer - head - tail) / longer
}

const MAX_SHOWN = 80
const BEFORE = 20

/**
 * What to do about a miss that a new recording ends; undefined for others, whose messages say it.
 * @param command records the cassette again
 */
export const adviceOn = (reason: string, command: string): string | undefined =>
  ['no interaction', 'all used', 'read on'].includes(reason)
    ? `if this is intended, record it again with '${command}'`
    : undefined

/**
 * A difference in one line, of long texts the part that differs.
 * @example
 * fieldDifferenceText({ path: 'temperature', recorded: 0, sent: 0.5 }) // => 'temperature: recorded 0, sent 0.5'
 */
export function fieldDifferenceText({ path, recorded, sent }: FieldDifference): string {
  if (typeof recorded !== 'string' || typeof sent !== 'string')
    return `${path}: recorded ${shownValue(recorded)}, sent ${shownValue(sent)}`
  const isLong = Math.max(recorded.length, sent.length) > MAX_SHOWN
  const from = isLong ? Math.max(0, sameHead(recorded, sent) - BEFORE) : 0
  return `${path}: recorded ${shownPart(recorded, from)}, sent ${shownPart(sent, from)}`
}

function shownPart(text: string, from: number): string {
  const part = text.slice(from, from + MAX_SHOWN).toWellFormed()
  return `${JSON.stringify(`${from > 0 ? '...' : ''}${part}${from + MAX_SHOWN < text.length ? '...' : ''}`)}`
}

function shownValue(value: unknown): string {
  if (value === undefined) return 'nothing'
  const text = JSON.stringify(value) ?? String(value)
  return text.length > MAX_SHOWN ? `${cutWhole(text, MAX_SHOWN - 3)}...` : text
}
