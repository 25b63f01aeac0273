// The providers in understudy.yaml: which calls are forwarded, their addresses and keys.
import type { z } from 'zod'
import { alternatives } from '../lib/units.ts'
import { isObject } from '../lib/values.ts'
import { endpointOf, FORWARDABLE, missingSetting, PROVIDER_KINDS, type Upstream } from '../providers/endpoints.ts'
import { proxyAddresses, upstreamAddress } from './addresses.ts'
import { ConfigError, describeKind, mustBe, type ProvidersSection, quoteSetting, type Shown } from './file.ts'
import { BACKENDS, type BackendName, type SettingValues, type ValueSchemas, valueSchemas } from './settings.ts'

/** Which providers calls are forwarded to. */
export type ForwardingRules = ReturnType<typeof readForwarding>

/** The sources of keys and of the choice of backend. */
interface ForwardingSources {
  section: ProvidersSection | undefined
  /** For providers without a setting of their own. */
  backend: BackendName
  environment: Record<string, string | undefined>
  /** Whether recorded responses take the place of all providers. */
  isOffline?: boolean
}

interface Entry {
  kind?: string
  base_url?: string
  api_key?: string
  backend?: BackendName
}

const isAddress = (text: string) => {
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '' && url.hash === ''
}
const KEY = /^[\x21-\x7e]+$/
const VARIABLE = /^\$\{(\w+)\}$/

// A key is never quoted in an error.
const FIELDS: Record<keyof Entry, { schema: (kinds: ValueSchemas) => z.ZodType; valid: string; shown?: Shown }> = {
  kind: {
    schema: ({ z }) => z.enum(PROVIDER_KINDS),
    valid: alternatives(PROVIDER_KINDS),
  },
  base_url: {
    schema: ({ z }) => z.string().refine(isAddress),
    valid: 'an http or https address without a user name, such as http://127.0.0.1:8000/v1',
    shown: 'address',
  },
  api_key: {
    schema: ({ z }) => z.string().regex(KEY),
    valid: `a string without spaces, or \${NAME} for an environment variable`,
    shown: 'nothing',
  },
  backend: { schema: ({ z }) => z.enum(BACKENDS), valid: 'fixture or forward' },
}
const fields = Object.keys(FIELDS)

/**
 * The forwarding rules.
 * @throws ConfigError for the first mistake in the section
 */
export function readForwarding({ section, backend, environment, isOffline = false }: ForwardingSources) {
  const entries = section ? readEntries(section) : new Map<string, Entry>()
  const forwarded = (name: string) => (entries.get(name)?.backend ?? backend) === 'forward'
  const candidates = [...new Set([...(backend === 'forward' ? FORWARDABLE : []), ...entries.keys()])]
  const upstreams = candidates.filter(forwarded).map((name) => {
    const upstream = upstreamOf(name, entries.get(name) ?? {}, environment)
    if (upstream.baseUrl === undefined && section && entries.has(name)) {
      throw new ConfigError(`${section.locationOf([name])}: providers.${name} is forwarded, so it requires a base_url`)
    }
    return upstream
  })
  const addresses = upstreams.flatMap((upstream) => {
    const { kind, api_key: key } = entries.get(upstream.name) ?? {}
    const source = section?.locationOf([upstream.name, 'base_url']) ?? ''
    return upstreamAddress(upstream, { kind, source, literal: key !== undefined && !VARIABLE.test(key) })
  })
  return {
    /** All providers that calls may be forwarded to; empty if nothing is forwarded. */
    upstreams,
    /** Names that the settings file adds to the known ones. */
    named: [...entries.keys()],
    /** Their addresses, if they are not the providers' own. */
    addresses: isOffline ? [] : [...addresses, ...proxyAddresses(upstreams, environment)],
    /** Whether nothing is sent, because recorded responses take the place of the providers. */
    isOffline,
    /** Whether the calls of a provider are forwarded. */
    forwards: forwarded,
  }
}

/**
 * Why no session may have a virtual clock: it would skip ahead while a provider still works, so that every call would
 * time out. Undefined if nothing is forwarded.
 */
