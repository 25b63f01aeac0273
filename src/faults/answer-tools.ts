// Reaches into the tool calls of a chat completion: those that a model asks for, and those that it was offered.
import type { FaultContext, NextReply } from '../contract/core/fault.ts'
import type { Reply } from '../contract/core/reply.ts'
import { asObject, type JsonObject, objectsIn, parsedJson } from '../lib/values.ts'
import { onAnswer } from './change.ts'
import { changed, streamBytes, wholeBytes } from './wire.ts'

/** A function that a call offers. */
export interface OfferedFunction {
  name: string
  parameters: JsonObject
}

/** The functions that a call offers, in its order. */
export const offeredFunctions = ({ request }: Pick<FaultContext, 'request'>): OfferedFunction[] =>
  objectsIn((request as { tools?: unknown } | null)?.tools).flatMap((tool) => {
    const { name, parameters } = asObject(tool.function) ?? {}
    return typeof name === 'string' ? [{ name, parameters: asObject(parameters) ?? {} }] : []
  })

/** The reply with the message of a whole chat completion changed; `change` gives undefined, having said why, when it does nothing. */
export const changeMessage = (
  next: NextReply,
  context: FaultContext,
  change: (message: JsonObject) => JsonObject | undefined | Promise<JsonObject | undefined>,
): Promise<Reply> =>
  onAnswer(next, context, {
    form: 'whole',
    async change(reply) {
      const { contentType } = streamBytes(reply)
      // The bytes of a provider can be read once: they go on as they were read.
      const wholeWith = (bytes: Uint8Array) => changed(reply, { body: { kind: 'bytes', contentType, bytes } })
      const before = await wholeBytes(reply)
      const value = asObject(parsedJson(new TextDecoder().decode(before)))
      const [choice, ...choices] = objectsIn(value?.choices)
      const message = asObject(choice?.message)
      if (!value || !message) {
        context.skipped('the response is not a chat completion')
        return wholeWith(before)
      }
      const other = await change(message)
      if (!other) return wholeWith(before)
      context.triggered()
      const finish_reason = objectsIn(other.tool_calls).length > 0 ? 'tool_calls' : choice?.finish_reason
      const whole = { ...value, choices: [{ ...choice, message: other, finish_reason }, ...choices] }
      return wholeWith(new TextEncoder().encode(JSON.stringify(whole)))
    },
  })

/** The same with the function of each tool call changed. */
export const changeToolCalls = (
  next: NextReply,
  context: FaultContext,
  change: (called: JsonObject) => JsonObject,
): Promise<Reply> =>
  changeMessage(next, context, (message) => {
    const calls = objectsIn(message.tool_calls)
    if (calls.length === 0) {
      context.skipped('the response has no tool call')
      return undefined
    }
    const tool_calls = calls.map((call) => ({ ...call, function: change(asObject(call.function) ?? {}) }))
    return { ...message, tool_calls }
  })
