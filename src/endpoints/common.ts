// What operations have in common.
import type { Prompt, RenderedAnswer } from '../contract/core/operation.ts'
import type { ChatRequest } from '../contract/router/chat-request.ts'

const common = { tag: 'Router', body: 'json', model: (request: { model: string }): string => request.model } as const

/** An operation with a JSON body that never streams, and responds without a fixture from the request alone. */
export const wholeOperation = { ...common, streams: (): boolean => false, generate: () => ({}) } as const

/** An operation with a JSON body that streams on request. */
export const streamedOperation = {
  ...common,
  streams: ({ stream }: { stream?: boolean | null | undefined }): boolean => stream === true,
} as const

/** The prompt of an operation without a conversation. */
export const userPrompt = (user: string, more?: Partial<Prompt>): Prompt => ({
  system: '',
  user,
  turn: 1,
  tools: [],
  toolResult: false,
  ...more,
})

/** A response without a stream. */
export const wholeAnswer = (usage: RenderedAnswer['usage'], body: () => unknown, tokens = 0): RenderedAnswer => ({
  usage,
  tokens,
  events: () => [],
  body,
})

type Thinking = ChatRequest['thinking']

/** The requested reasoning effort, or else that of `byDefault`; undefined for no reasoning. */
export function requestedEffort(
  effort: string | null | undefined,
  thinking: Thinking,
  byDefault: () => string | undefined,
): string | undefined {
  if (effort === 'none' || thinking?.type === 'disabled') return undefined
  if (effort) return effort
  if (thinking?.type === 'enabled') return thinking.thinking_level ?? 'medium'
  return thinking ? 'medium' : byDefault()
}

/** Maximum number of reasoning tokens: 0 for no reasoning, undefined for no limit. */
export function reasoningLimit(effort: string | null | undefined, thinking: Thinking): number | undefined {
  if (effort === 'none' || thinking?.type === 'disabled') return 0
  return thinking?.type === 'enabled' ? thinking.budget_tokens : undefined
}

/** The kind of response that a tool choice and a format demand. */
export function demandedAnswer(choice: unknown, format: { type: string } | null | undefined): Prompt['answer'] {
  if (choice === 'required' || typeof choice === 'object') return 'tool'
  return format && format.type !== 'text' ? 'json' : 'text'
}

/** A schema of structured output, for examples. */
export const CITY_SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' }, country: { type: 'string' } },
  required: ['city', 'country'],
  additionalProperties: false,
}

/** The parameters of a tool, for examples. */
export const WEATHER_PARAMETERS = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
