// Models in answers, under the names by which requests called them.
import type { WireCall } from '../contract/core/wire.ts'
import { asObject } from '../lib/values.ts'

/** The answer with its model as the request named it: without the provider when that was assumed. */
export function renamed(value: unknown, { assumed }: WireCall): unknown {
  const answer = assumed && asObject(value)
  const model = answer?.model
  if (!assumed || typeof model !== 'string' || !Object.values(assumed).includes(model)) return value
  return { ...answer, model: withoutProvider(model) }
}
/** Whether a request comes from a client of Anthropic's API, which all say a version of it. */
export const isOfAnthropic = ({ headers }: Pick<Request, 'headers'>): boolean => headers.has('anthropic-version')

/** A model id without what stands before its first slash. */
export const withoutProvider = (model: string) => model.slice(model.indexOf('/') + 1)
