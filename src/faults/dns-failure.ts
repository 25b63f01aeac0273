// dns-failure: the provider's host name cannot be resolved.
import { z } from 'zod'
import { ConnectionFailure } from '../contract/core/reply.ts'
import { addressOf } from '../providers/endpoints.ts'
import { defineFault } from './define.ts'

const MESSAGES = { ENOTFOUND: 'was not found', EAI_AGAIN: 'could not be looked up for now' }

/** Tests a provider whose host name does not resolve (ENOTFOUND, EAI_AGAIN). */
export const dnsFailure = defineFault({
  type: 'dns-failure',
  summary: "The provider's host name cannot be resolved.",
  points: ['provider'],
  options: {
    code: z
      .enum(['ENOTFOUND', 'EAI_AGAIN'])
      .default('ENOTFOUND')
      .describe('`ENOTFOUND`: the name does not exist. `EAI_AGAIN`: the lookup fails temporarily.'),
  },
  async apply({ code }, _, { triggered, provider }) {
    triggered()
    throw new ConnectionFailure(`the host name ${addressOf(provider).host} ${MESSAGES[code]} (${code})`)
  },
})
