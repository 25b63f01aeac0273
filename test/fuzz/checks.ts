// What must hold of every answer, whatever was asked.

/** An answer, read to its end. */
export interface Seen {
  status: number
  headers: Headers
  text: string
}

const MAX_HEADER_LENGTH = 1_024

/** What is wrong with an answer, in a few words that are the same for the same mistake; undefined when nothing is. */
export function wrongWith({ status, headers, text }: Seen, method: string): string | undefined {
  for (const [name, value] of headers) {
    if (value.length > MAX_HEADER_LENGTH) return `the header ${name} has more than ${MAX_HEADER_LENGTH} characters`
    if (!/^[\x20-\x7e]*$/.test(value)) return `the header ${name} is not ASCII`
  }
  if (!headers.has('x-request-id')) return 'there is no x-request-id'
  // What a scenario does to an answer is its own business.
  if (headers.get('x-understudy-faults')) return undefined
  if (status >= 500) return `status ${status}: ${text.slice(0, 160)}`
  if (status < 200 || (status >= 300 && status < 400)) return `status ${status}`
  if (method === 'HEAD' || status === 204) return text === '' ? undefined : 'a body where there is none'
  const type = headers.get('content-type') ?? ''
  // Files are given back as they came.
  if (headers.get('content-disposition')?.startsWith('attachment')) return undefined
  if (type.startsWith('application/json')) return wrongJson(text, status)
  return status >= 400 ? `an error of the type ${type}` : undefined
}

/** The same of an answer that a provider may have made: what it sent is its own, but not what Understudy says of it. */
export function wrongWithForwarded(seen: Seen, { method, path }: { method: string; path: string }): string | undefined {
  const { status, headers, text } = seen
  if (!path.startsWith('/_understudy/') && text.includes('which is a bug in it'))
    return `status ${status}: ${text.slice(0, 160)}`
  // On a compatible API headers and bytes are those of the provider.
  if (isPassedOn(path)) return undefined
  if (!headers.has('x-request-id')) return 'there is no x-request-id'
  if (!path.startsWith('/v2/router/')) return wrongWith(seen, method)
  if (status < 200 || (status >= 300 && status < 400)) return `status ${status}`
  return status >= 400 ? wrongJson(text, status) : undefined
}

/** Whether a path is one of a compatible API, where a provider's answer is passed on as it came, be it cut. */
export const isPassedOn = (path: string): boolean => /^\/(?:v1\/|messages)/.test(path)

function wrongJson(text: string, status: number): string | undefined {
  try {
    const value = JSON.parse(text) as Record<string, unknown>
    return status >= 400 ? wrongEnvelope(value, status) : undefined
  } catch {
    return 'the JSON of the answer cannot be parsed'
  }
}

function wrongEnvelope({ code, message, error, ...more }: Record<string, unknown>, status: number): string | undefined {
  // Clients of some paths read a text there.
  if (status === 404 && code === '404' && typeof error === 'string' && error === message) return undefined
  if (typeof error !== 'object' || error === null) return 'an envelope without an error'
  const inner = error as Record<string, unknown>
  // By the door of Anthropic there is no code and no field.
  if (more.type === 'error' && code === undefined && message === undefined)
    return typeof inner.type === 'string' && inner.message ? undefined : 'a strange error of Anthropic'
  // By the door of OpenAI there is nothing but the error.
  const own = code === undefined && message === undefined
  if (!own && (code !== String(status) || message !== inner.message)) return 'a strange envelope'
  if (Object.keys(more).length > 0) return 'a strange envelope'
  // A provider's error without a code has the code null in OpenAI's API.
  const isCode = typeof inner.code === 'string' || (own && inner.code === null)
  const texts = typeof inner.message === 'string' && typeof inner.type === 'string' && isCode
  if (!texts || !(inner.param === null || typeof inner.param === 'string')) return 'a strange error in the envelope'
  const { length } = inner.message as string
  if (length === 0 || length > 20_000) return `an error of ${length} characters`
  return undefined
}
