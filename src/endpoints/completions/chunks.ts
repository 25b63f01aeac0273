// Legacy completions: streamed as chunks, and read from providers and from the cache.
import { usageScriptOf } from '../../answers/script-of.ts'
import { type TextChunk, tokenChunks } from '../../answers/text-answer.ts'
import { type AnswerAssembly, assembled } from '../../contract/core/assembly.ts'
import type { AnswerContext, RenderedAnswer, StreamRules } from '../../contract/core/operation.ts'
import type { Usage } from '../../contract/router/chat.ts'
import { type Completion, type CompletionRequest, CompletionScript } from '../../contract/router/completions.ts'
import { dataEvent, type StreamEvent } from '../../lib/sse.ts'
import { asIndex, asObject, asText, type JsonObject, objectsIn } from '../../lib/values.ts'
import { systemFingerprint } from '../chat/chunks.ts'
import { choicesProblem, chunkProblem } from '../chat/normalize.ts'

/** One choice of a legacy completion. */
export type CompletionChoice = Completion['choices'][number]
/** Fields at the beginning of a response and of each of its chunks. */
export type CompletionFrame = Omit<Completion, 'choices' | 'usage'>

/** A choice before it is serialized. */
export interface CompletionParts {
  pieces: readonly TextChunk[]
  finish: CompletionChoice['finish_reason']
}

/** A choice with its text and finish reason, without log probabilities. */
export const completionChoice = (
  index: number,
  text: string,
  finish: CompletionChoice['finish_reason'],
): CompletionChoice => ({
  index,
  text,
  logprobs: null,
  finish_reason: finish,
})

/**
 * The chunks of all choices, interleaved; each choice ends with a chunk without text. Every chunk carries the final
 * finish reason: strict clients reject null and a missing key, others keep the last value and read until `[DONE]`. So
 * no client ever reads a wrong reason.
 */
export function completionChunks(
  frame: CompletionFrame,
  choices: readonly CompletionParts[],
  usage: Usage | undefined,
): StreamEvent[] {
  const queues = choices.map(({ pieces, finish }, index) =>
    [...pieces, { text: '', tokens: 0 }].map(({ text, tokens }): StreamEvent => {
      const data: Completion = { ...frame, choices: [completionChoice(index, text, finish)] }
      return dataEvent(data, { tokens: tokens || undefined })
    }),
  )
  const longest = Math.max(...queues.map((queue) => queue.length))
  const events = Array.from({ length: longest }, (_, step) => queues.flatMap((queue) => queue[step] ?? [])).flat()
  if (usage) events.push(dataEvent({ ...frame, choices: [], usage } satisfies Completion))
  return events
}

type OpenChoice = Omit<CompletionChoice, 'finish_reason'> & { finish_reason: string | null }

/** Whether chunks have the finish reason only at the end, as those of providers do. Generated ones repeat it. */
const isForeign = ({ model, system_fingerprint: own }: JsonObject): boolean => own !== systemFingerprint(String(model))

/** A generated chunk with its finish reason only at the end, as OpenAI sends it. */
function openaiChunk(data: JsonObject): JsonObject {
  if (isForeign(data)) return data
  const choices = objectsIn(data.choices)
  return {
    ...data,
    choices: choices.map((choice) => (choice.text === '' ? choice : { ...choice, finish_reason: null })),
  }
}

/** Assembles a completion from its chunks; an unfinished choice has no finish reason. */
export function completionAssembly(): AnswerAssembly {
  let frame: JsonObject | undefined
  let foreign = false
  let usage: JsonObject | undefined
  // Choice numbers come from the provider, so they are keys here, never array indexes.
  const choices = new Map<number, OpenChoice>()
  return {
    add({ data }) {
      const chunk = normalizeCompletion(data)
      if (!frame) {
        frame = chunk.frame
        foreign = isForeign(frame)
      }
      usage = chunk.usage ?? usage
      for (const { index, text = '', finish } of chunk.choices) {
        const choice = choices.get(index) ?? { index, text: '', logprobs: null, finish_reason: null }
        choices.set(index, choice)
        choice.text += text
        if (finish !== undefined && (text === '' || foreign)) choice.finish_reason = finish
      }
    },
    whole() {
      if (!frame) return {}
      const inOrder = [...choices.values()].sort((a, b) => a.index - b.index)
      return { ...frame, choices: inOrder, ...(usage ? { usage } : {}) }
    },
  }
}

/**
 * Reads a completion or a chunk; invalid parts are left out. `frame` are all fields other than choices and usage; the
 * finish reason is undefined until it arrives.
 */
function normalizeCompletion(value: unknown) {
  const { choices, usage, ...frame } = asObject(value) ?? {}
  return {
    frame,
    choices: objectsIn(choices).map(({ index, text, finish_reason: finish }, position) => ({
      index: asIndex(index) ?? position,
      text: asText(text),
      finish: asText(finish) || undefined,
    })),
    usage: asObject(usage),
  }
}

/** Why a value is not a completion; undefined for a valid one. A filtered choice needs no text. */
export const completionProblem = (value: unknown): string | undefined =>
  choicesProblem(value, normalizeCompletion(value).choices, { field: 'text', isIn: ({ text }) => text !== undefined })

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
        finish: finish as CompletionParts['finish'],
      }))
      const counts = request.stream_options?.include_usage ? (usage as Usage | undefined) : undefined
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
