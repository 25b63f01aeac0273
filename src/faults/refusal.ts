// A refusal as a reply: in the provider's own words where the gateway hears it, in this API's where the client does.
import { z } from 'zod'
import { envelope } from '../contract/error.ts'
import type { FaultContext } from '../contract/fault.ts'
import type { Reply } from '../contract/reply.ts'
import { errorShape } from '../providers/error-shapes.ts'
import type { Refused } from '../providers/error-words.ts'
import { jsonReply } from './define.ts'

/** What every refusal may be given instead of its own. */
export const refusalOptions = {
  message: z.string().optional().describe('Instead of the usual message.'),
  headers: z.record(z.string(), z.string()).optional().describe('Headers beside the usual ones.'),
  shape: z
    .enum(['provider', 'gateway'])
    .optional()
    .describe("Whose error body it has: the provider's where the gateway hears it, else this API's."),
}

type Shape = 'provider' | 'gateway' | undefined

/** The provider in whose words a fault speaks; empty when they are those of this API. */
export const speaker = ({ at, provider }: FaultContext, shape: Shape): string =>
  (shape ?? (at === 'provider' ? 'provider' : 'gateway')) === 'provider' ? provider : ''

interface Given {
  message?: string | undefined
  headers?: Record<string, string> | undefined
  shape?: Shape
}

/** The reply of one that refuses. */
export function refusal(
  context: FaultContext,
  about: Omit<Refused, 'model' | 'id' | 'message'>,
  { message: said, headers, shape }: Given,
): Reply {
  const { model, luck } = context
  const provider = speaker(context, shape)
  const name = model.slice(model.indexOf('/') + 1)
  const told = errorShape(provider, { ...about, message: said, model: name, id: requestId(luck) })
  const more = lowerCase(headers)
  if (provider !== '') return jsonReply(told.status, told.body, { ...told.headers, ...more })
  const { message, param, code, type } = told.body.error as Record<'message' | 'param' | 'code' | 'type', string>
  return jsonReply(told.status, envelope({ status: told.status, message, param, code: code ?? type }), more)
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
