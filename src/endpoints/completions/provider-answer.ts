// How a legacy completion is read when a provider made it, and told again when the cache has it.
import { pieces } from '../../answers/text-answer.ts'
import type { CompletionRequest } from '../../contract/completions.ts'
import type { AnswerContext, RenderedAnswer, StreamRules } from '../../contract/operation.ts'
import { assembleCompletion, type CompletionFrame, type CompletionParts, completionChunks } from './chunks.ts'
import { completionChunkProblem, completionProblem, normalizeCompletion } from './normalize.ts'

type Reason = CompletionParts['finish']
type Usage = Parameters<typeof completionChunks>[2]

/** What a stream of completion chunks must be like. */
export const completionEvents: StreamRules = {
  wrongWith: completionChunkProblem,
  hasContent: (data) => normalizeCompletion(data).choices.some(({ text }) => Boolean(text)),
  complete: (events) => completionProblem(assembleCompletion(events)) === undefined,
}

/** A stored answer under a new id, whole or as chunks. */
export function replayCompletion(
  request: CompletionRequest,
  stored: object,
  answerContext: AnswerContext,
): Pick<RenderedAnswer, 'body' | 'events'> {
  const named = { id: `cmpl-${answerContext.id}`, created: Math.floor(answerContext.now / 1000) }
  return {
    body: () => ({ ...stored, ...named }),
    events() {
      const { frame, choices, usage } = normalizeCompletion(stored)
      // A provider may have reasons of its own.
      const parts = choices.map(({ text = '', finish }) => ({ pieces: pieces(text), finish: finish as Reason }))
      const counts = request.stream_options?.include_usage ? (usage as Usage) : undefined
      return completionChunks({ ...frame, ...named } as unknown as CompletionFrame, parts, counts)
    },
  }
}

/** The texts of all choices. */
export const completionOutputTexts = (answer: unknown): string[] =>
  normalizeCompletion(answer).choices.flatMap(({ text }) => text ?? [])
