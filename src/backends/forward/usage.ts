// Finds token counts in what OpenAI-compatible providers send.
import { asObject, type JsonObject, parsedJson } from '../../lib/values.ts'

/** Contained in every text with token counts. */
const USAGE_HINT = '"usage"'

/** The token counts in a response, a chunk, or an event that contains a response; undefined when there are none. */
export function usageIn(value: unknown): JsonObject | undefined {
  const { usage, response } = asObject(value) ?? {}
  return asObject(usage) ?? asObject(asObject(response)?.usage)
}

/** The token counts in a JSON text; undefined for any other text. */
export const usageInText = (text: string): JsonObject | undefined =>
  text.includes(USAGE_HINT) ? usageIn(parsedJson(text)) : undefined

/** Returns whether an event is the extra one that contains only usage; `found` receives all usage. */
export function onlyUsage(found: (usage: JsonObject) => void): (data: string) => boolean {
  return (text) => {
    const data = text.includes(USAGE_HINT) ? asObject(parsedJson(text)) : undefined
    const usage = usageIn(data)
    if (usage) found(usage)
    return usage !== undefined && isNothing(data?.choices)
  }
}

/** Whether there are no choices. A value that is not a list is passed on to the client. */
const isNothing = (choices: unknown) => choices == null || (Array.isArray(choices) && choices.length === 0)
