// One question of our own to a model, as evaluators ask it: a call from inside, with everything that a call meets.
import type { Operation } from '../contract/core/operation.ts'
import type { CallOrigin } from './call.ts'
import type { Gateway } from './types.ts'

/** What a model is asked. */
export interface ModelQuestion {
  model: string
  system: string
  user: string
  /** JSON Schema of the answer. */
  schema: object
  /** Tells the call from all others of its session, where its ids must not depend on what runs beside it. */
  key?: string | undefined
}
/** What it says. */
export interface ModelAnswer {
  text: string
  fixture: string | null
  generated: boolean
  /** Id of the trace of the call. */
  trace: string
}

/** Asks a model on behalf of a call; throws `ApiError` when there is no answer. */
export type AskModel = (origin: CallOrigin, question: ModelQuestion) => Promise<ModelAnswer>

/** Questions as calls of the chat operation, which is loaded at the first of them. */
export const askThrough =
  (call: Gateway['call'], chat: () => Operation): AskModel =>
  async (origin, { model, system, user, schema, key }) => {
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
