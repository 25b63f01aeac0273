// Google's embeddings, through its model package.
import type { BackendCall } from '../../contract/core/backend.ts'
import { ApiError } from '../../contract/core/error.ts'
import type { Reply } from '../../contract/core/reply.ts'
import type { EmbeddingModel } from '../../providers/model-package.ts'
import { BARE } from './transport.ts'

interface EmbeddingsRequest {
  input: string | string[] | number[] | number[][]
  dimensions?: number | null
  encoding_format?: 'float' | 'base64' | null
}

/** Embeds all inputs, in as many calls as the provider needs. Google returns no token counts, so they are computed here. */
export async function embedThroughSdk(model: EmbeddingModel, call: BackendCall): Promise<Reply> {
  const { input, dimensions, encoding_format: format } = call.request as EmbeddingsRequest
  const texts = typeof input === 'string' ? [input] : input
  if (!texts.every((text) => typeof text === 'string')) {
    throw new ApiError(
      400,
      'unsupported_value',
      "'input' must be a string or strings, not tokens, with this provider",
      {
        param: 'input',
      },
    )
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
