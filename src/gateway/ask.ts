// Sends a request of the program itself to a model, such as the question of an evaluator, as an internal call.
import type { Operation } from '../contract/core/operation.ts'
import type { CallOrigin } from './call.ts'
import type { Gateway } from './types.ts'

/** A question for a model. */
interface ModelQuestion {
  model: string
  system: string
  user: string
  /** JSON Schema of the response. */
  schema: object
  /** Identifies the call in its session, so that its ids do not depend on concurrent calls. */
  key?: string | undefined
}

/** Asks a model on behalf of a call; throws `ApiError` when the call fails. */
export type AskModel = ReturnType<typeof askThrough>

/** Sends questions through the chat operation, which is loaded at the first question. Returns the response and its trace. */
export const askThrough =
  (call: Gateway['call'], chat: () => Operation) =>
  async (origin: CallOrigin, { model, system, user, schema, key }: ModelQuestion) => {
    const operation = chat()
    const request = {
      model,
      messages: [
        { role: 'system', content: system },
        { role: 'user', content: user },
      ],
      response_format: { type: 'json_schema', json_schema: { name: 'verdict', schema } },
    }
    const { trace, reply } = await call({ operation, request, origin, ...(key !== undefined && { key }) })
    const { body, fixture, generated } = reply
    const texts = body.kind === 'value' ? operation.outputTexts?.(body.value as object) : undefined
    return { text: texts?.[0] ?? '', fixture, generated, trace }
  }
