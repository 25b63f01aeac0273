// Under which header each provider names a call, for its support.

// Those of the API itself before those of what stands in front of it.
const HEADERS = ['x-request-id', 'request-id', 'x-amzn-requestid', 'apim-request-id', 'cf-ray'] as const

/** Whether a header, in lower case, names a call. */
export const namesCall = (header: string): boolean => (HEADERS as readonly string[]).includes(header)

/** The provider's id of a call by the headers of its reply, in lower case; undefined when it gave none. */
export function requestIdOf(headers: Readonly<Record<string, string>>): string | undefined {
  for (const name of HEADERS) if (headers[name]) return headers[name]
  return undefined
}

/** A provider's own words, with its name and its id of the call behind them. */
export function attributed(message: string, provider: string, headers: Readonly<Record<string, string>>): string {
  const id = requestIdOf(headers)
  return `${message} (${provider}${id ? `, request ${id}` : ''})`
}
