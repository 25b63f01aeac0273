// Renames models in responses to the names that requests used.
import type { WireCall } from '../contract/core/wire.ts'
import { asObject } from '../lib/values.ts'

/** The response with the model as the request named it: without the provider if that was the default. */
export function renamed(value: unknown, { assumed }: WireCall): unknown {
  const answer = assumed && asObject(value)
  const model = answer?.model
  if (!assumed || typeof model !== 'string' || !Object.values(assumed).includes(model)) return value
  return { ...answer, model: withoutProvider(model) }
}
/** Whether a request comes from a client of Anthropic's API: all of them send a version header. */
export const isOfAnthropic = ({ headers }: Pick<Request, 'headers'>): boolean => headers.has('anthropic-version')

/** A model id without its provider. */
export const withoutProvider = (model: string) => model.slice(model.indexOf('/') + 1)
