// The key of a request: requests with the same key are the same to recorder, replay, near misses and `check`.
import { canonicalJson } from '../../lib/canonical.ts'
import { sha256 } from '../../lib/ids.ts'
import { hasPlaceholder, renumbered } from '../../lib/placeholders.ts'
import { isObject } from '../../lib/values.ts'
import {
  type FormField,
  HEADER_LISTS,
  MEANING_HEADERS,
  type UpstreamBody,
  type UpstreamRequest,
  type VolatileRule,
} from './cassette.ts'
import { withoutVolatileFields } from './volatile-rule.ts'

/** A request in the form in which it is compared. */
interface ComparableRequest {
  /**
   * The request without its path, with only the headers that change its meaning, without volatile fields, and with
   * placeholders of secrets numbered in the order of this request.
   */
  request: UpstreamRequest
  /** How often each rule applied, by its name; 0 for a rule that did not. */
  applied: ReadonlyMap<string, number>
}

/**
 * The part of a request that is compared.
 * @param rules those in force, of other operations too
 */
export function comparableRequest(request: UpstreamRequest, rules: readonly VolatileRule[]): ComparableRequest {
  const { request: compared, applied } = comparedPart(request, rules)
  return { request: { ...compared, ...numberedByRequest(compared) }, applied }
}

/** The same with the numbers of the cassette. */
function comparedPart(request: UpstreamRequest, rules: readonly VolatileRule[]): ComparableRequest {
  const { provider, operation, model } = request
  const { body, applied } = withoutVolatileFields(withoutDefaults(request.body), operation, rules)
  const headers: Record<string, string> = {}
  for (const name of MEANING_HEADERS) {
    const value = request.headers[name]?.trim()
    if (value) headers[name] = HEADER_LISTS.test(name) ? inOrder(value) : value
  }
  return { request: { provider, operation, model, path: '', headers, body }, applied }
}

/** A list of which the order means nothing. */
const inOrder = (list: string) => [...new Set(list.split(',').map((item) => item.trim()))].sort().join()

/** The keys of requests: recorder, file and an older cassette need them. Each takes as long as parsing the request three times. */
const keys = new WeakMap<UpstreamRequest, { rules: readonly VolatileRule[]; key: string }>()

/**
 * The key of a request: SHA-256, in hexadecimal, of what is compared of it. Fields of a form are compared by name: only
 * the order of fields of the same name counts.
 */
export function cassetteKey(request: UpstreamRequest, rules: readonly VolatileRule[]): string {
  const cached = keys.get(request)
  if (cached?.rules === rules) return cached.key
  const { request: compared } = comparedPart(request, rules)
  const text = keyText(compared)
  const key = sha256(MAY_BE_NUMBERED.test(text) ? keyText({ ...compared, ...numberedByRequest(compared) }) : text)
  keys.set(request, { rules, key })
  return key
}

/** What every text with a placeholder contains. */
const MAY_BE_NUMBERED = /secret|-1{10}/i

const keyText = ({ provider, operation, model, headers, body }: UpstreamRequest): string =>
  canonicalJson({ provider, operation, model, headers, body: keyedBody(body) })

const keyedBody = (body: UpstreamBody): unknown =>
  body.kind === 'form' ? { kind: 'form', fields: Object.groupBy(body.fields, ({ name }) => name) } : body

/**
 * Placeholders are numbered within a cassette, by the order of calls, which may change; within a request the order is
 * that of its fields, sorted by name.
 */
function numberedByRequest({ headers, body }: Pick<UpstreamRequest, 'headers' | 'body'>) {
  const numbers = new Map<number, number>()
  const number = (former: number) => numbers.getOrInsertComputed(former, () => numbers.size + 1)
  const text = (value: string) => (hasPlaceholder(value) ? renumbered(value, number) : value)
  const numbered = (value: unknown): unknown => {
    if (typeof value === 'string') return text(value)
    if (typeof value === 'number') return value < 0 ? Number(text(String(value))) : value
    if (Array.isArray(value)) {
      const items = value.map(numbered)
      return items.some((item, index) => item !== value[index]) ? items : value
    }
    if (!isObject(value)) return value
    const entries = Object.keys(value)
      .sort()
      .map((name): [string, unknown] => [text(name), numbered(value[name])])
    return entries.some(([name, inner]) => inner !== value[name]) ? Object.fromEntries(entries) : value
  }
  const numberedBody = (): UpstreamBody => {
    switch (body.kind) {
      case 'json':
        return { kind: 'json', value: numbered(body.value) }
      case 'text':
        return { kind: 'text', text: text(body.text) }
      case 'form':
        return { kind: 'form', fields: body.fields.map((field) => numbered(field) as FormField) }
    }
  }
  const numberedHeaders = Object.entries(headers).map(([name, value]): [string, string] => [name, text(value)])
  return { headers: Object.fromEntries(numberedHeaders), body: numberedBody() }
}

/** `stream: false` is what an API takes if a body does not say it. The gateway adds it to a call with options such as `retry`. */
function withoutDefaults(body: UpstreamBody): UpstreamBody {
  if (body.kind !== 'json' || !isObject(body.value) || body.value.stream !== false) return body
  const { stream, ...value } = body.value
  return { kind: 'json', value }
}
