// The addresses in the settings that receive calls, keys or traces and are not those of the providers themselves: a
// user who starts the program in someone else's folder sees them before anything is sent.
import { shownUrl } from '../lib/secrets.ts'
import { endpointOf, type Upstream } from '../providers/endpoints.ts'
import type { TelemetrySettings } from './telemetry.ts'

/** An address to which something is sent. */
export interface OutsideAddress {
  /** What it replaces: a provider, `telemetry` or `proxy`. */
  readonly for: string
  /** Without its secrets. */
  readonly url: string
  /** A description of what it receives. */
  readonly gets: string
  /** Where it is set: file and line, variable or flag. */
  readonly source: string
}

/** The origin of an upstream's key. */
interface KeyOrigin {
  kind: string | undefined
  /** Position of the address. */
  source: string
  /** Whether the key is in the settings. */
  literal: boolean
}

/** The address of an upstream if it is not the provider's own. */
export function upstreamAddress(upstream: Upstream, { kind, source, literal }: KeyOrigin): OutsideAddress[] {
  const { name, baseUrl, key, keyVariable } = upstream
  const own = endpointOf(name, kind).baseUrl
  if (baseUrl === undefined || (own !== undefined && new URL(own).origin === new URL(baseUrl).origin)) return []
  const from = literal ? 'the settings' : keyVariable
  const withKey = key === undefined ? 'without a key' : `with the key from ${from}`
  return [{ for: name, url: shownUrl(baseUrl), gets: `calls to ${name} ${withKey}`, source }]
}

/** The address of a trace collector. */
export const telemetryAddress = (telemetry: TelemetrySettings | undefined, source: string): OutsideAddress[] =>
  telemetry ? [{ for: 'telemetry', url: telemetry.shown, gets: telemetryContent(telemetry), source }] : []

const telemetryContent = ({ content, headers }: TelemetrySettings): string => {
  const names = Object.keys(headers)
  const also = names.length > 0 ? `, with the headers ${names.join(', ')}` : ''
  return `traces of all calls, ${content ? 'with' : 'without'} content${also}`
}

/** The proxies of forwarded calls. */
export function proxyAddresses(
  upstreams: readonly Upstream[],
  environment: Record<string, string | undefined>,
): OutsideAddress[] {
  const schemes = new Set(upstreams.flatMap(({ baseUrl }) => (baseUrl ? [new URL(baseUrl).protocol] : [])))
  return [...schemes].flatMap((scheme) => {
    const variable = `${scheme.slice(0, -1)}_proxy`
    const source = [variable, variable.toUpperCase()].find((name) => environment[name])
    if (source === undefined) return []
    return [
      { for: 'proxy', url: shownUrl(environment[source] ?? ''), gets: `forwarded calls over ${scheme}//`, source },
    ]
  })
}

/** A line for the user. */
export const addressLine = ({ url, gets, source }: OutsideAddress): string => `${gets} go to ${url} (${source})`
