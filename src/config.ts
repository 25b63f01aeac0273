// Flags, environment and understudy.yaml, parsed once into a frozen Config: a flag takes precedence over the
// environment, which takes precedence over the file. The settings are the rows of config/settings.ts.
import { basename } from 'node:path'
import { type OutsideAddress, telemetryAddress } from './config/addresses.ts'
import { ConfigError, mustBe, quoteSetting, readConfigFile, type SettingValue } from './config/file.ts'
import { type ForwardingRules, readForwarding } from './config/providers.ts'
import { type BackendName, SETTINGS, type SettingValues, settingSchemaName, valueSchemas } from './config/settings.ts'
import type { TelemetrySettings } from './config/telemetry.ts'
import type { Problem } from './contract/core/problem.ts'
import type { TimeSettings } from './lib/clock.ts'
import { withoutProxy } from './lib/direct-fetch.ts'
import { presentName } from './lib/former-names.ts'
import { lazy } from './lib/lazy.ts'
import { suggestion } from './lib/likely-name.ts'
import { isObject } from './lib/values.ts'
import { providerNames } from './providers/names.ts'
import { parseCompiled } from './schema/parse.ts'
import { NOT_VALID } from './schema/parser.ts'
import { formatPath, problemsOf, safeParse } from './schema/validation.ts'

export { ConfigError, SETTINGS }

type Key = keyof typeof SETTINGS
/** The variables of a process, by name. */
export type Environment = Readonly<Record<string, string | undefined>>
/** The whole configuration, frozen. */
export type Config = Readonly<
  SettingValues & {
    forwarding: ForwardingRules
    /** The export of traces, if any. */
    telemetry: TelemetrySettings | undefined
    /** Addresses that receive calls, keys or traces and are not a provider's own, to be listed at start. */
    addresses: readonly OutsideAddress[]
    /** Time settings of flags and variables, which take precedence over those of scenarios. */
    timeOverrides: Partial<TimeSettings>
    /** Whether a flag or variable says how conversations are judged. */
    historyOverrides: boolean
    /** Settings that only a replay needs, where they are given. */
    replaySettings: readonly SettingValue[]
  }
>
// Most starts export nothing.
const telemetry = lazy<typeof import('./config/telemetry.ts')>(() => require('./config/telemetry.ts'))

/** The flag of a setting. */
export const flagOf = (key: string): string => `--${key.replaceAll('_', '-')}`
/** The environment variable of a setting. */
export const variableOf = (key: string) => `UNDERSTUDY_${key.toUpperCase()}`
const keys = Object.keys(SETTINGS) as Key[]
/** Whether a setting is a list, whose flag may be repeated and whose variable is separated by commas. */
export const isList = (key: string): boolean => Array.isArray(SETTINGS[key as Key].fallback)

