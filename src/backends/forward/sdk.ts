// Anthropic and Google through their model packages, on top of our transport.
import type { BackendCall } from '../../contract/core/backend.ts'
import { type Reply, Unreadable } from '../../contract/core/reply.ts'
import type { ChatRequest } from '../../contract/router/chat-request.ts'
import type { Upstream } from '../../providers/endpoints.ts'
import type { LanguageModel, ModelPackage, PackageModels } from '../../providers/model-package.ts'
import { modelPath } from '../../providers/model-path.ts'
import { bareModel } from './request.ts'
import { completionOf, sdkChunks } from './sdk-answer.ts'
import { embedThroughSdk } from './sdk-embeddings.ts'
import { sdkFailure, streamFailure } from './sdk-errors.ts'
import { callOptions } from './sdk-prompt.ts'
import { BARE, connected, errorReply, keptHeaders, withoutKey } from './transport.ts'

/** A provider with a model package. */
type PackagedUpstream = Upstream & { modelPackage: ModelPackage }

/** Sends a request of one attempt. */
type Send = (url: string, init: RequestInit) => Promise<Response>

/** Carries a provider's error reply through a package. */
class ProviderErrorReply extends Error {
  readonly reply: Reply
  constructor(reply: Reply) {
    super('refused')
    this.reply = reply
  }
}

/** Forwards one attempt for an operation that the provider has. */
export async function answerThroughSdk(upstream: PackagedUpstream, call: BackendCall, send: Send): Promise<Reply> {
  // Before the provider has responded, an error of the package is one of the call or of ours; afterwards, one of the
  // response.
  let answered = false
  const observed: Send = async (url, init) => {
    const response = await send(url, init)
    answered = true
    return response
  }
  try {
    const models = await modelsOf(upstream, call, observed)
    const id = upstream.modelPackage.modelsInPaths ? modelPath(bareModel(call.model)) : bareModel(call.model)
    if (call.operation.name === 'embeddings') return await embedThroughSdk(models.embeddingModel(id), call)
    return await chat(models.languageModel(id), upstream, call)
  } catch (error) {
    if (error instanceof ProviderErrorReply) return error.reply
    throw await sdkFailure(error, upstream, { signal: call.signal, answered })
  }
}

async function modelsOf(
  upstream: PackagedUpstream,
  { answerContext, signal }: BackendCall,
  send: Send,
): Promise<PackageModels> {
  let ids = 0
  const settings = {
    baseURL: upstream.baseUrl ?? '',
    apiKey: upstream.key ?? '',
    generateId: () => `call_${answerContext.id}_${ids++}`,
    fetch: (async (url: string | URL | Request, init: RequestInit = {}) => {
      const response = await connected(upstream, signal, () => send(String(url), init))
      if (!response.ok) throw new ProviderErrorReply(await errorReply(upstream, response, signal))
      return response
    }) as typeof fetch,
  }
  return upstream.modelPackage.connect(settings)
}

async function chat(model: LanguageModel, upstream: PackagedUpstream, call: BackendCall): Promise<Reply> {
  const request = call.request as ChatRequest
  const { answerContext, signal } = call
  const { modelPackage } = upstream
  const framing = {
    modelPackage,

    id: `chatcmpl-${answerContext.id}`,
    created: Math.floor(answerContext.now / 1000),
    model: call.model,
  }
  const options = { ...callOptions(request, modelPackage), abortSignal: signal }
  if (!call.stream) {
    const result = await model.doGenerate(options)
    const value = completionOf(result, framing)
    if (!value) {
      const reason = withoutKey(String(result.finishReason.raw ?? 'it gave no reason'), upstream.key)
      throw new Unreadable(`${upstream.name} did not complete its response: ${reason}`)
    }
    return {
      ...BARE,
      status: 200,
      headers: headersOf(result.response),
      body: { kind: 'value', value },
      usage: value.usage,
    }
  }
  const { stream, response } = await model.doStream(options)
  const reply: Reply = { ...BARE, status: 200, headers: headersOf(response), body: { kind: 'events', events: [] } }
  const chunks = sdkChunks(stream, {
    ...framing,
    includeUsage: request.stream_options?.include_usage === true,
    counted(usage) {
      reply.usage = usage
    },
    failure: (error) => streamFailure(upstream, error, response?.headers),
  })
  reply.body = { kind: 'events', events: failing(chunks, upstream, call) }
  return reply
}

/** The items; errors are converted. */
async function* failing<T>(items: AsyncIterable<T>, upstream: Upstream, call: BackendCall): AsyncGenerator<T> {
  try {
    yield* items
  } catch (error) {
    throw await sdkFailure(error, upstream, { signal: call.signal, answered: true })
  }
}

function headersOf(response: { headers?: Record<string, string> } | undefined): Record<string, string> {
  const { 'content-type': _, ...headers } = keptHeaders(new Map(Object.entries(response?.headers ?? {})))
  return headers
}