export function virtualClockProblem({ upstreams, isOffline }: ForwardingRules): string | undefined {
  if (upstreams.length === 0 || isOffline) return undefined
  const names = upstreams.map(({ name }) => name).join(', ')
  return `a virtual clock does not wait for real providers, and calls to ${names} are forwarded`
}

function readEntries({ value, locationOf }: ProvidersSection): Map<string, Entry> {
  if (!isObject(value)) {
    throw new ConfigError(
      mustBe(`${locationOf([])}: providers`, 'a mapping of providers by name', ` ${describeKind(value)}`),
    )
  }
  for (const [name, entry] of Object.entries(value)) {
    const at = `${locationOf([name])}: providers.${name}`
    if (!/^[\w.-]+$/.test(name)) {
      throw new ConfigError(
        `${at} is not valid: the name of a provider must contain only letters, digits, '.', '_' and '-'`,
      )
    }
    if (!isObject(entry))
      throw new ConfigError(mustBe(at, `a mapping with ${fields.join(', ')}`, ` ${describeKind(entry)}`))
    for (const [key, setting] of Object.entries(entry)) checkField([name, key], setting, locationOf)
  }
  return new Map(Object.entries(value as Record<string, Entry>))
}

function checkField([name, key]: [string, string], value: unknown, locationOf: ProvidersSection['locationOf']): void {
  const at = `${locationOf([name, key])}: providers.${name}.${key}`
  const field = Object.hasOwn(FIELDS, key) ? FIELDS[key as keyof Entry] : undefined
  if (!field) throw new ConfigError(`${at} is not a setting; valid: ${fields.join(', ')}`)
  if (field.schema(valueSchemas()).safeParse(value).success) return
  throw new ConfigError(mustBe(at, field.valid, quoteSetting(value, field.shown)))
}

function upstreamOf(name: string, entry: Entry, environment: Record<string, string | undefined>): Upstream {
  const { keyVariable: usual, operations, ...endpoint } = endpointOf(name, entry.kind)
  const { base_url: address, api_key: apiKey } = entry
  const named = apiKey && VARIABLE.exec(apiKey)?.[1]
  const keyVariable = named ?? usual
  const key = apiKey && !named ? apiKey : (keyVariable && environment[keyVariable]?.trim()) || undefined
  if (key && !KEY.test(key)) throw new ConfigError(mustBe(String(keyVariable), FIELDS.api_key.valid, ''))
  // A custom address may support more operations than the provider; a translated one cannot.
  const limited = operations && (!address || endpoint.modelPackage)
  return {
    ...endpoint,
    ...(limited ? { operations } : {}),
    ...(address ? { baseUrl: address.replace(/\/$/, '') } : {}),
    ...(keyVariable ? { keyVariable } : {}),
    ...(key ? { key } : {}),
    name,
    // A custom address may need no key, unless one is named.
    keyOptional: address !== undefined && !named,
  }
}

/** One line on whether real calls are made, to which providers, and the limits on their number and cost (USD). */
export function describeForwarding(
  { upstreams, forwards, isOffline }: ForwardingRules,
  { max_calls: calls, max_cost: cost, record, replay, on_miss: onMiss }: Partial<SettingValues> = {},
): string {
  if (upstreams.length === 0) return 'fixture: cannot reach the network'
  if (isOffline) return `replay: responses come from cassettes in ${replay}, cannot reach the network`
  const ready = upstreams.filter((upstream) => !missingSetting(upstream)).map(({ name }) => name)
  // No provider has this name, so its rule applies to all that are not named.
  const rest = forwards('') ? 'calls to providers without a key fail' : 'other providers use fixtures'
  const most = [...(calls === undefined ? [] : [`${calls} calls`]), ...(cost === undefined ? [] : [`${cost} USD`])]
  const limit = most.length > 0 ? `, at most ${most.join(' and ')}` : ''
  const first =
    record !== undefined
      ? `record: cassettes are written to ${record}; `
      : replay !== undefined
        ? `replay: responses come from cassettes in ${replay}; ${onMiss === 'record' ? 'missing ones are recorded' : 'missing ones are not recorded'}; `
        : ''
  return `${first}forward: calls go to ${ready.join(', ') || 'no provider, since no API key is set'}${limit} (${rest})`
}