/** The default of a setting as it is written in a file, with its unit; empty if the setting has no default. */
export function writtenDefault({ fallback, takes }: { fallback: unknown; takes?: string }): string {
  if (fallback === undefined || typeof fallback === 'object') return ''
  if (takes === 'SIZE') return `${Number(fallback) / 2 ** 20}MiB`
  if (takes !== 'DURATION') return String(fallback)
  const seconds = Number(fallback) / 1_000
  return seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`
}

/** Whether a setting has neither flag nor variable. */
export const isFileOnly = (key: string): boolean => SETTINGS[key as Key].fileOnly === true

/**
 * The configuration from flags (by key), environment and file.
 * @throws ConfigError for the first mistake
 */
export function readConfig(flags: Record<string, unknown>, environment: Environment): Config {
  const named = (flags.config as string | undefined) ?? (environment.UNDERSTUDY_CONFIG || undefined)
  const { settings, section } = readConfigFile(named, keys)
  refuseUnknownVariables(environment)
  const config: Record<string, unknown> = {}
  const settingFor = (key: Key) => fromFlag(key, flags) ?? fromEnvironment(key, environment) ?? settings.get(key)
  for (const key of keys) {
    const value = settingFor(key)
    config[key] = value ? validated(key, value) : SETTINGS[key].fallback
  }
  // A flag takes precedence over the other setting as well.
  if (flags.record !== undefined && flags.replay === undefined) config.replay = undefined
  if (flags.replay !== undefined && flags.record === undefined) config.record = undefined
  refuseBoth(config as Config)
  // Recorded and replayed calls are those of real providers.
  const isOnCassettes = config.record !== undefined || config.replay !== undefined
  const usual = isOnCassettes && !settingFor('backend') ? 'forward' : (config.backend as BackendName)
  const isOffline = config.replay !== undefined && config.record === undefined && config.on_miss === 'error'
  config.forwarding = readForwarding({ section, backend: usual, environment, isOffline })
  refuseIdleBackend(config as Config, flags, { replay: settingFor('replay'), backend: settingFor('backend') })
  const { otlp, otlp_content: content } = config as Pick<Config, 'otlp' | 'otlp_content'>
  config.telemetry = otlp === undefined ? undefined : telemetry().readTelemetry(otlp, content, environment)
  config.addresses = [
    ...(config.forwarding as ForwardingRules).addresses,
    ...telemetryAddress(config.telemetry as TelemetrySettings | undefined, settingFor('otlp')?.source ?? ''),
  ]
  const typed = (key: Key) => fromFlag(key, flags) ?? fromEnvironment(key, environment)
  config.timeOverrides = {
    ...(typed('clock') && { clock: config.clock }),
    ...(typed('skip_latency') && { latency: config.skip_latency ? 'skip' : 'real' }),
  }
  config.historyOverrides = typed('history') !== undefined
  config.replaySettings = (['on_miss', 'speed', 'allow'] as const).flatMap((key) => settingFor(key) ?? [])
  const read = Object.freeze(config) as Config
  refuseUnknownProvider(read, settingFor('default_provider'))
  return read
}

/** Recording and replay exclude each other. */
function refuseBoth({ record, replay }: Config): void {
  if (record === undefined || replay === undefined) return
  throw new ConfigError(
    '--record and --replay exclude each other: --replay DIR --on-miss record records only what is missing',
  )
}

/** Only calls that would go to a provider are recorded or replayed, and a replay forwards none of them. */
function refuseIdleBackend(
  { forwarding, record }: Config,
  flags: Record<string, unknown>,
  { replay, backend }: Record<'replay' | 'backend', SettingValue | undefined>,
): void {
  if (replay && forwarding.isOffline && flags.backend === 'forward') {
    throw new ConfigError(
      `${replay.source} and --backend forward exclude each other: leave out --backend to replay, or ${replay.source} to call providers; --on-miss forward calls them for requests that were not recorded`,
    )
  }
  const isTyped = flags.record !== undefined || flags.replay !== undefined
  if (!backend || !isTyped || forwarding.upstreams.length > 0) return
  throw new ConfigError(
    `${backend.source}${quoteSetting(backend.value)} lets no call reach a provider, so nothing would be ${record === undefined ? 'replayed' : 'recorded'}: leave it out, or set 'backend: forward' for a provider in understudy.yaml`,
  )
}

/** An unknown provider cannot be the default. */
function refuseUnknownProvider({ forwarding }: Config, setting: SettingValue | undefined): void {
  if (!setting) return
  const { known } = providerNames(forwarding.named)
  if (known.includes(String(setting.value))) return
  throw new ConfigError(mustBe(setting.source, `one of ${known.join(', ')}`, quoteSetting(setting.value)))
}

/** The settings of the routes. */
export const appSettings = (config: Config) => ({
  namespace: config.namespace,
  defaultProvider: config.default_provider,
  access: { host: config.host, token: config.token, tokens: config.tokens, cors: config.cors },
  maxBody: config.max_body,
  clientTimeout: config.client_timeout,
  strict: config.strict,
  instanceStrict: config.instance_strict,
})

const fromFlag = (key: Key, flags: Record<string, unknown>): SettingValue | undefined =>
  flags[key] === undefined ? undefined : { value: flags[key], source: flagOf(key) }

function fromEnvironment(key: Key, environment: Environment): SettingValue | undefined {
  const text = isFileOnly(key) ? undefined : environment[variableOf(key)]
  if (text === undefined || text === '') return undefined
  return { value: isList(key) ? text.split(',').map((part) => part.trim()) : text, source: variableOf(key) }
}

function validated(key: Key, { value, source }: SettingValue): unknown {
  const listed = isList(key) && !Array.isArray(value) ? [value] : value
  const quick = parseCompiled(settingSchemaName(key), listed)
  if (quick !== NOT_VALID) return quick
  const result = safeParse<unknown>(SETTINGS[key].schema(valueSchemas()), listed)
  if (result.success) return result.data
  const [problem] = problemsOf(result.error, listed)
  // Inside of a rule, its field says more than the whole.
  if (problem && problem.path.length > 1 && SETTINGS[key].shown === undefined)
    throw new ConfigError(`${source}${formatPath(problem.path)} ${problem.message}`)
  const at = problem?.path.length ? (listed as unknown[])[problem.path[0] as number] : value
  const rename = problem?.rename === undefined ? '' : ` (did you mean '${problem.rename.to}'?)`
  throw new ConfigError(mustBe(source, SETTINGS[key].valid, quoteSetting(at, SETTINGS[key].shown)) + rename)
}

/** The unknown keys of a settings file, and values with a former name. */
export function settingProblems(file: unknown): Problem[] {
  if (!isObject(file)) return []
  return Object.entries(file).flatMap(([key, value]): Problem[] => {
    if (!keys.includes(key as Key)) {
      const to = presentName(key, keys)
      return to === undefined ? [] : [{ path: [key], message: 'has a new name', rename: { part: 'key', to } }]
    }
    const result = safeParse<unknown>(SETTINGS[key as Key].schema(valueSchemas()), value)
    return result.success
      ? []
      : problemsOf(result.error, value).map((problem) => ({ ...problem, path: [key, ...problem.path] }))
  })
}

// A variable of ours that is no setting of the server.
const LAUNCHER = 'UNDERSTUDY_PARENT'
const OTHER_VARIABLES = [
  ...['UNDERSTUDY_CONFIG', 'UNDERSTUDY_URL', 'UNDERSTUDY_CLOCK_URL', 'UNDERSTUDY_BIN', LAUNCHER],
  ...['UNDERSTUDY_RUN', 'UNDERSTUDY_RUN_DIR'],
]
function refuseUnknownVariables(environment: Environment): void {
  const known = [...keys.filter((key) => !isFileOnly(key)).map(variableOf), ...OTHER_VARIABLES]
  const unknown = Object.keys(environment).find((name) => name.startsWith('UNDERSTUDY_') && !known.includes(name))
  if (unknown) {
    const keyOf = (variable: string) => variable.slice('UNDERSTUDY_'.length).toLowerCase()
    const near = suggestion(keyOf(unknown), known.map(keyOf)).replace(
      /'(\w+)'/,
      (_, key: string) => `'${variableOf(key)}'`,
    )
    throw new ConfigError(`${unknown} is not a setting${near}; valid: ${known.join(', ')}`)
  }
}

/** The environment of a program that will call the server: ours, with the variables of model API clients. */
export const clientEnvironment = (
  environment: Environment,
  url: string,
  session: string,
  allowed?: string,
): Record<string, string | undefined> => {
  // The token alone selects the session, so that a program with other tokens has other sessions.
  const token = allowed === undefined ? `session:${session}` : `${allowed}#session:${session}`
  return {
    ...environment,
    // Its child processes have another parent.
    [LAUNCHER]: undefined,
    // Programs for these APIs use their own paths, and need no change.
    OPENAI_BASE_URL: `${url}/v1`,
    OPENAI_API_BASE: `${url}/v1`,
    OPENAI_API_KEY: token,
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_API_KEY: token,
    UNDERSTUDY_URL: url,
    // A proxy of the environment could not reach the server.
    ...withoutProxy(environment, new URL(url).hostname),
    UNDERSTUDY_TOKEN: token,
    // For helpers that need our command; from source there is no executable.
    ...(basename(process.execPath).startsWith('understudy') && { UNDERSTUDY_BIN: process.execPath }),
  }
}

