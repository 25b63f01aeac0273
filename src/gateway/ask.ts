// One question of our own to a model, as evaluators ask it: through the backend, without the steps and faults of a call.
import type { Backend } from '../contract/backend.ts'
import type { Operation } from '../contract/operation.ts'
import { ulidOf } from '../lib/ids.ts'
import { providerOf } from '../providers/catalogue.ts'
import type { Session } from '../sessions/sessions.ts'
import { errorOf, failureOf } from './outcome.ts'
import { read } from './read.ts'

/** What a model is asked. */
export interface ModelQuestion {
  model: string
  system: string
  user: string
  /** JSON Schema of the answer. */
  schema: object
}
/** What it says. */
export interface ModelAnswer {
  text: string
  fixture: string | null
  synthesized: boolean
}

/** Asks a model; throws `ApiError` when there is no answer. */
export type AskModel = (session: Session, question: ModelQuestion, signal: AbortSignal) => Promise<ModelAnswer>

/** Questions as calls of the chat operation, which is loaded at the first of them, to a backend. */
export const askThrough =
  (backend: Backend, chat: () => Operation): AskModel =>
  async (session, { model, system, user, schema }, signal) => {
    providerOf(model, 'model')
    const operation = chat()
    const request = {
      model,
      messages: [
        { role: 'system', content: system },
        { role: 'user', content: user },
      ],
      response_format: { type: 'json_schema', json_schema: { name: 'verdict', schema } },
    }
    const { clock, seed, name, secret, keyValues, uses } = session
    const now = clock.now()
    const answerContext = {
      id: ulidOf(seed, now, `${name}:question`, 0),
      now,
      secret,
      keyValues,
      publicUrl: (path: string) => path,
    }
    const prompt = operation.prompt(request)
    try {
      const reply = await backend.answer({
        session: name,
        operation,
        request,
        model,
        stream: false,
        prompt,
        answerContext,
        clock,
        signal,
        uses,
      })
      const content = await read(reply, { operation, stream: false, signal })
      const texts = content.kind === 'whole' ? operation.outputTexts?.(content.value as object) : undefined
      return { text: texts?.[0] ?? '', fixture: reply.fixture, synthesized: reply.synthesized }
    } catch (error) {
      throw errorOf(failureOf(error, signal))
    }
  }
