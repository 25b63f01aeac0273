// last-event-without-blank-line: a stream ends directly after the data of its last event.
import { changeStream } from './change.ts'
import { defineFault } from './define.ts'

/** Tests that a client handles a last event that its parser never completes. */
export const lastEventWithoutBlankLine = defineFault({
  type: 'last-event-without-blank-line',
  summary: 'The last event of a stream lacks the blank line that ends it. The connection closes normally.',
  apply: (_, next, context) =>
    changeStream(next, { ...context, reason: 'the stream has no event' }, async function* (blocks) {
      let pending = ''
      for await (const { kind, text } of blocks) {
        if (kind === 'comment') yield text
        else {
          if (pending !== '') yield pending
          pending = text
        }
      }
      if (pending === '') return
      context.triggered()
      yield pending.trimEnd()
    }),
})
