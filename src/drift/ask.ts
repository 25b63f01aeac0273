// Sends a recorded request to its provider again, and records what it sends.
import { keyHeaderOf } from '../backends/forward/openai-compatible.ts'
import { guarded, MAX_RESPONSE } from '../backends/forward/provider-response.ts'
import { ACCEPTED, network, UNPACKED, withoutKey } from '../backends/forward/transport.ts'
import { usageInText } from '../backends/forward/usage.ts'
import { joinFrames } from '../cassettes/frames.ts'
import { recordedHeaders } from '../cassettes/headers.ts'
import type {
  AttemptEnd,
  Frame,
  Interaction,
  RecordedAttempt,
  UpstreamBody,
  UpstreamRequest,
} from '../contract/core/cassette.ts'
import { exactJsonText } from '../lib/exact-json.ts'
import { monotonicMs } from '../lib/monotonic.ts'
import { networkReason } from '../lib/network-error.ts'
import { durationText } from '../lib/units.ts'
import { asObject, type JsonObject, parsedJson } from '../lib/values.ts'
import { costOf } from '../providers/catalogue.ts'
import { missingSetting, type Upstream } from '../providers/endpoints.ts'

/**
 * Returns a function that asks the providers.
 * @param limits milliseconds until the end of a response, after which it counts as missing, and a signal that ends all requests
 * @throws Error from that function if there is no response, or the provider has no address or key
 */
export function askProviders(
  upstreams: readonly Upstream[],
  { timeout, signal }: { timeout: number; signal: AbortSignal },
): (request: UpstreamRequest) => Promise<RecordedAttempt> {
  const byName = new Map(upstreams.map((upstream) => [upstream.name, upstream]))
  return async (request) => {
    const upstream = byName.get(request.provider)
    if (!upstream) throw new Error(`no calls can be forwarded to ${request.provider}: name it in understudy.yaml`)
    const problem = missingSetting(upstream)
    if (problem) throw new Error(problem)
    const limit = AbortSignal.timeout(timeout)
    const started = monotonicMs()
    const passed = () => Math.round(monotonicMs() - started)
    // The timer may be late.
    const isLate = () => limit.aborted || monotonicMs() - started > timeout
    try {
      const sent = network(addressOf(upstream, request), {
        method: 'POST',
        ...contentOf(upstream, request),
        signal: AbortSignal.any([signal, limit]),
      })
      // Decompressed, as a recorded one is.
      const { status, headers, body } = guarded(upstream, await sent, MAX_RESPONSE)
      const at = passed()
      const frames: Frame[] = []
      let end: AttemptEnd = 'complete'
      try {
        for await (const bytes of body ?? []) frames.push({ at: passed(), bytes })
      } catch (error) {
        if (signal.aborted || isLate()) throw error
        end = 'cut by provider'
      }
      if (isLate()) throw new Error('late')
      const response = { status, headers: recordedHeaders(upstream.name, headers), at, frames }
      return { response, end, endedAt: passed() }
    } catch (error) {
      if (signal.aborted) throw new Error('the command was stopped')
      if (isLate()) throw new Error(`no whole response within ${durationText(timeout)} (--timeout)`)
      throw new Error(`no connection: ${withoutKey(networkReason(error), upstream.key)}`)
    }
  }
}

/** The recorded path and query at the configured address. */
const addressOf = ({ baseUrl = '' }: Upstream, { path }: UpstreamRequest): string =>
  new URL(path, new URL(baseUrl).origin).href

function contentOf(
  upstream: Upstream,
  { headers, body }: UpstreamRequest,
): { headers: Record<string, string>; body: string | FormData } {
  const [name, value] = keyHeaderOf(upstream) ?? []
  const sent: Record<string, string> = { ...headers, [ACCEPTED]: UNPACKED }
  if (name && value) sent[name.toLowerCase()] = value
  if (body.kind === 'json') sent['content-type'] = 'application/json'
  return { headers: sent, body: bodyText(body) }
}

function bodyText(body: UpstreamBody): string | FormData {
  if (body.kind === 'json') return exactJsonText(body.value)
  if (body.kind === 'text') return body.text
  const form = new FormData()
  for (const field of body.fields) if ('value' in field) form.append(field.name, field.value)
  return form
}

// What asking a recorded request again costs at most, by list price.

/**
 * A limit in USD on the cost of what is asked. The cost of a request is that of its recorded response: the same request costs about the same again.
 */
export function costLimit(maxCost: number) {
  let spent = 0
  let unpriced = 0
  return {
    /** Why a request may not be asked; undefined if it may, and then its expected cost is reserved. */
    refusal(interaction: Interaction): string | undefined {
      const cost = recordedCost(interaction)
      if (cost === null) unpriced++
      else if (spent + cost > maxCost) return `it would exceed --max-cost (${maxCost} USD)`
      else spent += cost
      return undefined
    },
    /** USD that was reserved so far. */
    get spent() {
      return Math.round(spent * 1e10) / 1e10
    },
    /** Requests whose price is unknown, which count as 0. */
    get unpriced() {
      return unpriced
    },
  }
}

/** Null if the model has no known price, or the response no token counts. */
function recordedCost({ request, attempts }: Interaction): number | null {
  const usage = attempts.map(usageOf).findLast((found) => found !== undefined)
  return usage ? costOf(`${request.provider}/${request.model}`, usage) || null : null
}

/** The last token counts in a recorded response, with those of an Anthropic stream joined. */
function usageOf({ response }: RecordedAttempt): JsonObject | undefined {
  if (!response) return undefined
  const text = new TextDecoder().decode(joinFrames(response.frames))
  let found: JsonObject | undefined
  for (const line of text.split(/\r\n|\n|\r/)) {
    const data = line.replace(/^data: ?/, '')
    const usage = usageInText(data) ?? startUsage(data)
    if (usage) found = { ...found, ...usage }
  }
  return found ?? usageInText(text)
}

/** The counts in Anthropic's first event. */
function startUsage(data: string): JsonObject | undefined {
  if (!data.includes('"message_start"')) return undefined
  return asObject(asObject(asObject(parsedJson(data))?.message)?.usage)
}
