// Providers as they are configured: where calls to them go, and what they lack.
import type { ProviderEndpoint } from './define.ts'
import { listedProvider, PROVIDERS } from './index.ts'
import { FAMILY_API } from './openai-family.ts'

/** The wire format of OpenAI, which most providers speak. */
const COMPATIBLE = 'openai-compatible'
/** The wire formats that a provider of any name may speak: that of OpenAI, or that of a listed one with its own. */
export const PROVIDER_KINDS: readonly string[] = [
  COMPATIBLE,
  ...PROVIDERS.filter(({ endpoint }) => endpoint?.modelPackage).map(({ name }) => name),
]

/** Names of the providers that can be forwarded to. */
export const FORWARDABLE: readonly string[] = PROVIDERS.filter(({ endpoint }) => endpoint).map(({ name }) => name)

/** Where a provider listens, as far as that is known. */
export function addressOf(provider: string): { host: string; port: string } {
  const { protocol, hostname, port } = new URL(
    listedProvider(provider)?.endpoint?.baseUrl ?? `https://${provider}.invalid`,
  )
  return { host: hostname, port: port || (protocol === 'http:' ? '80' : '443') }
}

/** What a provider of any name is like, by kind. */
export function endpointOf(name: string, kind: string | undefined): ProviderEndpoint {
  const own = listedProvider(name)?.endpoint
  if (own && (kind === undefined || kind === (own.modelPackage ? name : COMPATIBLE))) return own
  return (kind !== undefined && listedProvider(kind)?.endpoint) || {}
}

/** The compatible API that a provider speaks; undefined when it speaks none. */
export const apiOf = ({ api, modelPackage }: ProviderEndpoint): ProviderEndpoint['api'] =>
  api ?? (modelPackage ? undefined : FAMILY_API)

/** A provider that calls are forwarded to: its endpoint as configured. */
export interface Upstream extends ProviderEndpoint {
  /** What stands before the slash of a model id. */
  name: string
  key?: string
  /** Calls are made without a key when there is none. */
  keyOptional: boolean
}

/** Why a provider cannot be called as it is configured, as one line that says what to do; undefined when it can. */
export function lackOf({ name, baseUrl, key, keyVariable, keyOptional }: Upstream): string | undefined {
  if (baseUrl === undefined) return `${name} has no address: set providers.${name}.base_url in understudy.yaml`
  if (key !== undefined || keyVariable === undefined || keyOptional) return undefined
  return `${name} needs a key: set ${keyVariable}, or providers.${name}.api_key in understudy.yaml`
}
