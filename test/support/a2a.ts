// Agents over A2A on a server that listens, met by its own client in both versions of the protocol, or by hand.
import { type Message, Role, type StreamResponse, type Task } from '@a2a-js/sdk'
import { type Client, ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver } from '@a2a-js/sdk/client'
import { LegacyJsonRpcTransport } from '@a2a-js/sdk/compat/v0_3/client'
import { agentSession, type ModelTurn } from './agents.ts'
import { createTestApp } from './app.ts'
import type { Json } from './workspace.ts'

/** A server that listens, and the agents on it. */
export function a2aServer() {
  const app = createTestApp()
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch: (request) => app.understudy.app.fetch(request),
  })
  const origin = `http://127.0.0.1:${server.port}`

  /** A session with one agent, and its address. */
  async function served(turns: readonly ModelTurn[], fields: Json = {}, name?: string) {
    const one = agentSession(app, {}, name)
    await one.begin(turns)
    await one.agent(fields)
    return { one, url: `${origin}/s/${one.name}/a2a/helper` }
  }

  /** A session with one agent, and the library's client of a version of the protocol. */
  async function met(version: '1.0' | '0.3', ...given: Parameters<typeof served>) {
    const { one, url } = await served(...given)
    const card = await new DefaultAgentCardResolver().resolve(`${url}/`)
    const usual = new ClientFactory()
    const legacy = new ClientFactory(
      ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
        transports: [
          {
            protocolName: 'JSONRPC',
            create: async (endpoint: string) => new LegacyJsonRpcTransport({ endpoint }),
          },
        ],
      }),
    )
    const client: Client = await (version === '1.0' ? usual : legacy).createFromAgentCard(card)
    if (!client.protocolVersion.startsWith(version)) throw new Error(`a client of ${client.protocolVersion}`)
    return { one, url, card, client }
  }

  return {
    origin,
    served,
    met,
    async close() {
      await server.stop(true)
      await app.close()
    },
  }
}

let messages = 0
/** What a user says. */
export const says = (text: string, more: Partial<Message> = {}, configuration: Json = {}) => ({
  tenant: '',
  message: {
    messageId: `message-${++messages}`,
    contextId: '',
    taskId: '',
    role: Role.ROLE_USER,
    parts: [
      { content: { $case: 'text' as const, value: text }, metadata: undefined, filename: '', mediaType: 'text/plain' },
    ],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
    ...more,
  },
  configuration: {
    acceptedOutputModes: [],
    taskPushNotificationConfig: undefined,
    returnImmediately: false,
    ...configuration,
  },
  metadata: undefined,
})

/** The text of parts. */
export const textOf = (said: Pick<Message, 'parts'> | undefined) =>
  said?.parts.map(({ content }) => (content?.$case === 'text' ? content.value : content?.$case)).join(' ')
export const asTask = (result: Message | Task): Task => {
  if (!('status' in result)) throw new Error('a message came in place of a task')
  return result
}
export const kindsOf = (events: readonly StreamResponse[]) => events.map(({ payload }) => payload?.$case)
export const everything = async (stream: AsyncIterable<StreamResponse>) => Array.fromAsync(stream)
export const code = async (work: Promise<unknown>): Promise<unknown> => {
  try {
    await work
  } catch (error) {
    return (error as { envelopeCode?: number }).envelopeCode ?? error
  }
  return 'no error'
}

/** Calls an agent by hand. */
export async function call(url: string, body: unknown, headers: Record<string, string> = {}) {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: answer.status, body: (await answer.json()) as Json & { error?: { code: number; message: string } } }
}
export const v1 = { 'a2a-version': '1.0' }
export const rpc = (method: string, params: unknown = {}) => ({ jsonrpc: '2.0', id: 7, method, params })
