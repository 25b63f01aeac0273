// The target of telemetry: an address, or the standard OpenTelemetry variables, which are used only on request.
import { readFileSync } from 'node:fs'
import { lazy } from '../lib/lazy.ts'
import { quote } from '../schema/validation.ts'
import type { TelemetryOptions } from '../telemetry/telemetry.ts'
import { ConfigError, mustBe, quoteSetting } from './file.ts'

// Not needed at start.
const certificates = lazy<typeof import('node:crypto')>(() => require('node:crypto'))

/** What is exported, and where to. */
export type TelemetrySettings = Omit<TelemetryOptions, 'resource'> & { resource: Record<string, string> }
type Environment = Record<string, string | undefined>

/** The value of `--otlp` that selects the standard variables. */
const ENVIRONMENT = 'env'
const TRACES_PATH = '/v1/traces'
const TIMEOUT_MS = 10_000
const STANDARD_ENDPOINT = 'http://localhost:4318'

const isAddress = (text: string) => /^https?:$/.test(URL.parse(text)?.protocol ?? '')

/**
 * The settings; undefined if the standard variables disable the export.
 * @throws ConfigError
 */
export function readTelemetry(
  target: string,
  content: boolean,
  environment: Environment,
): TelemetrySettings | undefined {
  if (target !== ENVIRONMENT) {
    const usual = { timeout: TIMEOUT_MS, tls: undefined, resource: {}, sampling: { ratio: 1, ofAll: false } }
    return { ...targetOf(withTracesPath(target)), ...usual, content }
  }
  const read = readerOf(environment)
  const [, exporter = 'otlp'] = read('OTEL_TRACES_EXPORTER') ?? []
  if (read('OTEL_SDK_DISABLED')?.[1].toLowerCase() === 'true' || exporter === 'none') return undefined
  if (exporter !== 'otlp') throw wrong(['OTEL_TRACES_EXPORTER', exporter], 'otlp or none')
  const protocol = read('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL')
  if (protocol && protocol[1] !== 'http/json') throw wrong(protocol, 'http/json, the only supported protocol')
  const { headers, ...to } = endpointOf(read)
  return {
    ...to,
    headers: {
      ...headers,
      ...pairsOf(read('OTEL_EXPORTER_OTLP_HEADERS')),
      ...pairsOf(read('OTEL_EXPORTER_OTLP_TRACES_HEADERS')),
    },
    timeout: timeoutOf(read('OTEL_EXPORTER_OTLP_TRACES_TIMEOUT', 'OTEL_EXPORTER_OTLP_TIMEOUT')),
    tls: tlsOf(read),
    resource: resourceOf(read),
    content: content || wantsContent(read('OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT')),
    sampling: samplingOf(read),
  }
}

/** A variable and its value. */
type Variable = [name: string, value: string]
/** The first of several variables that has a value. */
type Reader = (...names: string[]) => Variable | undefined
const readerOf =
  (environment: Environment): Reader =>
  (...names) => {
    for (const name of names) {
      const value = environment[name]?.trim()
      if (value) return [name, value]
    }
    return undefined
  }

const wrong = ([name, value]: Variable, valid: string) =>
  new ConfigError(mustBe(name, valid, quoteSetting(value, 'address')))

const withTracesPath = (base: string): string => {
  const url = new URL(base)
  if (!url.pathname.endsWith(TRACES_PATH)) url.pathname = `${url.pathname.replace(/\/$/, '')}${TRACES_PATH}`
  return url.href
}

