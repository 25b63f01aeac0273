// tool-duplicate: the model makes the same tool call twice.
import { z } from 'zod'
import { fingerprint } from '../lib/ids.ts'
import { changeToolCalls } from './answer-tools.ts'
import { defineFault } from './define.ts'

/** Tests that an agent does not run one tool call twice. */
export const toolDuplicate = defineFault({
  type: 'tool-duplicate',
  summary: 'Each tool call is in the response twice, with the same arguments.',
  inAnswer: true,
  options: {
    // Both are known bugs: models write equal calls with separate ids, and servers repeat a call with its id.
    id: z
      .enum(['new', 'same'])
      .default('new')
      .describe(
        'Id of the second call. `new`: its own, as when the model writes the call twice. `same`: that of the first, as some servers send it.',
      ),
  },
  apply: ({ id }, next, context) =>
    changeToolCalls(next, context, {
      change: (call) => [call, id === 'same' ? call : { ...call, id: `call_${fingerprint(`copy of ${call.id}`)}` }],
    }),
})
