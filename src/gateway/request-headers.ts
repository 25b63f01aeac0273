// The headers of a call as its trace has them: few and short, and nothing secret.
import { Allowance } from '../lib/allowance.ts'

/** To read and store them takes some microseconds, so not every one of thousands of calls a second has them. */
export const headerAllowance = () => new Allowance({ perSecond: 100, most: 1_000 })

const MOST_HEADERS = 64
const MOST_CHARACTERS = 500
const SECRET = /auth|cookie|token|secret|password|signature|credential|session-key|api-?key/i

/** What stands in place of a secret. */
export const MASK = '(masked)'

/** Headers by name, in the order of the runtime; of what is secret only the kind. */
export function shownHeaders(headers: Headers): Record<string, string> {
  const shown: Record<string, string> = {}
  let count = 0
  for (const [name, value] of headers) {
    if (++count > MOST_HEADERS) break
    shown[name] = SECRET.test(name) ? masked(value) : cut(value)
  }
  return shown
}

/** `Bearer abc` keeps its first word. */
function masked(value: string): string {
  const [kind = '', rest] = value.split(' ', 2)
  return rest !== undefined && /^[A-Za-z]{1,20}$/.test(kind) ? `${kind} ${MASK}` : MASK
}

const cut = (value: string) => (value.length > MOST_CHARACTERS ? `${value.slice(0, MOST_CHARACTERS)}…` : value)
