// connection-refused: no server listens at the provider's address.
import { ConnectionFailure } from '../contract/core/reply.ts'
import { addressOf } from '../providers/endpoints.ts'
import { defineFault } from './define.ts'

/** Tests that a client or the gateway survives a provider that accepts no connections (ECONNREFUSED). */
export const connectionRefused = defineFault({
  type: 'connection-refused',
  summary: 'The connection is refused because no server listens on the port.',
  points: ['provider'],
  async apply(_, __, { triggered, provider }) {
    triggered()
    const { host, port } = addressOf(provider)
    throw new ConnectionFailure(`the connection to ${host}:${port} was refused (ECONNREFUSED)`)
  },
})
