// Reads the request ids of providers, which their support asks for.

// Headers of the API come before those of proxies.
const HEADERS = ['x-request-id', 'request-id', 'x-amzn-requestid', 'apim-request-id', 'cf-ray'] as const

/** Whether a lowercase header name is that of a request id. */
export const namesCall = (header: string): boolean => (HEADERS as readonly string[]).includes(header)

/** The request id in the headers of a reply, with lowercase names. Undefined if there is none. */
export function requestIdOf(headers: Readonly<Record<string, string>>): string | undefined {
  for (const name of HEADERS) if (headers[name]) return headers[name]
  return undefined
}

/** A provider's message, followed by its name and request id. */
export function attributed(message: string, provider: string, headers: Readonly<Record<string, string>>): string {
  const id = requestIdOf(headers)
  return `${message} (${provider}${id ? `, request ${id}` : ''})`
}
