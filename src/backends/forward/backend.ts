// Responds to attempts by calling real providers. Created only when a provider is configured for forwarding.
import type { Backend, BackendCall, PassedCall, PassingBackend } from '../../contract/core/backend.ts'
import { MEANING_HEADERS } from '../../contract/core/cassette.ts'
import { ApiError } from '../../contract/core/error.ts'
import type { Reply } from '../../contract/core/reply.ts'
import { secretFormsOf } from '../../lib/secret-forms.ts'
import { traceHeaders } from '../../lib/trace-context.ts'
import { apiOf, missingSetting, type Upstream } from '../../providers/endpoints.ts'
import { answerCompatible, type CompatibleRoute } from './openai-compatible.ts'
import { passOn, type Receive } from './pass.ts'
import { bounded, guarded, MAX_RESPONSE } from './provider-response.ts'
import { addressesOf, bareModel } from './request.ts'
import { maskedForms } from './secret-forms.ts'
import { createSpending, type Spending } from './spending.ts'
import type { Send, SentAttempt, Transport } from './transport.ts'

/** A backend whose response is always asynchronous. */
interface ForwardBackend extends Backend {
  answer(call: BackendCall): Promise<Reply>
  readonly passing: PassingBackend
}

/** Limits of a backend: `spending` counts what is sent, and at most `maxResponse` bytes of a response are read. */
interface ForwardLimits {
  spending?: Spending
  maxResponse?: number
}

/** Creates a backend for the providers to forward to; any other model is rejected with 400. */
export function forwardBackend(
  providers: readonly Upstream[],
  transport: Transport,
  { spending = createSpending({ calls: undefined, cost: undefined }), maxResponse = MAX_RESPONSE }: ForwardLimits = {},
): ForwardBackend {
  /** The reply, with a function that removes the provider's key from texts to be stored. */
  const redacting = async ({ key }: Upstream, work: Promise<Reply>): Promise<Reply> => {
    const reply = await work
    const secrets = secretFormsOf(key)
    if (secrets.length > 0) reply.redact = (text) => maskedForms(text, secrets)
    return reply
  }
  const byName = new Map(providers.map((upstream) => [upstream.name, upstream]))
  const addresses = new Map(providers.map((upstream) => [upstream, addressesOf(upstream)]))
  /** The provider of a call; throws `ApiError` when it cannot be called. */
  const upstreamOf = (call: Pick<BackendCall, 'model' | 'operation'>): Upstream => {
    const upstream = byName.get(providerIn(call.model))
    if (!upstream) throw notForwarded(call.model, byName)
    const problem = missingSetting(upstream)
    if (problem) throw new ApiError(400, 'provider_not_configured', problem)
    if (upstream.operations && !upstream.operations.includes(call.operation.name)) {
      throw unsupported(upstream, call, providers)
    }
    return upstream
  }
  const passing: PassingBackend = {
    takes(model, api) {
      const upstream = byName.get(providerIn(model))
      return upstream !== undefined && apiOf(upstream) === api
    },
    async pass(call, request) {
      if (call.signal.aborted) call.signal.throwIfAborted()
      const upstream = upstreamOf(call)
      const sent = attemptOf(upstream, call)
      const receive: Receive = async (url, init) => bounded(upstream, await transport(url, init, sent), maxResponse)
      return spending.forward(call, () => redacting(upstream, passOn(upstream, call, request, receive)))
    },
  }
  return {
    passing,
    // Not an async function, since every additional promise takes time.
    answer(call) {
      try {
        const { signal } = call
        if (signal.aborted) signal.throwIfAborted()
        const upstream = upstreamOf(call)
        const sent = attemptOf(upstream, call)
        const added = addedHeaders(upstream, call)
        const send: Send = async (url, init) =>
          guarded(upstream, await transport(url, added ? withHeaders(init, added) : init, sent), maxResponse)
        const route = { send, addressOf: addresses.get(upstream) ?? addressesOf(upstream) }
        return spending.forward(call, () => redacting(upstream, answered(upstream, call, route)))
      } catch (error) {
        return Promise.reject(error)
      }
    },
  }
}

const attemptOf = (
  { name: provider }: Upstream,
  { operation, model, session, clock, signal, expire, isFaulty }: PassedCall,
): SentAttempt => ({
  ...{ provider, operation: operation.name, model: bareModel(model) },
  ...{ session, clock, signal, expire, isFaulty },
})

/** The headers of a client that its provider receives: those of its trace, and those that change what a request means. */
function addedHeaders(upstream: Upstream, { headers }: BackendCall): Record<string, string> | undefined {
  let added = traceHeaders(headers)
  for (const name of MEANING_HEADERS) {
    const value = headers?.get(name)
    if (value && name.startsWith(`${apiOf(upstream)}-`)) added = { ...added, [name]: value }
  }
  return added
}

/** A list, to which packages add their own items. */
const LISTS = /-beta$/
const joined = (own: string, value: string) =>
  [...new Set(`${own},${value}`.split(',').map((one) => one.trim()))].join(',')

function withHeaders(init: RequestInit, added: Readonly<Record<string, string>>): RequestInit {
  const headers = new Headers(init.headers)
  for (const [name, value] of Object.entries(added)) {
    const own = LISTS.test(name) ? headers.get(name) : null
    headers.set(name, own === null ? value : joined(own, value))
  }
  return { ...init, headers }
}

const providerIn = (model: string) => model.slice(0, model.indexOf('/'))

function answered(upstream: Upstream, call: BackendCall, route: CompatibleRoute): Promise<Reply> {
  const { modelPackage } = upstream
  if (!modelPackage) return answerCompatible(upstream, call, route)
  return import('./sdk.ts').then((sdk) => sdk.answerThroughSdk({ ...upstream, modelPackage }, call, route.send))
}

const notForwarded = (model: string, byName: ReadonlyMap<string, Upstream>) =>
  new ApiError(
    400,
    'provider_not_forwarded',
    `calls to ${JSON.stringify(model)} are not forwarded: its provider is not one of ${[...byName.keys()].join(', ')}`,
    { param: 'model' },
  )

function unsupported(
  { name }: Upstream,
  { operation }: Pick<BackendCall, 'operation'>,
  providers: readonly Upstream[],
): ApiError {
  const supporting = providers
    .filter((one) => !missingSetting(one) && (one.operations?.includes(operation.name) ?? true))
    .map((one) => one.name)
  const hint =
    supporting.length > 0 ? `of those forwarded to, ${supporting.join(', ')} can` : 'none of those forwarded to can'
  return new ApiError(400, 'unsupported_operation', `${name} does not support ${operation.name}; ${hint}`, {
    param: 'model',
  })
}
