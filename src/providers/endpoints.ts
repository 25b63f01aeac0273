// Endpoints of configured providers, and what is missing in their configuration.
import type { ProviderEndpoint } from './define.ts'
import { listedProvider, PROVIDERS } from './index.ts'
import { FAMILY_API } from './openai-family.ts'

/** The wire format of OpenAI, which most providers use. */
const COMPATIBLE = 'openai-compatible'
/** The wire formats that a configured provider can have: that of OpenAI, or of a listed provider with its own. */
export const PROVIDER_KINDS: readonly string[] = [
  COMPATIBLE,
  ...PROVIDERS.filter(({ endpoint }) => endpoint?.modelPackage).map(({ name }) => name),
]

/** Names of the providers to which calls can be forwarded. */
export const FORWARDABLE: readonly string[] = PROVIDERS.filter(({ endpoint }) => endpoint).map(({ name }) => name)

/** Host and port of a provider. The host of an unlisted one ends with `.invalid`. */
export function addressOf(provider: string): { host: string; port: string } {
  const { protocol, hostname, port } = new URL(
    listedProvider(provider)?.endpoint?.baseUrl ?? `https://${provider}.invalid`,
  )
  return { host: hostname, port: port || (protocol === 'http:' ? '80' : '443') }
}

/** The endpoint of a provider by name and kind. */
export function endpointOf(name: string, kind: string | undefined): ProviderEndpoint {
  const own = listedProvider(name)?.endpoint
  if (own && (kind === undefined || kind === (own.modelPackage ? name : COMPATIBLE))) return own
  return (kind !== undefined && listedProvider(kind)?.endpoint) || {}
}

/** The compatible API that a provider implements. Undefined if it has none. */
export const apiOf = ({ api, modelPackage }: ProviderEndpoint): ProviderEndpoint['api'] =>
  api ?? (modelPackage ? undefined : FAMILY_API)

/** A configured provider to which calls are forwarded. */
export interface Upstream extends ProviderEndpoint {
  /** Its name: the part of a model id before the slash. */
  name: string
  key?: string
  /** Whether calls can be made without a key. */
  keyOptional: boolean
}

/** Explains what is missing in the configuration of a provider. Undefined if nothing is. */
export function missingSetting({ name, baseUrl, key, keyVariable, keyOptional }: Upstream): string | undefined {
  if (baseUrl === undefined) return `${name} has no address: set providers.${name}.base_url in understudy.yaml`
  if (key !== undefined || keyVariable === undefined || keyOptional) return undefined
  return `${name} needs a key: set ${keyVariable}, or providers.${name}.api_key in understudy.yaml`
}
