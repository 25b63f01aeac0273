// tls-failure: the TLS connection cannot be established.
import { z } from 'zod'
import { ConnectionFailure } from '../contract/core/reply.ts'
import { addressOf } from '../providers/endpoints.ts'
import { defineFault } from './define.ts'

const MESSAGES = {
  expired: 'its certificate has expired (CERT_HAS_EXPIRED)',
  'self-signed': 'its certificate is signed by itself (DEPTH_ZERO_SELF_SIGNED_CERT)',
  'wrong-host': 'its certificate is for another host (ERR_TLS_CERT_ALTNAME_INVALID)',
  handshake: 'the handshake failed (EPROTO)',
}

/** Tests a provider whose certificate is rejected or whose TLS handshake fails. */
export const tlsFailure = defineFault({
  type: 'tls-failure',
  summary: 'The TLS connection cannot be established.',
  points: ['provider'],
  options: {
    reason: z
      .enum(['expired', 'self-signed', 'wrong-host', 'handshake'])
      .default('expired')
      .describe('What is wrong with the certificate or the handshake.'),
  },
  async apply({ reason }, _, { triggered, provider }) {
    triggered()
    throw new ConnectionFailure(`TLS connection failed to ${addressOf(provider).host}: ${MESSAGES[reason]}`)
  },
})
