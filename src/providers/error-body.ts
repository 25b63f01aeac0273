// What a provider says in the body of an error; each family has its own shape.
import { parsedJson } from '../lib/values.ts'

/** The words of a provider's error. */
export interface ProviderError {
  message: string
  /** Its own short name of the kind of error. */
  code?: string
  /** The field at fault. */
  param?: string
  /** The kind of error, as OpenAI and its like have it. */
  type?: string
  /** The status that an error inside a stream or a batch names. */
  status?: number
}

type Fields = Record<string, unknown>
const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null
const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

const SHOWN = 500

/** Reads an error body that is JSON or text: OpenAI and its like, Anthropic, Google, Azure, Bedrock, Mistral, Cohere. */
export function readErrorBody(text: string): ProviderError {
  const found = errorIn(parsedJson(text))
  if (found) return found
  const plain = text
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
  return { message: plain === '' ? 'the provider gave no reason' : plain.slice(0, SHOWN) }
}

/** The error in a value that came where an answer was expected; undefined when it is none. */
export function errorIn(value: unknown): ProviderError | undefined {
  // Google wraps the errors of some endpoints in a list.
  const outer = Array.isArray(value) ? value[0] : value
  if (!isObject(outer)) return undefined
  const inner = isObject(outer.error) ? outer.error : outer
  const message =
    textOf(inner.message) ??
    textOf(outer.error) ??
    textOf(outer.detail) ??
    textOf(outer.message) ??
    textOf(outer.Message)
  if (message === undefined) {
    const { error } = outer
    return isObject(error) && Object.keys(error).length > 0 ? { message: JSON.stringify(error) } : undefined
  }
  const code = textOf(inner.code) ?? textOf(inner.status) ?? textOf(inner.type)
  const status = [inner.status_code, inner.code, inner.status].map(Number).find((one) => one >= 400 && one <= 599)
  const param = textOf(inner.param)
  const type = textOf(inner.type)
  return { message, ...(code && { code }), ...(param && { param }), ...(type && { type }), ...(status && { status }) }
}
