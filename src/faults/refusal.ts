// A refusal as a reply: in the provider's own words where the gateway hears it, in this API's where the client does.
import { z } from 'zod'
import { envelope } from '../contract/core/error.ts'
import type { FaultContext } from '../contract/core/fault.ts'
import { jsonReply, type Reply } from '../contract/core/reply.ts'
import type { ProviderRefusal } from '../providers/error-messages.ts'
import { providerNamed } from '../providers/index.ts'

/** What every refusal may be given instead of its own. */
export const refusalOptions = {
  message: z.string().optional().describe('Replaces the default message.'),
  headers: z.record(z.string(), z.string()).optional().describe('Additional headers.'),
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

/** What a rule's `status` stands for. */
export const problemOf = (status: z.infer<typeof errorStatus>) =>
  status === 'overloaded' ? ({ problem: 'overloaded' } as const) : ({ problem: 'status', status } as const)

type Shape = 'provider' | 'gateway' | undefined

/** The provider in whose words a fault speaks; empty when they are those of this API. */
export const speaker = ({ at, provider, direct, words = '' }: FaultContext, shape: Shape): string => {
  const usual = at === 'provider' && !direct ? 'provider' : 'gateway'
  return (shape ?? usual) === 'provider' ? provider : words
}

/** What a rule says of a refusal. */
export interface RefusalOptions {
  message?: string | undefined
  headers?: Record<string, string> | undefined
  shape?: Shape
}
type About = Omit<ProviderRefusal, 'model' | 'id' | 'message'>

/** The reply of one that refuses. */
export function refusal(context: FaultContext, about: About, given: RefusalOptions): Reply {
  const more = lowerCase(given.headers)
  const provider = speaker(context, given.shape)
  const shaped = shapeOf(provider, context, { about, given })
  if (provider === '') return jsonReply(shaped.status, ownError(context, about, given), more)
  return jsonReply(shaped.status, shaped.body, { ...shaped.headers, ...more })
}

/** The body of a refusal in the words of this API. */
export function ownError(context: FaultContext, about: About, given: RefusalOptions): ReturnType<typeof envelope> {
  const { status, body } = shapeOf('', context, { about, given })
  const { message, param, code, type } = body.error as Record<'message' | 'param' | 'code' | 'type', string>
  return envelope({ status, message, param, code: code ?? type })
}

/** The body of a refusal in the words of who speaks. */
export const errorBody = (context: FaultContext, about: About, given: RefusalOptions): object => {
  const provider = speaker(context, given.shape)
  return provider === '' ? ownError(context, about, given) : shapeOf(provider, context, { about, given }).body
}

function shapeOf(
  provider: string,
  { model, luck }: FaultContext,
  { about, given }: { about: About; given: RefusalOptions },
) {
  const name = model.slice(model.indexOf('/') + 1)
  return providerNamed(provider).error({ ...about, message: given.message, model: name, id: requestId(luck) })
}

/** The same headers under names in lower case. */
export const lowerCase = (headers: Record<string, string> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

const requestId = (luck: FaultContext['luck']): string =>
  ['first', 'second']
    .map((half) =>
      Math.floor(luck(`${half} half of the request id`) * 2 ** 48)
        .toString(16)
        .padStart(12, '0'),
    )
    .join('')
