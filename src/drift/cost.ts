// What asking a recorded request again costs at most, by list price.
import { usageInText } from '../backends/forward/usage.ts'
import type { Interaction, RecordedAttempt } from '../contract/core/cassette.ts'
import { asObject, type JsonObject, parsedJson } from '../lib/values.ts'
import { costOf } from '../providers/catalogue.ts'

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
  const text = new TextDecoder().decode(Buffer.concat(response.frames.map(({ bytes }) => bytes)))
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
