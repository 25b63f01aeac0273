// Anthropic and Google through their model packages, on top of our transport.

import type { BackendCall } from '../../contract/core/backend.ts'
import { ApiError } from '../../contract/core/error.ts'
import { ConnectionFailure, type Reply, Unreadable } from '../../contract/core/reply.ts'
import type { ChatRequest } from '../../contract/router/chat-request.ts'
import type { EmbeddingsRequest } from '../../contract/router/embeddings.ts'
import { asObject, asText } from '../../lib/values.ts'
import type { Upstream } from '../../providers/endpoints.ts'
import type { EmbeddingModel, LanguageModel, ModelPackage, PackageModels } from '../../providers/model-package.ts'
import { modelPath } from '../../providers/model-path.ts'
import { attributed } from '../../providers/request-id.ts'
import { bareModel } from './openai-compatible.ts'
import { completionOf, sdkChunks } from './sdk-answer.ts'
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

/** Embeds all inputs, in as many calls as the provider needs. Google returns no token counts, so they are computed here. */
async function embedThroughSdk(model: EmbeddingModel, call: BackendCall): Promise<Reply> {
  const { input, dimensions, encoding_format: format } = call.request as EmbeddingsRequest
  const texts = typeof input === 'string' ? [input] : input
  if (!texts.every((text) => typeof text === 'string')) {
    const message = "'input' must be a string or strings, not tokens, with this provider"
    throw new ApiError(400, 'unsupported_value', message, { param: 'input' })
  }
  const batchSize = (await model.maxEmbeddingsPerCall) ?? texts.length
  const vectors: number[][] = []
  for (let at = 0; at < texts.length; at += batchSize) {
    const { embeddings } = await model.doEmbed({
      values: texts.slice(at, at + batchSize),
      abortSignal: call.signal,
      ...(dimensions == null ? {} : { dimensions }),
    })
    vectors.push(...embeddings)
  }
  const tokens = call.operation.promptTokens(call.request)
  const usage = { prompt_tokens: tokens, total_tokens: tokens }
  const data = vectors.map((vector, index) => ({
    object: 'embedding',
    index,
    embedding: format === 'base64' ? Buffer.from(new Float32Array(vector).buffer).toString('base64') : vector,
  }))
  return {
    ...BARE,
    status: 200,
    headers: {},
    body: { kind: 'value', value: { object: 'list', data, model: call.model, usage } },
    usage,
  }
}

// Errors of the model packages.

/**
 * The error of a failed call: the signal's reason, a broken connection, an unreadable response if there was one, or 400
 * for a request that the package does not support.
 */
async function sdkFailure(
  error: unknown,
  upstream: Upstream,
  { signal, answered }: { signal: AbortSignal; answered: boolean },
): Promise<unknown> {
  if (signal.aborted) return signal.reason
  if (error instanceof ApiError || error instanceof ConnectionFailure || error instanceof Unreadable) return error
  const broken = networkCause(error)
  if (broken) return connected(upstream, signal, () => Promise.reject(broken)).catch((failure: unknown) => failure)
  // This status was sent inside a stream; our transport handles the status of the response itself.
  if (isCallError(error) && (error.statusCode ?? 0) >= 400) return streamFailure(upstream, error)
  if (answered) return unreadable(upstream, error)
  if (!isPackageError(error)) return error
  return new ApiError(400, 'unsupported_value', `${upstream.name} cannot take this call: ${error.message}`)
}

/** Whether a package threw an error of its own; the names of all of them begin with `AI_`. */
const isPackageError = (error: unknown): error is Error => error instanceof Error && error.name.startsWith('AI_')
/** Whether it is the provider's error, as the package read it. */
const isCallError = (error: unknown): error is Error & { statusCode?: number } =>
  isPackageError(error) && error.name === 'AI_APICallError'

const MAX_SHOWN = 300

/** A package quotes what it received in full, so the message is shortened. */
function unreadable({ name, key }: Upstream, error: unknown): Unreadable {
  const why = withoutKey(error instanceof Error ? error.message : String(error), key)
  const shown = why.length > MAX_SHOWN ? `${why.slice(0, MAX_SHOWN)}...` : why
  return new Unreadable(`the response of ${name} cannot be read: ${shown}`)
}

/** The network error that caused an error. */
function networkCause(error: unknown): unknown {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (/^E[A-Z]+$/.test(String((at as { code?: unknown }).code))) return at
  }
  return undefined
}

const BAD_ANSWER = 502

/** The failure of a stream that the provider aborted or ended early; `sent` are the headers of its response. */
function streamFailure(upstream: Upstream, error: unknown, sent?: Record<string, string>): Error {
  const { name, key } = upstream
  if (error === undefined) return new ConnectionFailure(`${name} ended the stream before the response was complete`)
  if (isPackageError(error) && !isCallError(error)) return unreadable(upstream, error)
  // The package reports the provider's error, with the headers of the whole response.
  const { message, type, statusCode, responseHeaders } = asObject(error) ?? {}
  const headers = keptHeaders(
    new Map(Object.entries(sent ?? (responseHeaders as Record<string, string> | undefined) ?? {})),
  )
  const description = attributed(withoutKey(asText(message) ?? '', key) || 'it broke the stream off', name, headers)
  const isStatus = typeof statusCode === 'number' && statusCode >= 400 && statusCode <= 599
  return new ApiError(isStatus ? statusCode : BAD_ANSWER, asText(type) || 'provider_error', description, { headers })
}
