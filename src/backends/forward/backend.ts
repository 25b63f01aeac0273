// Responds to attempts by calling real providers. Created only when a provider is configured for forwarding.

import type { Backend, BackendCall, PassedCall } from '../../contract/core/backend.ts'
import { HEADER_LISTS, MEANING_HEADERS } from '../../contract/core/cassette.ts'
import { ApiError, PROVIDER_NOT_CONFIGURED, PROVIDER_NOT_FORWARDED } from '../../contract/core/error.ts'
import type { Reply } from '../../contract/core/reply.ts'
import { secretFormsOf } from '../../lib/secret-forms.ts'
import { traceHeaders } from '../../lib/trace-context.ts'
import { apiOf, missingSetting, type Upstream } from '../../providers/endpoints.ts'
import { addressesOf, answerCompatible, bareModel, type UpstreamRoute } from './openai-compatible.ts'
import { passedAddressesOf, passOn } from './pass.ts'
import { bounded, guarded, MAX_RESPONSE } from './provider-response.ts'
import { createSpending, type Spending } from './spending.ts'
import { maskedForms, type Received, type SentAttempt, type Transport, unconnected } from './transport.ts'

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
): Backend {
  /** The reply, with a function that removes the provider's key from texts to be stored. */
  const redacting = ({ key }: Upstream, work: Promise<Reply>): Promise<Reply> => {
    const secrets = secretFormsOf(key)
    if (secrets.length === 0) return work
    return work.then((reply) => {
      reply.redact = (text) => maskedForms(text, secrets)
      return reply
    })
  }
  const routes = new Map(
    providers.map((upstream) => [
      upstream.name,
      { upstream, addressOf: addressesOf(upstream), passedAddressOf: passedAddressesOf(upstream) },
    ]),
  )
  const routeOf = (model: string) => routes.get(model.slice(0, model.indexOf('/')))
  /** The way of a call to its provider; throws `ApiError` when it cannot be called. */
  const checkedRoute = (call: Pick<BackendCall, 'model' | 'operation'>) => {
    const route = routeOf(call.model)
    if (!route) throw notForwarded(call.model, [...routes.keys()])
    const { upstream } = route
    const problem = missingSetting(upstream)
    if (problem) throw new ApiError(400, PROVIDER_NOT_CONFIGURED, problem)
    if (upstream.operations && !upstream.operations.includes(call.operation.name)) {
      throw unsupported(upstream, call, providers)
    }
    return route
  }
  /** Forwards a call on its way. Not an async function, since every additional promise takes time. */
  const forward = (call: PassedCall, reply: (route: ReturnType<typeof checkedRoute>, send: Send) => Promise<Reply>) => {
    try {
      if (call.signal.aborted) call.signal.throwIfAborted()
      const route = checkedRoute(call)
      const { upstream } = route
      const sent = attemptOf(upstream, call)
      const send: Send = (url, init) => transport(url, init, sent)
      return spending.forward(call, () => redacting(upstream, reply(route, send)))
    } catch (error) {
      return Promise.reject(error)
    }
  }
  const receiver =
    (upstream: Upstream, { signal }: PassedCall, send: Send): UpstreamRoute['receive'] =>
    async (url, init) => {
      try {
        return bounded(upstream, await send(url, init), maxResponse)
      } catch (error) {
        throw unconnected(upstream, signal, error)
      }
    }
  return {
    passing: {
      takes(model, api) {
        const route = routeOf(model)
        return route !== undefined && apiOf(route.upstream) === api && model.indexOf('/') < model.length - 1
      },
      pass: (call, request) =>
        forward(call, ({ upstream, passedAddressOf: addressOf }, send) => {
          return passOn(upstream, call, request, { receive: receiver(upstream, call, send), addressOf })
        }),
    },
    answer: (call) =>
      forward(call, ({ upstream, addressOf }, sendBare) => {
        const { modelPackage } = upstream
        const added = addedHeaders(upstream, call)
        const send: Send = added ? (url, init) => sendBare(url, withHeaders(init, added)) : sendBare
        if (modelPackage) {
          const respond = async (url: string, init: RequestInit) =>
            guarded(upstream, await send(url, init), maxResponse)
          return import('./sdk.ts').then((sdk) => sdk.answerThroughSdk({ ...upstream, modelPackage }, call, respond))
        }
        return answerCompatible(upstream, call, { receive: receiver(upstream, call, send), addressOf })
      }),
  }
}

type Send = (url: string, init: RequestInit) => Promise<Received>

const attemptOf = (
  { name: provider }: Upstream,
  { operation, model, session, clock, signal, expire, isFaulty }: PassedCall,
): SentAttempt => ({
  provider,
  operation: operation.name,
  model: bareModel(model),
  session,
  clock,
  signal,
  expire,
  isFaulty,
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

const joined = (own: string, value: string) =>
  [...new Set(`${own},${value}`.split(',').map((one) => one.trim()))].join(',')

function withHeaders(init: RequestInit, added: Readonly<Record<string, string>>): RequestInit {
  const headers = new Headers(init.headers)
  for (const [name, value] of Object.entries(added)) {
    const own = HEADER_LISTS.test(name) ? headers.get(name) : null
    headers.set(name, own === null ? value : joined(own, value))
  }
  return { ...init, headers }
}

function notForwarded(model: string, names: readonly string[]): ApiError {
  const message = `calls to ${JSON.stringify(model)} are not forwarded: its provider is not one of ${names.join(', ')}`
  return new ApiError(400, PROVIDER_NOT_FORWARDED, message, { param: 'model' })
}

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
  const message = `${name} does not support ${operation.name}; ${hint}`
  return new ApiError(400, 'unsupported_operation', message, { param: 'model' })
}
