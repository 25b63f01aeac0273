// Selects the headers and the address of a call for its trace: limited in size, and without secrets.
import { Allowance } from '../../lib/allowance.ts'
import { MASK, shownQuery, shownUrl, withoutRandom, withoutSecrets } from '../../lib/secrets.ts'

/** Limits how many calls per second keep their headers: reading and storing them takes as long as a small call. */
export const headerAllowance = () => new Allowance({ perSecond: 25, most: 1_000 })

const MAX_HEADERS = 64
const MAX_CHARACTERS = 500
/** How many characters are searched for secrets; a truncated key would not be recognized. */
const MAX_READ = 4_000

/** Formats the value of a header. */
type FormatValue = (value: string) => string

/** Headers whose value may be shown. Others may contain secrets, so the trace has only their names. */
const SHOWN: ReadonlyMap<string, FormatValue> = new Map([
  ...formattedBy(withoutSecrets, [
    // HTTP
    ...['accept', 'accept-charset', 'accept-encoding', 'accept-language', 'accept-ranges', 'age', 'allow', 'alt-svc'],
    ...['cache-control', 'connection', 'content-disposition', 'content-encoding', 'content-language', 'content-length'],
    ...['content-type', 'date', 'dnt', 'etag', 'expect', 'expires', 'if-match', 'if-modified-since'],
    ...['if-none-match', 'if-unmodified-since', 'keep-alive', 'last-modified', 'pragma', 'prefer', 'priority', 'range'],
    ...['retry-after', 'retry-after-ms', 'server', 'server-timing', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
    ...['upgrade-insecure-requests', 'vary', 'via', 'warning', 'www-authenticate', 'x-content-type-options'],
    ...['strict-transport-security', 'referrer-policy', 'x-should-retry', 'x-powered-by', 'x-robots-tag'],
    ...['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-port', 'x-forwarded-proto', 'x-requested-with'],
    ...['x-envoy-upstream-service-time', 'cf-ray', 'cf-cache-status'],
    // Ids of calls and spans
    ...['idempotency-key', 'request-id', 'traceparent', 'x-client-request-id', 'x-correlation-id', 'x-request-id'],
    ...['x-amzn-requestid', 'x-amzn-errortype', 'apim-request-id', 'x-debug-trace-id', 'x-trace-id', 'x-ms-region'],
    // Repetitions and how long a client waits
    ...['amz-sdk-invocation-id', 'amz-sdk-request', 'grpc-previous-rpc-attempts', 'grpc-timeout', 'x-retry-count'],
    ...['x-server-timeout', 'x-goog-api-client', 'x-goog-user-project'],
    // What the APIs of providers take and send
    ...['anthropic-beta', 'anthropic-dangerous-direct-browser-access', 'anthropic-organization-id'],
    ...['anthropic-version', 'openai-beta', 'openai-model', 'openai-organization', 'openai-processing-ms'],
    ...['openai-project', 'openai-version', 'x-app', 'x-title'],
  ]),
  ...formattedBy(withoutRandom, ['user-agent', 'sec-websocket-protocol']),
  ...formattedBy(shownUrl, ['content-location', 'http-referer', 'location', 'origin', 'referer']),
  ...formattedBy((value) => value, ['host']),
  ...formattedBy(tokenShown, ['authorization', 'x-api-key']),
])
/** Further headers whose value may be shown, by the beginning of their name. */
const SHOWN_FAMILIES =
  /^(?:(?:x-understudy-|x-stainless-)(?!.*(?:key|token|secret|auth))|(?:anthropic-|x-)?ratelimit-|sec-fetch-|sec-ch-|access-control-|x-trial-endpoint-call-)[a-z0-9-]*$/

function formattedBy(format: FormatValue, names: readonly string[]): [string, FormatValue][] {
  return names.map((name) => [name, format])
}

const formatFor = (name: string): FormatValue | undefined =>
  SHOWN.get(name) ?? (SHOWN_FAMILIES.test(name) ? withoutSecrets : undefined)

/** Headers by name, in order. The value of an unlisted header is masked; a token keeps its kind and its session name. */
export function shownHeaders(headers: Iterable<readonly [string, string]>): Record<string, string> {
  const shown: Record<string, string> = {}
  let count = 0
  for (const [name, value] of headers) {
    if (++count > MAX_HEADERS) break
    shown[name] = cut(formatFor(name.toLowerCase())?.(value.slice(0, MAX_READ)) ?? MASK)
  }
  return shown
}

/** Masks a token but keeps its kind, such as `Bearer`, and a session name, which is not secret. */
function tokenShown(value: string): string {
  const [, kind = '', token = ''] = /^((?:Bearer|Basic|Digest|Token|ApiKey|Negotiate) +)?(.*)$/is.exec(value) ?? []
  if (/^session:[\w./-]+$/.test(token)) return `${kind}${withoutSecrets(token)}`
  return `${kind}${MASK}${/#(?:session:)?[\w./-]{1,120}$/.exec(token)?.[0] ?? ''}`
}

/** Path and query of a URL; the values of unknown parameters are masked. */
export const addressShown = (url: string): string => shownQuery(url.slice(url.indexOf('/', url.indexOf('://') + 3)))

const cut = (value: string) => (value.length > MAX_CHARACTERS ? `${value.slice(0, MAX_CHARACTERS)}…` : value)
