// Weaker matching, which exists only where it is allowed: requests that differ in how a model samples, or where one
// conversation continues another.
import type { UpstreamRequest, VolatileRule } from '../../contract/core/cassette.ts'
import { cassetteKey } from '../../contract/core/cassette-key.ts'
import type { WeakMatching } from '../../contract/core/cassette-modes.ts'
import { isObject, type JsonObject } from '../../lib/values.ts'

/** Fields that influence how a model samples, and nothing else. */
const SAMPLING: ReadonlySet<string> = new Set([
  ...['temperature', 'top_p', 'top_k', 'seed', 'min_p', 'top_a', 'repetition_penalty'],
  ...['presence_penalty', 'frequency_penalty', 'logit_bias'],
])
/** Where Google's API has such fields. */
const GENERATION_CONFIG = 'generationConfig'
const GOOGLE_SAMPLING: ReadonlySet<string> = new Set([
  'temperature',
  'topP',
  'topK',
  'seed',
  'presencePenalty',
  'frequencyPenalty',
])
const CONVERSATIONS = ['messages', 'input', 'contents']

const withBody = (request: UpstreamRequest, value: JsonObject): UpstreamRequest => ({
  ...request,
  body: { kind: 'json', value },
})

const without = (fields: JsonObject, names: ReadonlySet<string>): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.has(name)))

function withoutSampling(request: UpstreamRequest): UpstreamRequest | undefined {
  const { body } = request
  if (body.kind !== 'json' || !isObject(body.value)) return undefined
  const { [GENERATION_CONFIG]: config, ...fields } = body.value
  return withBody(request, {
    ...without(fields, SAMPLING),
    ...(config !== undefined && { [GENERATION_CONFIG]: isObject(config) ? without(config, GOOGLE_SAMPLING) : config }),
  })
}

/** The request with each beginning of its conversation that ends with a message of the user, the longest first. */
function beginnings(request: UpstreamRequest): UpstreamRequest[] {
  const { body } = request
  if (body.kind !== 'json' || !isObject(body.value)) return []
  const fields = body.value
  const name = CONVERSATIONS.find((one) => Array.isArray(fields[one]))
  if (name === undefined) return []
  const messages = fields[name] as readonly unknown[]
  return messages
    .flatMap((message, index) => (isObject(message) && message.role === 'user' ? [index + 1] : []))
    .reverse()
    .map((length) => withBody(request, { ...fields, [name]: messages.slice(0, length) }))
}

/** Keys under which requests are found by weak matching. */
export const weakKey = {
  /** Those of a recorded request. */
  recorded(kind: WeakMatching, request: UpstreamRequest, rules: readonly VolatileRule[]): string[] {
    const compared = kind === 'sampling' ? withoutSampling(request) : request
    return compared ? [cassetteKey(compared, rules)] : []
  },
  /** Those of a sent request, the closest first. */
  sent(kind: WeakMatching, request: UpstreamRequest, rules: readonly VolatileRule[]): string[] {
    const sampled = withoutSampling(request)
    const compared = kind === 'prefix' ? beginnings(request) : sampled ? [sampled] : []
    return compared.map((one) => cassetteKey(one, rules))
  },
}
