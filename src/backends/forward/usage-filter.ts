// Removes usage from a stream whose client did not request it.

import type { JsonObject } from '../../lib/values.ts'
import { asObject, parsedJson } from '../../lib/values.ts'
import { USAGE_HINT, usageIn } from './usage.ts'

/** Returns whether an event is the extra one that contains only usage; `found` receives all usage. */
export function onlyUsage(found: (usage: JsonObject) => void): (data: string) => boolean {
  return (text) => {
    if (!text.includes(USAGE_HINT)) return false
    const data = asObject(parsedJson(text))
    const usage = usageIn(data)
    if (usage) found(usage)
    return usage !== undefined && isNothing(data?.choices)
  }
}

/** Whether there are no choices. A value that is not a list is passed on to the client. */
const isNothing = (choices: unknown) => choices == null || (Array.isArray(choices) && choices.length === 0)
