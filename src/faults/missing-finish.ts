// missing-finish: an answer does not say that it is finished.
import { changeStream, changeWhole } from './change.ts'
import { defineFault } from './define.ts'
import { type EventBlock, rewritten } from './wire.ts'

type Fields = Record<string, unknown>

export const missingFinish = defineFault({
  type: 'missing-finish',
  summary: 'No choice has a finish reason, no response is completed.',
  points: ['provider', 'gateway'],
  options: {},
  example: {},
  apply(_, next, context) {
    const none = 'the answer has no finish reason'
    if (!context.stream) {
      return changeWhole(next, context, (text) => {
        const value = JSON.parse(text) as unknown
        const open = opened(value)
        if (!open) context.skip(none)
        return open && JSON.stringify(open)
      })
    }
    const change = async function* (blocks: AsyncIterable<EventBlock>) {
      for await (const block of blocks) {
        const { data, text } = block
        const last = data !== undefined && context.operation.events?.complete([{ data }])
        const open = opened(data)
        if (last || open) context.acted()
        if (open) yield rewritten(block, open)
        else if (!last) yield text
      }
    }
    return changeStream(next, context, change, none)
  },
})

/** An answer, or a part of one, without its finish reasons; undefined when it has none. */
function opened(value: unknown): Fields | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { choices, status } = value as Fields
  if (Array.isArray(choices) && choices.some((choice: Fields) => choice.finish_reason != null)) {
    return { ...value, choices: choices.map((choice: Fields) => ({ ...choice, finish_reason: null })) }
  }
  return status === 'completed' || status === 'incomplete' ? { ...value, status: 'in_progress' } : undefined
}
