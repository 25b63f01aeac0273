// tool-truncated: the response ends in the middle of a tool call's arguments.
import { z } from 'zod'
import { changeToolCalls } from './answer-tools.ts'
import { defineFault } from './define.ts'

/** Tests that an agent does not run a tool with incomplete arguments. */
export const toolTruncated = defineFault({
  type: 'tool-truncated',
  summary: 'The arguments of the last tool call end in the middle, so that they are not JSON.',
  inAnswer: true,
  options: {
    finish: z
      .enum(['length', 'tool_calls'])
      .default('length')
      .describe(
        'Whether the response says that it was cut off (`length`, `max_tokens`, or status `incomplete`) or ends as if the call were complete.',
      ),
  },
  apply: ({ finish }, next, context) =>
    changeToolCalls(next, context, {
      end: finish,
      change: (call, isLast) => [isLast ? { ...call, arguments: half(call.arguments) } : call],
    }),
})

/** The first half of a JSON object: at least its opening brace, and never valid JSON. */
const half = (json: string): string => {
  const text = json.trim()
  return text.slice(0, Math.max(1, text.length >> 1)).replace(/[\ud800-\udbff]$/, '') || '{'
}
