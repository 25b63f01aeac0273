// A legacy completion as chunks, and the whole one that a client has put together from some.
import type { TextChunk } from '../../answers/text-answer.ts'
import type { AnswerAssembly } from '../../contract/core/assembly.ts'
import type { Usage } from '../../contract/router/chat.ts'
import type { Completion } from '../../contract/router/completions.ts'
import { fingerprint } from '../../lib/ids.ts'
import { dataEvent, type StreamEvent } from '../../lib/sse.ts'
import type { JsonObject } from '../../lib/values.ts'
import { normalizeCompletion } from './normalize.ts'

/** One choice of a legacy completion. */
export type CompletionChoice = Completion['choices'][number]
/** Fields that the answer and each of its chunks begin with. */
export type CompletionFrame = Omit<Completion, 'choices' | 'usage'>

/** One choice before it is put on the wire. */
export interface CompletionParts {
  pieces: readonly TextChunk[]
  finish: CompletionChoice['finish_reason']
}

/** What `system_fingerprint` is in answers that were made here. */
export const systemFingerprint = (model: string): string => `fp_${fingerprint(model).slice(0, 10)}`

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
 * The chunks of all choices in turn; each choice is closed by a chunk without text. Every chunk carries the reason with which
 * its choice will end: a strict client throws on null and on a missing key, while the others keep the reason that came last
 * and go on reading until `[DONE]`. With the true reason throughout, no client ever reads a wrong one.
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

/** Whether chunks with this frame give the reason at the end alone, as providers do; those made here give it throughout. */
const isForeign = ({ model, system_fingerprint: own }: JsonObject): boolean => own !== systemFingerprint(String(model))

/** Puts a completion together from its chunks; a choice that did not end has no reason. */
export function completionAssembly(): AnswerAssembly {
  let frame: JsonObject | undefined
  let foreign = false
  let usage: JsonObject | undefined
  // Numbers of choices are a provider's: they are names here, never places in a list.
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
