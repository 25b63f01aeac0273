// Reads the error bodies of providers, which have several formats.
import { parsedJson } from '../lib/values.ts'
import { cutWhole } from '../lib/well-formed.ts'

/** An error of a provider. */
export interface ProviderError {
  message: string
  /** The provider's name of the error. */
  code?: string
  /** The field at fault. */
  param?: string
  /** The error type, as in OpenAI's format. */
  type?: string
  /** The status in an error inside a stream or batch. */
  status?: number
}

type Fields = Record<string, unknown>
const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null
const textOf = (value: unknown, maxLength: number): string | undefined =>
  typeof value === 'string' && value !== '' ? cutWhole(value, maxLength) : undefined

// Maximum lengths in characters, since traces store error texts.
const MAX_MESSAGE = 10_000
const MAX_NAME = 500
const MAX_PAGE = 500

/** Reads an error body in JSON or text: of OpenAI-compatible APIs, Anthropic, Google, Azure, Bedrock, Mistral, Cohere. */
export function readErrorBody(text: string): ProviderError {
  const found = errorIn(parsedJson(text))
  if (found) return found
  const plain = text
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
  return { message: plain === '' ? 'the provider gave no reason' : cutWhole(plain, MAX_PAGE) }
}

/** The error in a response value. Undefined if it is not an error. */
export function errorIn(value: unknown): ProviderError | undefined {
  // Google wraps the errors of some endpoints in a list.
  const outer = Array.isArray(value) ? value[0] : value
  if (!isObject(outer)) return undefined
  const inner = isObject(outer.error) ? outer.error : outer
  const message = [inner.message, outer.error, outer.detail, outer.message, outer.Message]
    .map((text) => textOf(text, MAX_MESSAGE))
    .find((text) => text !== undefined)
  if (message === undefined) {
    const { error } = outer
    return isObject(error) && Object.keys(error).length > 0
      ? { message: cutWhole(JSON.stringify(error), MAX_MESSAGE) }
      : undefined
  }
  const nameOf = (value: unknown) => textOf(value, MAX_NAME)
  const code = nameOf(inner.code) ?? nameOf(inner.status) ?? nameOf(inner.type)
  const status = [inner.status_code, inner.code, inner.status].map(Number).find((one) => one >= 400 && one <= 599)
  const param = nameOf(inner.param)
  const type = nameOf(inner.type)
  return { message, ...(code && { code }), ...(param && { param }), ...(type && { type }), ...(status && { status }) }
}

/** Names of the errors by which providers reject an input that exceeds the context window. */
const TOO_LONG = new Set(['context_length_exceeded', 'invalid_request_prompt'])
/** Messages of OpenAI and Azure, Anthropic, Bedrock, Cohere, Google and Mistral, as in their files here. */
const TOO_LONG_MESSAGES =
  /maximum context length|prompt is too long|exceeds? (?:the )?context (?:limit|window)|input is too long|too many tokens|input token count .* exceeds/i

/** Whether an error reports that the input is too long. */
export const isTooLong = ({ code, message }: Record<'code' | 'message', string>): boolean =>
  TOO_LONG.has(code) || TOO_LONG_MESSAGES.test(message)
