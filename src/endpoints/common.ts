// What operations have in common.
import type { Prompt, RenderedAnswer } from '../contract/core/operation.ts'

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

/** A schema of structured output, for examples. */
export const CITY_SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' }, country: { type: 'string' } },
  required: ['city', 'country'],
  additionalProperties: false,
}

/** The parameters of a tool, for examples. */
export const WEATHER_PARAMETERS = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
