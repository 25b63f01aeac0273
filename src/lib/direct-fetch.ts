// The only way to other servers: through the proxy of the environment, except to this machine, which a proxy cannot
// reach.
import { isLoopback, isWildcard } from './hosts.ts'
import { remembering } from './remember.ts'

/**
 * Names of this machine in the forms that programs expect in `NO_PROXY`: some support no ranges. IPv6 addresses have no
 * brackets: httpx, and with it the SDKs for Python, fails at them even where there is no proxy.
 */
const OWN_HOSTS = ['localhost', '127.0.0.1', '127.0.0.0/8', '::1', '0.0.0.0']
/** Disables the proxy for all hosts. Some programs ignore it beside other entries. */
const EVERYTHING = '*'

/**
 * Whether a URL refers to this machine: loopback, or the address that means every interface. The last result is cached,
 * which saves 0.3 us of a forwarded call.
 */
const isOfThisMachine = remembering((url: string): boolean => {
  const hostname = URL.parse(url)?.hostname
  return hostname !== undefined && (isLoopback(hostname) || isWildcard(hostname))
})

/**
 * `fetch` that uses no proxy for this machine, whatever `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`
 * contain. Other URLs use the proxy of these variables. Redirects are treated the same way, so do not follow one that
 * leads elsewhere.
 */
export const directFetch = (url: string, init: BunFetchRequestInit = {}): Promise<Response> =>
  fetch(url, isOfThisMachine(url) ? { ...init, proxy: false } : init)

type Environment = Readonly<Record<string, string | undefined>>

/**
 * `NO_PROXY` and `no_proxy` for a program that must call `host`, as in a URL, and this machine without a proxy: the
 * current values, then these. Programs read one of the two variables, so each gets the entries of both.
 */
export function withoutProxy(environment: Environment, host: string): { NO_PROXY: string; no_proxy: string } {
  const { NO_PROXY: upper, no_proxy: lower } = environment
  const own = [...new Set([...OWN_HOSTS, host.replace(/[[\]]/g, '')])]
  return { NO_PROXY: joined(upper || lower, own), no_proxy: joined(lower || upper, own) }
}

function joined(there: string | undefined, hosts: readonly string[]): string {
  const text = there?.trim() ?? ''
  if (text === EVERYTHING) return text
  const named = text.toLowerCase().split(/[\s,]+/)
  return [...(text === '' ? [] : [text.replace(/,$/, '')]), ...hosts.filter((one) => !named.includes(one))].join(',')
}
