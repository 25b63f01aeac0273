// last-event-without-blank-line: a stream ends directly after the data of its last event.
import { changeStream } from './change.ts'
import { defineFault } from './define.ts'

/** Tests that a client handles a last event that its parser never completes. */
export const lastEventWithoutBlankLine = defineFault({
  type: 'last-event-without-blank-line',
  summary: 'The last event of a stream lacks the blank line that ends it. The connection closes normally.',
  apply: (_, next, context) =>
    changeStream(next, { ...context, reason: 'the stream does not end with an event' }, async function* (blocks) {
      let blankLine = ''
      for await (const { kind, text } of blocks) {
        const shown = kind === 'comment' ? text : text.replace(/[\r\n]+$/, '')
        yield blankLine + shown
        blankLine = text.slice(shown.length)
      }
      if (blankLine !== '') context.triggered()
    }),
})
