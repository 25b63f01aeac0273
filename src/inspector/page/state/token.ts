// The token of this tab: storage and header.

const NAME = 'understudy-token'
/** Any token works if none are configured, but workspace paths require one. */
const ANY = 'inspector'

function storage(): Storage | undefined {
  try {
    return sessionStorage
  } catch {
    // A page from disk may have none.
    return undefined
  }
}

/** The stored token; empty if there is none. */
export const keptToken = (): string => storage()?.getItem(NAME) ?? ''

/** Stores a token for this tab. */
export const keepToken = (token: string): void => storage()?.setItem(NAME, token)

/** The header with the token. */
export const authorizationOf = (token: string): string => `Bearer ${token || ANY}`
