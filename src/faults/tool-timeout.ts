// tool-timeout: a tool returns no result.
import { untilAborted } from '../lib/clock.ts'
import { defineFault } from './define.ts'

/** Tests the time limits of tools: no result arrives until the timeout. */
export const toolTimeout = defineFault({
  type: 'tool-timeout',
  summary: 'A tool of an agent returns no result until its timeout, which is two minutes by default.',
  points: ['tool'],
  options: {},
  example: {},
  apply(_, __, { triggered, signal }) {
    triggered()
    return untilAborted(signal)
  },
})
