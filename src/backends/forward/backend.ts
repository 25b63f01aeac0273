// Answers attempts by calling real providers. It is only made when a provider is set to be forwarded to.
import type { Backend, BackendCall, PassingBackend } from '../../contract/core/backend.ts'
import { ApiError } from '../../contract/core/error.ts'
import type { Reply } from '../../contract/core/reply.ts'
import { traceHeaders } from '../../lib/trace-context.ts'
import { apiOf, lackOf, type Upstream } from '../../providers/endpoints.ts'
import { answerCompatible, type CompatibleWay } from './openai-compatible.ts'
import { passOn, type Receive } from './pass.ts'
import { bounded, guarded, MAX_RESPONSE } from './provider-response.ts'
import { addressesOf } from './request.ts'
import { maskedForms, secretFormsOf } from './secret-forms.ts'
import { createSpending, type Spending } from './spending.ts'
import type { Transport } from './transport.ts'

/** Answers from afar, and so never at once. */
interface ForwardBackend extends Backend {
  answer(call: BackendCall): Promise<Reply>
  readonly passing: PassingBackend
}

/** What a backend may do: what is sent is counted in `spending`, and `maxResponse` bytes of a response are read. */
interface ForwardLimits {
  spending?: Spending
  maxResponse?: number
}

/**
 * A backend over the providers that are forwarded to; any other model is refused with 400.
 * @throws ApiError 400 from its calls for a model, key or operation that is not configured
 */
export function forwardBackend(
  providers: readonly Upstream[],
  transport: Transport,
  { spending = createSpending({ calls: undefined, cost: undefined }), maxResponse = MAX_RESPONSE }: ForwardLimits = {},
): ForwardBackend {
  const wayTo = (upstream: Upstream): CompatibleWay => ({
    transport: async (url, init) => guarded(upstream, await transport(url, init), maxResponse),
    addressOf: addressesOf(upstream),
  })
  /** The reply, which knows what must not be kept of it. */
  const redacting = async ({ key }: Upstream, work: Promise<Reply>): Promise<Reply> => {
    const reply = await work
    const secrets = secretFormsOf(key)
    if (secrets.length > 0) reply.redact = (text) => maskedForms(text, secrets)
    return reply
  }
  const byName = new Map(providers.map((upstream) => [upstream.name, upstream]))
  const ways = new Map(providers.map((upstream) => [upstream, wayTo(upstream)]))
  /** Where a call goes; throws `ApiError` when it cannot. */
  const upstreamOf = (call: Pick<BackendCall, 'model' | 'operation'>): Upstream => {
    const upstream = byName.get(providerIn(call.model))
    if (!upstream) throw notForwarded(call.model, byName)
    const lack = lackOf(upstream)
    if (lack) throw new ApiError(400, 'provider_not_configured', lack)
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
      const receive: Receive = async (url, init) => bounded(upstream, await transport(url, init), maxResponse)
      return spending.forward(call, () => redacting(upstream, passOn(upstream, call, request, receive)))
    },
  }
  return {
    passing,
    // No async function: there is a promise already, and every one more that it goes through takes its time.
    answer(call) {
      try {
        const { signal } = call
        if (signal.aborted) signal.throwIfAborted()
        const upstream = upstreamOf(call)
        const { transport, addressOf } = ways.get(upstream) ?? wayTo(upstream)
        const way = { transport: inTraceOf(call, transport), addressOf }
        return spending.forward(call, () => redacting(upstream, answered(upstream, call, way)))
      } catch (error) {
        return Promise.reject(error)
      }
    },
  }
}

/** The transport of a call whose client named a trace: its provider is told of that. */
function inTraceOf({ headers }: BackendCall, transport: Transport): Transport {
  const context = traceHeaders(headers)
  if (!context) return transport
  return (url, init) => {
    const sent = new Headers(init.headers)
    for (const [name, value] of Object.entries(context)) sent.set(name, value)
    return transport(url, { ...init, headers: sent })
  }
}

const providerIn = (model: string) => model.slice(0, model.indexOf('/'))

function answered(upstream: Upstream, call: BackendCall, way: CompatibleWay): Promise<Reply> {
  const { modelPackage } = upstream
  if (!modelPackage) return answerCompatible(upstream, call, way)
  return import('./sdk.ts').then((sdk) => sdk.answerThroughSdk({ ...upstream, modelPackage }, call, way.transport))
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
  const able = providers
    .filter((one) => !lackOf(one) && (one.operations?.includes(operation.name) ?? true))
    .map((one) => one.name)
  const who = able.length > 0 ? `of those forwarded to, ${able.join(', ')} can` : 'none of those forwarded to can'
  return new ApiError(400, 'unsupported_operation', `${name} does not answer ${operation.name}; ${who}`, {
    param: 'model',
  })
}
