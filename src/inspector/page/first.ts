// Requests the first calls before the rest of the page is parsed, so that they have usually arrived when it renders.
import { authorizationOf, keptToken } from './state/token.ts'

/** What this script passes to the page. */
export interface FirstCalls {
  understudyFirstCalls?: Promise<Response>
}

// A report contains its calls.
if (!document.getElementById('data')) {
  const headers = { authorization: authorizationOf(keptToken()) }
  const response = fetch('/_understudy/ui/calls', { headers })
  // The consumer handles a failure.
  response.catch(() => {})
  ;(globalThis as FirstCalls).understudyFirstCalls = response
}
