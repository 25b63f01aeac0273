// Counts the tokens of a message before it is asked for: as the chat completion would count them, or as the provider does.
import { z } from 'zod'
import { ChatRequest } from '../contract/chat-request.ts'
import { asRoute, type Route } from '../contract/route.ts'
import { parseRequest } from '../contract/validation.ts'
import { type BodyLimits, readBody, readJson } from '../endpoints/body.ts'
import { chatCompletions } from '../endpoints/chat-completions.ts'
import { withProviders } from '../endpoints/model-names.ts'
import { streamBytes } from '../faults/wire.ts'
import { asObject, asText } from '../lib/values.ts'
import { AnthropicCountRequest } from './anthropic-asked.ts'
import { countedRequestOf } from './anthropic-request.ts'
import type { DoorDeps } from './types.ts'

const PROVIDER = 'anthropic'

/** `POST /v1/messages/count_tokens`. */
export const countTokensRoute = ({ passing, limits }: Pick<DoorDeps, 'passing' | 'limits'>): Route =>
  asRoute({
    method: 'post',
    path: '/v1/messages/count_tokens',
    operationId: 'anthropicCountTokens',
    tag: "Anthropic's API",
    summary: 'Count the tokens of a message',
    description: 'What the input of a message would be counted with. Messages themselves are at `/v1/messages`.',
    body: AnthropicCountRequest,
    readsBody: true,
    examples: { greeting: { model: 'claude-sonnet-4', messages: [{ role: 'user', content: 'Hello!' }] } },
    response: z.object({ input_tokens: z.int().describe('Tokens of the input.') }),
    async handle({ request }) {
      const { bytes, value } = await jsonOf(request, limits)
      return (await passedCount(request, { bytes, value, passing })) ?? { input_tokens: countIn(value) }
    },
  })

async function jsonOf(request: Request, limits: BodyLimits): Promise<{ bytes: Uint8Array; value: unknown }> {
  const bytes = await readBody(request, limits)
  const read = readJson(bytes, request.headers.get('content-type'))
  if ('refused' in read) throw read.refused
  return { bytes, value: read.value }
}

function countIn(value: unknown): number {
  const { body } = withProviders(countedRequestOf(parseRequest(AnthropicCountRequest, value)), PROVIDER)
  return chatCompletions.promptTokens(parseRequest(ChatRequest, body))
}

/** What the provider counts, where its calls are forwarded; undefined where they are not. */
async function passedCount(
  { url, headers, signal }: Request,
  { bytes, value, passing }: { bytes: Uint8Array; value: unknown } & Pick<DoorDeps, 'passing'>,
): Promise<Response | undefined> {
  const named = asText(asObject(value)?.model)
  if (!passing || !named) return undefined
  const { model } = withProviders({ model: named }, PROVIDER).body as { model: string }
  if (!passing.takes(model, PROVIDER)) return undefined
  const sent = model.slice(model.indexOf('/') + 1)
  const { pathname, search } = new URL(url)
  const path = `${pathname.replace(/^\/v1(?=\/)/, '')}${search}`
  const call = { model, operation: chatCompletions, signal }
  const reply = await passing.pass(call, { api: PROVIDER, path, headers, body: bytes, model: { named, sent } })
  const { bytes: body, contentType } = streamBytes(reply)
  return new Response(body as BodyInit, {
    status: reply.status,
    headers: { ...reply.headers, ...(contentType && { 'content-type': contentType }) },
  })
}
