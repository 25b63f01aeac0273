// Streams a legacy completion as chunks, and assembles one from chunks.
import type { TextChunk } from '../../answers/text-answer.ts'
import type { AnswerAssembly } from '../../contract/core/assembly.ts'
import type { Usage } from '../../contract/router/chat.ts'
import type { Completion } from '../../contract/router/completions.ts'
import { dataEvent, type StreamEvent } from '../../lib/sse.ts'
import { type JsonObject, objectsIn } from '../../lib/values.ts'
import { systemFingerprint } from '../chat/parts.ts'
import { normalizeCompletion } from './normalize.ts'

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

interface OpenChoice {
  index: number
  text: string
  logprobs: null
  finish_reason: string | null
}

/** Whether chunks have the finish reason only at the end, as those of providers do. Generated ones repeat it. */
const isForeign = ({ model, system_fingerprint: own }: JsonObject): boolean => own !== systemFingerprint(String(model))

/** A generated chunk with its finish reason only at the end, as OpenAI sends it. */
export function openaiChunk(data: JsonObject): JsonObject {
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
