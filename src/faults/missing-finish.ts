// missing-finish: the response has no finish reason or completed status.

import { asObject, type JsonObject, parsedJson } from '../lib/values.ts'
import { changeStream, changeWhole } from './change.ts'
import { defineFault } from './define.ts'
import { type EventBlock, rewritten } from './wire.ts'

/** Tests clients that depend on a finish reason or a completed status. */
export const missingFinish = defineFault({
  type: 'missing-finish',
  summary: 'The response has no finish reason or completed status.',
  points: ['provider', 'gateway'],
  inAnswer: true,
  options: {},
  example: {},
  apply(_, next, context) {
    const reason = 'the response has no finish reason'
    if (!context.stream) {
      return changeWhole(next, context, (text) => {
        const open = withoutFinish(parsedJson(text))
        if (!open) context.skipped(reason)
        return open && JSON.stringify(open)
      })
    }
    const change = async function* (blocks: AsyncIterable<EventBlock>) {
      for await (const block of blocks) {
        const { data, text } = block
        const last = data !== undefined && context.operation.events?.complete([{ data }])
        const open = withoutFinish(data)
        if (last || open) context.triggered()
        if (open) yield rewritten(block, open)
        else if (!last) yield text
      }
    }
    return changeStream(next, context, change, reason)
  },
})

/** A response or chunk without its finish reasons. Undefined if it has none. */
function withoutFinish(value: unknown): JsonObject | undefined {
  const answer = asObject(value)
  if (!answer) return undefined
  const { choices, status } = answer
  if (Array.isArray(choices) && choices.some((choice) => asObject(choice)?.finish_reason != null)) {
    const open = (choice: unknown) => (asObject(choice) ? { ...asObject(choice), finish_reason: null } : choice)
    return { ...answer, choices: choices.map(open) }
  }
  return status === 'completed' || status === 'incomplete' ? { ...answer, status: 'in_progress' } : undefined
}
