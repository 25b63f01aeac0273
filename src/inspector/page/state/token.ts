// The token of this tab, as it is kept and as it is sent.

const NAME = 'understudy-token'
/** Any token works where none are set; paths of the workspace want one all the same. */
const ANY = 'inspector'

function storage(): Storage | undefined {
  try {
    return sessionStorage
  } catch {
    // A page from disk may have none.
    return undefined
  }
}

/** The token that is kept; empty when none is. */
export const keptToken = (): string => storage()?.getItem(NAME) ?? ''

/** Keeps a token for this tab. */
export const keepToken = (token: string): void => storage()?.setItem(NAME, token)

/** The header that says it. */
export const authorizationOf = (token: string): string => `Bearer ${token || ANY}`
