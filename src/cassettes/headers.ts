// Which headers of a response are recorded: those that clients act on. Of all others, nobody knows what they contain.

/** Headers of every provider: what the body is, when to call again, and the id that the provider's support asks for. */
const ALLOWED = new Set([
  ...['content-type', 'content-length', 'content-encoding', 'cache-control', 'date'],
  ...['retry-after', 'retry-after-ms', 'x-should-retry', 'location'],
  ...['x-request-id', 'request-id', 'apim-request-id', 'x-amzn-requestid', 'cf-ray'],
])
/** Quotas, in the forms of all providers. */
const QUOTA = /^(?:x-|anthropic-)?ratelimit-[a-z0-9-]+$/

/** More headers of one provider. A name that ends with `*` is the beginning of names. */
const OWN: Readonly<Record<string, readonly string[]>> = {
  anthropic: ['anthropic-version'],
  aws: ['x-amzn-errortype', 'x-amzn-bedrock-*'],
  azure: ['x-ms-region', 'x-ms-rai-invoked', 'x-ms-error-code', 'azureml-model-session', 'operation-location'],
  cohere: ['x-api-warning', 'x-endpoint-monthly-call-limit', 'x-trial-endpoint-call-*'],
  fireworks: ['fireworks-*'],
  google: ['x-gemini-service-tier'],
  groq: ['x-groq-region'],
  mistral: ['x-envoy-upstream-service-time', 'mistral-correlation-id'],
  openai: ['openai-version', 'openai-processing-ms', 'openai-model'],
  together: ['x-together-*', 'x-inference-version'],
  xai: ['x-metrics-*'],
}

/** Names that are never recorded, whatever an allow-list says: they carry sessions, or name the account. */
const NEVER =
  /cookie|auth|token(?!s)|secret|api-?key|organization|project|account|user|email|forwarded|(?:^|-)ip(?:$|-)/

/**
 * The headers of a provider's response that are recorded, in the order received, with names in lower case. An unlisted provider has those of OpenAI, whose API it has.
 * @example
 * recordedHeaders('openai', [['Content-Type', 'text/plain'], ['Set-Cookie', 'a=b']]) // => [['content-type', 'text/plain']]
 */
export function recordedHeaders(
  provider: string,
  headers: Iterable<readonly [name: string, value: string]>,
): [name: string, value: string][] {
  const own = OWN[provider] ?? OWN.openai ?? []
  const recorded: [name: string, value: string][] = []
  for (const [written, value] of headers) {
    const name = written.toLowerCase()
    if (ALLOWED.has(name) || QUOTA.test(name) || (isAmong(own, name) && !NEVER.test(name))) recorded.push([name, value])
  }
  return recorded
}

const isAmong = (names: readonly string[], name: string): boolean =>
  names.some((allowed) => (allowed.endsWith('*') ? name.startsWith(allowed.slice(0, -1)) : name === allowed))