/** An address without user and password, which become a header. */
function targetOf(address: string): Pick<TelemetrySettings, 'url' | 'shown' | 'headers'> {
  const url = new URL(address)
  const { username, password } = url
  url.username = ''
  url.password = ''
  const credentials = btoa(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`)
  const headers: Record<string, string> =
    username === '' && password === '' ? {} : { authorization: `Basic ${credentials}` }
  return { url: url.href, shown: `${url.origin}${url.pathname}`, headers }
}

function endpointOf(read: Reader) {
  const valid = 'an address such as http://localhost:4318'
  const exact = read('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT')
  const endpoint = exact ?? read('OTEL_EXPORTER_OTLP_ENDPOINT')
  if (endpoint && !isAddress(endpoint[1])) throw wrong(endpoint, valid)
  return targetOf(exact ? exact[1] : withTracesPath(endpoint?.[1] ?? STANDARD_ENDPOINT))
}

/** Comma-separated `key=value` pairs, with percent-encoded values. */
function pairsOf(variable: Variable | undefined): Record<string, string> {
  if (!variable) return {}
  const pairs = variable[1].split(',').filter((pair) => pair.trim() !== '')
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, key = '', value = ''] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? []
      // The value may be a secret, so it is not repeated.
      const problem = () => new ConfigError(mustBe(variable[0], 'pairs such as name=value,other=value', ''))
      if (key === '') throw problem()
      try {
        return [key, decodeURIComponent(value)]
      } catch {
        throw problem()
      }
    }),
  )
}

function timeoutOf(variable: Variable | undefined): number {
  if (!variable) return TIMEOUT_MS
  if (!/^\d{1,9}$/.test(variable[1]) || Number(variable[1]) === 0) throw wrong(variable, 'milliseconds such as 10000')
  return Number(variable[1])
}

function tlsOf(read: Reader): TelemetrySettings['tls'] {
  const file = (name: string) => pemIn(read(`OTEL_EXPORTER_OTLP_TRACES_${name}`, `OTEL_EXPORTER_OTLP_${name}`))
  const [ca, cert, key] = [file('CERTIFICATE'), file('CLIENT_CERTIFICATE'), file('CLIENT_KEY')]
  if (ca === undefined && cert === undefined && key === undefined) return undefined
  return { ...(ca !== undefined && { ca }), ...(cert !== undefined && { cert }), ...(key !== undefined && { key }) }
}

/** The text of a certificate or key file. */
function pemIn(variable: Variable | undefined): string | undefined {
  if (!variable) return undefined
  const [name, path] = variable
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new ConfigError(`${name} ${quote(path)} cannot be read: ${(error as Error).message}`)
  }
  if (!/-----BEGIN [A-Z0-9 ]+-----/.test(text))
    throw new ConfigError(`${name} ${quote(path)} contains no PEM certificate or key`)
  try {
    if (name.endsWith('_KEY')) certificates().createPrivateKey(text)
    else new (certificates().X509Certificate)(text)
  } catch (error) {
    const what = name.endsWith('_KEY') ? 'key' : 'certificate'
    throw new ConfigError(`${name} ${quote(path)} contains no valid ${what}: ${(error as Error).message}`)
  }
  return text
}

function resourceOf(read: Reader): Record<string, string> {
  const service = read('OTEL_SERVICE_NAME')
  return { ...pairsOf(read('OTEL_RESOURCE_ATTRIBUTES')), ...(service && { 'service.name': service[1] }) }
}

const CONTENT = ['true', '1', 'span_only', 'span_and_event']
const wantsContent = (variable: Variable | undefined) => CONTENT.includes(variable?.[1].toLowerCase() ?? '')

/**
 * The sampling, by the standard names. Traces that a caller does not sample are not exported, unless configured
 * otherwise.
 */
function samplingOf(read: Reader): TelemetrySettings['sampling'] {
  const sampler = read('OTEL_TRACES_SAMPLER') ?? ['OTEL_TRACES_SAMPLER', 'parentbased_always_on']
  const [, parent, name] = /^(parentbased_)?(always_on|always_off|traceidratio)$/.exec(sampler[1]) ?? []
  if (name === undefined)
    throw wrong(sampler, 'always_on, always_off or traceidratio, perhaps with parentbased_ before it')
  const argument: Variable = read('OTEL_TRACES_SAMPLER_ARG') ?? ['OTEL_TRACES_SAMPLER_ARG', '1']
  const ratio = Number(argument[1])
  if (name === 'traceidratio' && !(ratio >= 0 && ratio <= 1)) throw wrong(argument, 'a number from 0 to 1')
  return { ratio: name === 'traceidratio' ? ratio : name === 'always_on' ? 1 : 0, ofAll: parent === undefined }
}
