// tool-timeout: a tool returns no result.
import { neverReplies } from './define.ts'

/** Tests the time limits of tools: no result arrives until the timeout. */
export const toolTimeout = neverReplies({
  type: 'tool-timeout',
  summary: 'A tool of an agent returns no result until its timeout, which is two minutes by default.',
  points: ['tool'],
})
