// malformed-content: the response is valid, but the text of the model ends in the middle, so JSON in it is invalid.
import { asObject, type JsonObject, objectsIn } from '../lib/values.ts'
import { changeJson } from './change.ts'
import { defineFault } from './define.ts'
import { rewritten } from './wire.ts'

/** Tests that a client validates structured output: the response is valid, the JSON inside its text is not. */
export const malformedContent = defineFault({
  type: 'malformed-content',
  summary:
    'The text of the response ends in the middle, although the response looks complete. Requested JSON is invalid.',
  inAnswer: true,
  apply: (_, next, context) =>
    changeJson(next, context, {
      whole: (answer) => truncated(answer, (text) => text.slice(0, Math.ceil(text.length / 2))),
      async *stream(blocks) {
        // Only the first piece is sent. Events with the whole text contain only that piece.
        let first: string | undefined
        for await (const block of blocks) {
          const before = first
          const broken =
            block.data &&
            truncated(block.data, (text, whole) => {
              if (before === undefined) first ??= text
              return before === undefined ? text : whole ? before : ''
            })
          if (broken && before !== undefined) context.triggered()
          yield broken && before !== undefined ? rewritten(block, broken) : block.bytes
        }
      },
      reason: 'the response has no text',
    }),
})

/** Changes a text: a piece of a stream, or the whole text. */
type TextChange = (text: string, whole: boolean) => string

/** A response or event with its texts changed. Undefined if it has none. */
function truncated(value: JsonObject, change: TextChange): JsonObject | undefined {
  let found = false
  const changedText = (text: unknown, whole: boolean) => {
    if (typeof text !== 'string' || text === '') return text
    found = true
    return change(text, whole)
  }
  const within = (part: JsonObject, field: string, whole: boolean) =>
    field in part ? { ...part, [field]: changedText(part[field], whole) } : part
  const message = (item: JsonObject) => ({
    ...item,
    content: objectsIn(item.content).map((part) => within(part, 'text', true)),
  })
  const isItem = (item: JsonObject) => Array.isArray(item.content)
  const inChoice = (choice: JsonObject): JsonObject => ({
    ...within(choice, 'text', false),
    ...(asObject(choice.message) && { message: within(asObject(choice.message) ?? {}, 'content', true) }),
    ...(asObject(choice.delta) && { delta: within(asObject(choice.delta) ?? {}, 'content', false) }),
  })
  const response = (whole: JsonObject): JsonObject => ({
    ...within(whole, 'output_text', true),
    output: objectsIn(whole.output).map((item) => (isItem(item) ? message(item) : item)),
  })
  const changed = (): JsonObject => {
    const { type, choices, output, item, part } = value
    if (Array.isArray(choices)) return { ...value, choices: objectsIn(choices).map(inChoice) }
    if (Array.isArray(output)) return response(value)
    if (type === 'response.output_text.delta') return within(value, 'delta', false)
    if (type === 'response.output_text.done') return within(value, 'text', true)
    if (asObject(part)) return { ...value, part: within(asObject(part) ?? {}, 'text', true) }
    if (asObject(item) && isItem(asObject(item) ?? {})) return { ...value, item: message(asObject(item) ?? {}) }
    if (asObject(value.response)) return { ...value, response: response(asObject(value.response) ?? {}) }
    return value
  }
  const result = changed()
  return found ? result : undefined
}
