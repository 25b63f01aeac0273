// Token counts in what a provider of the OpenAI family sends.
import { asObject, type JsonObject } from '../../lib/values.ts'

/** What every text with counts in it has. */
export const USAGE_HINT = '"usage"'

/** The counts in an answer, in a chunk of it or in an event that has the answer in it; undefined when it has none. */
export function usageIn(value: unknown): JsonObject | undefined {
  const { usage, response } = asObject(value) ?? {}
  return asObject(usage) ?? asObject(asObject(response)?.usage)
}

/** The counts in a JSON text; undefined when it is another text. */
export function usageInText(text: string): JsonObject | undefined {
  if (!text.includes(USAGE_HINT)) return undefined
  try {
    return usageIn(JSON.parse(text))
  } catch {
    return undefined
  }
}
