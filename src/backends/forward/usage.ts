// Finds token counts in what OpenAI-compatible providers send.
import { asObject, type JsonObject } from '../../lib/values.ts'

/** Contained in every text with token counts. */
export const USAGE_HINT = '"usage"'

/** The token counts in a response, a chunk, or an event that contains a response; undefined when there are none. */
export function usageIn(value: unknown): JsonObject | undefined {
  const { usage, response } = asObject(value) ?? {}
  return asObject(usage) ?? asObject(asObject(response)?.usage)
}

/** The token counts in a JSON text; undefined for any other text. */
export function usageInText(text: string): JsonObject | undefined {
  if (!text.includes(USAGE_HINT)) return undefined
  try {
    return usageIn(JSON.parse(text))
  } catch {
    return undefined
  }
}
