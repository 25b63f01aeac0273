// Takes the usage out of a stream whose client did not ask for it.

import type { JsonObject } from '../../lib/values.ts'
import { asObject, parsedJson } from '../../lib/values.ts'
import { USAGE_HINT, usageIn } from './usage.ts'

/** Says of the data of each event whether it is the extra one that only carries usage; all usage is given to `found`. */
export function onlyUsage(found: (usage: JsonObject) => void): (data: string) => boolean {
  return (text) => {
    if (!text.includes(USAGE_HINT)) return false
    const data = asObject(parsedJson(text))
    const usage = usageIn(data)
    if (usage) found(usage)
    return usage !== undefined && isNothing(data?.choices)
  }
}

/** Whether no choice is there; what is no list at all is not ours to keep from the client. */
const isNothing = (choices: unknown) => choices == null || (Array.isArray(choices) && choices.length === 0)
