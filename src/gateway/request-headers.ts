// The headers and the address of a call as its trace has them: few and short, and nothing secret.
import { Allowance } from '../lib/allowance.ts'

/** To read and store them takes some microseconds, so not every one of thousands of calls a second has them. */
export const headerAllowance = () => new Allowance({ perSecond: 100, most: 1_000 })

const MOST_HEADERS = 64
const MOST_CHARACTERS = 500
const SECRET = /auth|cookie|token|secret|password|signature|credential|session-key|api-?key/i
/** Those of responses count tokens too. */
const SECRET_SENT = /cookie|secret|password|credential|api-?key/i

/** What stands in place of a secret. */
export const MASK = '(masked)'

/** Headers by name, in their order; of what is secret only the kind, and the session that it names. */
export const shownHeaders = (headers: Iterable<readonly [string, string]>) => withoutSecrets(headers, SECRET)

/** The same of a response. */
export const shownSent = (headers: Iterable<readonly [string, string]>) => withoutSecrets(headers, SECRET_SENT)

function withoutSecrets(headers: Iterable<readonly [string, string]>, secret: RegExp): Record<string, string> {
  const shown: Record<string, string> = {}
  let count = 0
  for (const [name, value] of headers) {
    if (++count > MOST_HEADERS) break
    shown[name] = secret.test(name) ? masked(value) : cut(value)
  }
  return shown
}

/** `Bearer abc` keeps its first word. */
function masked(value: string): string {
  const [, kind = '', token = ''] = /^([A-Za-z]{1,20} +)?(.*)$/s.exec(value) ?? []
  return `${kind}${maskedToken(token)}`
}

/** A token that is nothing but the name of a session is no secret, and neither is the name behind one. */
function maskedToken(token: string): string {
  if (/^session:[\w.-]+$/.test(token)) return token
  return `${MASK}${/#[\w.:-]+$/.exec(token)?.[0] ?? ''}`
}

/** Parameters of a query that some APIs take a key by. */
const SECRET_PARAMETER = /^(?:key|sig)$/i

/** Path and query of a URL; of what is secret only the name. */
export function addressShown(url: string): string {
  const address = url.slice(url.indexOf('/', url.indexOf('://') + 3))
  if (!address.includes('?')) return address
  return address.replace(/([?&])([^=&#]*)=([^&#]*)/g, (whole, mark: string, name: string) =>
    SECRET.test(name) || SECRET_PARAMETER.test(name) ? `${mark}${name}=${MASK}` : whole,
  )
}

const cut = (value: string) => (value.length > MOST_CHARACTERS ? `${value.slice(0, MOST_CHARACTERS)}…` : value)
