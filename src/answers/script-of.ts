// The inverse of a text answer: the script of which the same answer would be made.
import type { TextScript } from '../contract/router/script.ts'
import { lazy } from '../lib/lazy.ts'
import { asObject, type JsonObject } from '../lib/values.ts'

// Asked for by what is recorded or explored, and by no call.
const scripts = lazy<typeof import('../contract/router/script.ts')>(() => require('../contract/router/script.ts'))

/** A text answer as its operation reads it. */
export interface TextAnswerFields {
  content?: string | undefined
  refusal?: string | undefined
  reasoning?: string | undefined
  /** `input` is the JSON of a function's arguments, or the text for a custom tool. */
  calls?: readonly { custom: boolean; id?: string | undefined; name?: string | undefined; input: string }[]
  finish?: string | undefined
  promptTokens?: unknown
  completionTokens?: unknown
}

/** The script of an answer; what follows from the rest is left out of it. */
export function textScriptOf(answer: TextAnswerFields): TextScript {
  const { content, refusal, reasoning, finish } = answer
  const calls = (answer.calls ?? []).flatMap(({ name, id, custom, input }) =>
    name ? [{ name, ...(id && { id }), ...(custom ? { input } : { arguments: argumentsOf(input) }) }] : [],
  )
  const reason = scripts().TextScript.shape.finish_reason.safeParse(finish).data
  const natural = calls.length > 0 ? ['tool_calls', 'function_call'] : ['stop']
  // A script has to say something, be it that nothing is called: an answer that was cut while it thought has no text at all.
  const silent = content === undefined && refusal === undefined
  return {
    ...(reasoning && { reasoning }),
    ...(content !== undefined && { content }),
    ...(refusal !== undefined && { refusal }),
    ...((calls.length > 0 || silent) && { tool_calls: calls }),
    ...(reason && !natural.includes(reason) && { finish_reason: reason }),
    ...usageScriptOf(answer),
  }
}

/** The counts of a script, where they are counts. */
export function usageScriptOf({
  promptTokens,
  completionTokens,
}: Pick<TextAnswerFields, 'promptTokens' | 'completionTokens'>): Pick<TextScript, 'usage'> {
  const { usage } = scripts().TextScript.shape
  const counts = { prompt_tokens: promptTokens, completion_tokens: completionTokens }
  const known = Object.fromEntries(
    Object.entries(counts).filter((count) => usage.safeParse(Object.fromEntries([count])).success && count[1] != null),
  )
  return Object.keys(known).length > 0 ? { usage: known } : {}
}

/** The object that a text is the JSON of, letter for letter; else the text. */
function argumentsOf(text: string): JsonObject | string {
  try {
    const value = asObject(JSON.parse(text))
    return value && !text.includes('__proto__') && JSON.stringify(value) === text ? value : text
  } catch {
    return text
  }
}
