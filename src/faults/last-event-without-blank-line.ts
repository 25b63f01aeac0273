// last-event-without-blank-line: a stream ends directly after the data of its last event.
import { changeStream } from './change.ts'
import { defineFault } from './define.ts'

// CR and LF.
const LINE_ENDS = new Set([13, 10])

/** Tests that a client handles a last event that its parser never completes. */
export const lastEventWithoutBlankLine = defineFault({
  type: 'last-event-without-blank-line',
  summary: 'The last event of a stream lacks the blank line that ends it. The connection closes normally.',
  apply: (_, next, context) =>
    changeStream(next, { ...context, reason: 'the stream does not end with an event' }, async function* (blocks) {
      let blankLine = new Uint8Array()
      for await (const { kind, bytes } of blocks) {
        const end = kind === 'comment' ? bytes.length : bytes.findLastIndex((byte) => !LINE_ENDS.has(byte)) + 1
        yield Buffer.concat([blankLine, bytes.subarray(0, end)])
        blankLine = bytes.slice(end)
      }
      if (blankLine.length > 0) context.triggered()
    }),
})
