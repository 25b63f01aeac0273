// The one way to other servers: through the proxy of the environment, except to this machine, which no proxy can reach for us.
import { isLoopback, isWildcard } from './hosts.ts'

/** Hosts of this machine, in the forms that programs look for in `NO_PROXY`: some know no ranges, some no brackets. */
const OWN_HOSTS = ['localhost', '127.0.0.1', '127.0.0.0/8', '::1', '[::1]', '0.0.0.0']
/** Everything is called without a proxy; beside other entries it means nothing to some programs. */
const EVERYTHING = '*'

/** Whether an address is of this machine: loopback, or the one that means every interface. */
function isOfThisMachine(url: string): boolean {
  const hostname = URL.parse(url)?.hostname
  return hostname !== undefined && (isLoopback(hostname) || isWildcard(hostname))
}

/**
 * `fetch`, which asks no proxy for an address of this machine, whatever `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` say.
 * Other addresses are called as these variables have it. A redirect is followed the same way, so follow none that leads elsewhere.
 */
export const directFetch = (url: string, init: BunFetchRequestInit = {}): Promise<Response> =>
  fetch(url, isOfThisMachine(url) ? { ...init, proxy: false } : init)

type Environment = Readonly<Record<string, string | undefined>>

/**
 * `NO_PROXY` and `no_proxy` of a program that shall call `host` and this machine without a proxy: what is there, then those. Programs
 * read one of the two, so each has what only the other names.
 */
export function withoutProxy(environment: Environment, host: string): { NO_PROXY: string; no_proxy: string } {
  const { NO_PROXY: upper, no_proxy: lower } = environment
  const own = [...new Set([...OWN_HOSTS, host])]
  return { NO_PROXY: joined(upper || lower, own), no_proxy: joined(lower || upper, own) }
}

function joined(there: string | undefined, hosts: readonly string[]): string {
  const text = there?.trim() ?? ''
  if (text === EVERYTHING) return text
  const named = text.toLowerCase().split(/[\s,]+/)
  return [...(text === '' ? [] : [text.replace(/,$/, '')]), ...hosts.filter((one) => !named.includes(one))].join(',')
}
