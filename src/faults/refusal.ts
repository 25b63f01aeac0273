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
}

interface Given {
  /** Headers, whatever the case of their names. */
  headers?: Record<string, string> | undefined
  /** Whose body it has; when left out, that of whoever is heard. */
  shape?: 'provider' | 'gateway' | undefined
}

/** The reply of one that refuses. */
export function refusal(
  context: FaultContext,
  about: Omit<Refused, 'model' | 'id'>,
  { headers, shape = context.at === 'provider' ? 'provider' : 'gateway' }: Given = {},
): Reply {
  const { provider, model, luck } = context
  const told = errorShape(shape === 'provider' ? provider : '', {
    ...about,
    model: model.slice(model.indexOf('/') + 1),
    id: requestId(luck),
  })
  const more = lowerCase(headers)
  if (shape === 'provider') return jsonReply(told.status, told.body, { ...told.headers, ...more })
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
