// quota-exceeded: the quota or credit of the account is exhausted, so waiting does not help.
import { defineFault } from './define.ts'
import { refusal, refusalOptions } from './refusal.ts'

/** Tests that a client does not retry when the account has no quota left, although the status may be 429 (OpenAI). */
export const quotaExceeded = defineFault({
  type: 'quota-exceeded',
  summary: 'The quota or credit of the account is exhausted.',
  points: ['provider', 'gateway'],
  options: refusalOptions,
  example: {},
  async apply(options, _, context) {
    context.triggered()
    return refusal(context, { problem: 'quota-exceeded' }, options)
  },
})
