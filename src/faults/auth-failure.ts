// auth-failure: the API key is rejected.
import { defineFault } from './define.ts'
import { refusal, refusalOptions } from './refusal.ts'

/** Tests that a client does not repeat a call whose API key is rejected. */
export const authFailure = defineFault({
  type: 'auth-failure',
  summary: 'The API key is invalid, expired, or revoked.',
  points: ['provider', 'gateway'],
  options: refusalOptions,
  example: {},
  async apply(options, _, context) {
    context.triggered()
    return refusal(context, { problem: 'auth-failure' }, options)
  },
})
