// model-not-found: the model no longer exists.
import { defineFault } from './define.ts'
import { refusal, refusalOptions } from './refusal.ts'

/** Tests that a client or the gateway falls back from a retired model instead of repeating the call. */
export const modelNotFound = defineFault({
  type: 'model-not-found',
  summary: 'The model was retired, or the account has no access to it.',
  points: ['provider', 'gateway'],
  options: refusalOptions,
  example: {},
  async apply(options, _, context) {
    context.triggered()
    return refusal(context, { problem: 'model-not-found' }, options)
  },
})
