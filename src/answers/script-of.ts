// The inverse of a text response: the script that reproduces it.
import type { TextScript } from '../contract/router/script.ts'
import { lazy } from '../lib/lazy.ts'
import { asObject, type JsonObject, parsedJson } from '../lib/values.ts'

// Needed for recordings and explorations, not for calls.
const scripts = lazy<typeof import('../contract/router/script.ts')>(() => require('../contract/router/script.ts'))

/** A text response in a form for all operations. */
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

/** The script of a response, without what follows from the rest. */
export function textScriptOf(answer: TextAnswerFields): TextScript {
  const { content, refusal, reasoning, finish } = answer
  const calls = (answer.calls ?? []).flatMap(({ name, id, custom, input }) =>
    name ? [{ name, ...(id && { id }), ...(custom ? { input } : { arguments: argumentsOf(input) }) }] : [],
  )
  const reason = scripts().TextScript.shape.finish_reason.safeParse(finish).data
  const natural = calls.length > 0 ? ['tool_calls', 'function_call'] : ['stop']
  // A script must have content, or at least no tool calls: a response that was cut while reasoning has no text at all.
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

/** The counts of a script, if they are valid. */
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

/** The object of which a text is the exact JSON; otherwise the text. */
function argumentsOf(text: string): JsonObject | string {
  const value = asObject(parsedJson(text))
  return value && !text.includes('__proto__') && JSON.stringify(value) === text ? value : text
}
