// Asks for the first calls before the rest of the page is read: they have mostly come when it can draw them.
import { authorizationOf, keptToken } from './state/token.ts'

/** What this script leaves for the page's. */
export interface FirstCalls {
  understudyFirstCalls?: Promise<Response>
}

// A report has its calls inside.
if (!document.getElementById('data')) {
  const headers = { authorization: authorizationOf(keptToken()) }
  const response = fetch('/_understudy/ui/calls', { headers })
  // Whoever takes it up learns of a failure.
  response.catch(() => {})
  ;(globalThis as FirstCalls).understudyFirstCalls = response
}
