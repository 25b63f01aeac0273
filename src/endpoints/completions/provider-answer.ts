// Reads a provider's legacy completion, and replays one from the cache.

import { usageScriptOf } from '../../answers/script-of.ts'
import { tokenChunks } from '../../answers/text-answer.ts'
import { assembled } from '../../contract/core/assembly.ts'
import type { AnswerContext, RenderedAnswer, StreamRules } from '../../contract/core/operation.ts'
import { type CompletionRequest, CompletionScript } from '../../contract/router/completions.ts'
import { chunkProblem } from '../chat/normalize.ts'
import {
  type CompletionFrame,
  type CompletionParts,
  completionAssembly,
  completionChunks,
  openaiChunk,
} from './chunks.ts'
import { completionProblem, normalizeCompletion } from './normalize.ts'

type Reason = CompletionParts['finish']
type Usage = Parameters<typeof completionChunks>[2]

/** The rules for a stream of completion chunks. */
export const completionEvents: StreamRules = {
  wrongWith: chunkProblem,
  hasContent: (data) => normalizeCompletion(data).choices.some(({ text }) => Boolean(text)),
  asOpenai: openaiChunk,
  complete: (events) => completionProblem(assembled(completionAssembly(), events)) === undefined,
}

/** A stored response with a new id, whole or as chunks. */
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
      // A provider may have other finish reasons.
      const parts = choices.map(({ text = '', finish }) => ({
        pieces: tokenChunks(text),
        finish: finish as Reason,
      }))
      const counts = request.stream_options?.include_usage ? (usage as Usage) : undefined
      return completionChunks({ ...frame, ...named } as unknown as CompletionFrame, parts, counts)
    },
  }
}

/** The texts of all choices. */
export const completionOutputTexts = (answer: unknown): string[] =>
  normalizeCompletion(answer).choices.flatMap(({ text }) => text ?? [])

/** The script that reproduces a response: a text for each choice, which is one per prompt unless the call requested more. */
export function completionScriptOf(answer: unknown): CompletionScript | undefined {
  if (completionProblem(answer) !== undefined) return undefined
  const { choices, usage } = normalizeCompletion(answer)
  const ordered = choices.toSorted((a, b) => a.index - b.index)
  const texts = ordered.map(({ text = '' }) => text)
  const reason = CompletionScript.shape.finish_reason.safeParse(ordered[0]?.finish).data
  const shared = ordered.every(({ finish }) => finish === reason)
  return {
    content: texts.length === 1 ? (texts[0] ?? '') : texts,
    ...(reason && reason !== 'stop' && shared && { finish_reason: reason }),
    ...usageScriptOf({ promptTokens: usage?.prompt_tokens, completionTokens: usage?.completion_tokens }),
  }
}
