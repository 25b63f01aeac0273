// Error replies of faults: in the provider's format to the gateway, and in the format of the called API to the client.
import { z } from 'zod'
import { envelope } from '../contract/core/error.ts'
import type { FaultContext, FaultKind } from '../contract/core/fault.ts'
import { jsonReply, type Reply } from '../contract/core/reply.ts'
import { ResponseHeaders } from '../contract/core/response-headers.ts'
import { lowerCaseNames } from '../lib/header-text.ts'
import type { ErrorShape, ProviderRefusal } from '../providers/error-messages.ts'
import { providerNamed } from '../providers/index.ts'
import { PLACE } from './change.ts'
import { defineFault } from './define.ts'

/** Options of all faults that reply with an error. */
export const refusalOptions = {
  message: z.string().optional().describe('Replaces the default message.'),
  headers: ResponseHeaders.optional().describe('Additional headers.'),
  shape: z
    .enum(['provider', 'gateway'])
    .optional()
    .describe(
      "Format of the error body. Default: the provider's for calls through the gateway, and otherwise that of the called API.",
    ),
}

/** The status of an error: a number, or what the provider that is called sends when it is overloaded. */
export const errorStatus = z
  .union([z.int().min(400).max(599), z.literal('overloaded')], {
    error: "must be a status from 400 to 599, or 'overloaded'",
  })
  .describe(
    'The status, or `overloaded`: the status and error body of the provider that is called when it is overloaded, such as 529 at Anthropic and 503 at OpenAI.',
  )

/** Options of faults that put an error into a stream. */
export const streamErrorOptions = {
  ...PLACE,
  status: errorStatus.default(500).describe('The HTTP status that the error stands for, or `overloaded`.'),
  message: refusalOptions.message,
  shape: refusalOptions.shape,
}

/** The problem that the `status` of a rule stands for. */
export const problemOf = (status: z.infer<typeof errorStatus>) =>
  status === 'overloaded' ? ({ problem: 'overloaded' } as const) : ({ problem: 'status', status } as const)

type Shape = 'provider' | 'gateway' | undefined

/** The provider whose error format a fault uses. Empty for the gateway's own format. */
export const errorFormatOf = ({ at, provider, direct, words = '' }: FaultContext, shape: Shape): string => {
  const defaultShape = at === 'provider' && !direct ? 'provider' : 'gateway'
  return (shape ?? defaultShape) === 'provider' ? provider : words
}

/** Options of a rule for an error reply. */
export interface RefusalOptions {
  message?: string | undefined
  headers?: Record<string, string> | undefined
  shape?: Shape
}
type About = Omit<ProviderRefusal, 'model' | 'id' | 'message'>

/** Creates the error reply of a provider or the gateway. */
export function refusal(context: FaultContext, about: About, options: RefusalOptions): Reply {
  const { status, headers, body } = errorShape(context, about, options)
  return jsonReply(status, body, { ...headers, ...lowerCaseNames(options.headers) })
}

/** Defines a fault type that always rejects the call, with the error of its name. */
export const rejects = (type: 'auth-failure' | 'model-not-found' | 'quota-exceeded', summary: string): FaultKind =>
  defineFault({
    type,
    summary,
    options: refusalOptions,
    async apply(options, _, context) {
      context.triggered()
      return refusal(context, { problem: type }, options)
    },
  })

/** The error body in the format of the gateway. */
export function ownError(context: FaultContext, about: About, options: RefusalOptions): ReturnType<typeof envelope> {
  const { status, body } = shapeOf('', context, { about, options })
  const { message, param, code, type } = body.error as Record<'message' | 'param' | 'code' | 'type', string>
  return envelope({ status, message, param, code: code ?? type })
}

/** The error in the format of the provider or the gateway. */
export function errorShape(context: FaultContext, about: About, options: RefusalOptions): ErrorShape {
  const provider = errorFormatOf(context, options.shape)
  const shape = shapeOf(provider, context, { about, options })
  return provider === '' ? { ...shape, headers: {}, body: ownError(context, about, options) } : shape
}

function shapeOf(
  provider: string,
  { model, random }: FaultContext,
  { about, options }: { about: About; options: RefusalOptions },
): ErrorShape {
  const name = model.slice(model.indexOf('/') + 1)
  return providerNamed(provider).error({ ...about, message: options.message, model: name, id: requestId(random) })
}

const requestId = (random: FaultContext['random']): string =>
  ['first', 'second']
    .map((half) =>
      Math.floor(random(`${half} half of the request id`) * 2 ** 48)
        .toString(16)
        .padStart(12, '0'),
    )
    .join('')
