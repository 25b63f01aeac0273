// How a legacy completion is read when a provider made it, and told again when the cache has it.
import { pieces } from '../../answers/text-answer.ts'
import type { Completion, CompletionRequest } from '../../contract/completions.ts'
import type { AnswerContext, RenderedAnswer, StreamRules } from '../../contract/operation.ts'
import { assembleCompletion, completionChunks } from './chunks.ts'

type Fields = Record<string, unknown>
const choicesOf = (data: Fields): Fields[] => (Array.isArray(data.choices) ? data.choices : [])

/** What a stream of completion chunks must be like. */
export const completionEvents: StreamRules = {
  wrongWith: (data) => (Array.isArray(data.choices) ? undefined : "it has no 'choices'"),
  hasContent: (data) => choicesOf(data).some(({ text }) => typeof text === 'string' && text !== ''),
  complete: (events) => completionProblem(assembleCompletion(events) as Fields) === undefined,
}

/** Why a whole answer is none: without choices, or with one that never finished. */
export function completionProblem(answer: Fields): string | undefined {
  const choices = choicesOf(answer)
  if (choices.length === 0) return "it has no 'choices'"
  const open = choices.findIndex((choice) => choice?.finish_reason == null)
  return open < 0 ? undefined : `choices[${open}] has no finish reason`
}

/** A stored answer under a new id, whole or as chunks. */
export function replayCompletion(
  request: CompletionRequest,
  stored: object,
  answerContext: AnswerContext,
): Pick<RenderedAnswer, 'body' | 'events'> {
  const answer = {
    ...(stored as Completion),
    id: `cmpl-${answerContext.id}`,
    created: Math.floor(answerContext.now / 1000),
  }
  const { choices, usage, ...frame } = answer
  const written = choices.map(({ text, finish_reason: finish }) => ({ pieces: pieces(text), finish }))
  return {
    body: () => answer,
    events: () => completionChunks(frame, written, request.stream_options?.include_usage ? usage : undefined),
  }
}