/**
 * Process id of the launcher with which the server must end, as that of the npm package; undefined without one.
 * @throws ConfigError if it is invalid
 */
export function launcher(environment: Environment): number | undefined {
  const text = environment[LAUNCHER]
  if (!text) return undefined
  if (/^[1-9]\d{0,9}$/.test(text)) return Number(text)
  throw new ConfigError(mustBe(LAUNCHER, 'the process id of the parent process', quoteSetting(text)))
}

/** The commands that have a log. */
const LOGGING = ['serve', 'exec', 'explore', 'record']
/**
 * Whether the command line or the environment requests `--log json`, before anything is validated; `understudy.yaml` is
 * not read.
 */
export function requestsJsonLog([command = '', ...args]: readonly string[], environment: Environment): boolean {
  if (!LOGGING.includes(command)) return false
  const own = args.slice(0, args.includes('--') ? args.indexOf('--') : undefined)
  const at = own.indexOf('--log')
  const typed = at < 0 ? own.find((one) => one.startsWith('--log='))?.slice('--log='.length) : own[at + 1]
  return (typed ?? environment.UNDERSTUDY_LOG) === 'json'
}

/**
 * The address of a running server: flags, else `UNDERSTUDY_URL`, else the default port.
 * @throws ConfigError if it is invalid
 */
export function serverAddress(
  environment: Environment,
  flags: { url?: string; token?: string },
  flag = '--url',
): { url: string; token: string; named: boolean } {
  const named = flags.url ?? environment.UNDERSTUDY_URL
  const url = named ?? `http://127.0.0.1:${environment.UNDERSTUDY_PORT || SETTINGS.port.fallback}`
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) {
    const valid = 'an address such as http://127.0.0.1:8633'
    throw new ConfigError(mustBe(flags.url ? flag : 'UNDERSTUDY_URL', valid, quoteSetting(url, 'address')))
  }
  const token = flags.token ?? environment.UNDERSTUDY_TOKEN?.split(',')[0] ?? 'any'
  return { url: url.replace(/\/$/, ''), token, named: named !== undefined }
}
