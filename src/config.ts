// Flags, environment and understudy.yaml, parsed once into a frozen Config: a flag beats the environment, which beats the
// file. Each setting is one row of the table below; the command line, its help and the errors are made from it.
import { z } from 'zod'
import { ConfigError, type Given, readConfigFile } from './config/file.ts'
import { BACKENDS, type BackendName, type Forwarding, readForwarding } from './config/providers.ts'
import { problemsOf, quote } from './contract/validation.ts'
import { parseSize } from './lib/units.ts'

export { ConfigError }

const integerText = () => z.union([z.int(), z.string().regex(/^\d+$/).transform(Number)])
const numberText = () =>
  z.union([
    z.number(),
    z
      .string()
      .regex(/^\d+(\.\d+)?$/)
      .transform(Number),
  ])
const boolean = () =>
  z.union([z.boolean(), z.enum(['true', 'false', '1', '0']).transform((text) => text === 'true' || text === '1')])
const texts = () => z.array(z.string().min(1))
const origin = () => z.string().refine((text) => text === '*' || URL.parse(text)?.origin === text)

/** Where a token works. */
const TokenPlace = () =>
  z.strictObject({
    workspace: z.string().min(1).default('default'),
    project: z
      .string()
      .min(1)
      .regex(/^[^/]+$/)
      .optional(),
  })
export type TokenPlace = z.infer<ReturnType<typeof TokenPlace>>

interface Setting<T> {
  /** What the flag takes; absent for a switch. */
  takes?: string
  /** Made when a value is given: a start without any checks nothing. */
  schema: () => z.ZodType<T, unknown>
  fallback: T
  help: string
  /** Ends the sentence "... must be". */
  valid: string
  /** Only understudy.yaml can say it: it is no one line. */
  fileOnly?: boolean
}
const setting = <T>(row: Setting<T>): Setting<T> => row

/** Every setting by its key in understudy.yaml; `on_miss` is the flag `--on-miss` and the variable `UNDERSTUDY_ON_MISS`. */
export const SETTINGS = {
  port: setting({
    takes: 'NUMBER',
    schema: () => integerText().pipe(z.int().min(0).max(65_535)),
    fallback: 4010,
    help: 'port to listen on; 0 takes a free one',
    valid: 'a number from 0 to 65535',
  }),
  host: setting<string | undefined>({
    takes: 'HOST',
    schema: () => z.string().regex(/^[\w.:-]+$/),
    fallback: undefined,
    help: 'address to listen on; loopback, v4 and v6, when left out; any other needs --token',
    valid: 'a host name or an address',
  }),
  db: setting({
    takes: 'FILE',
    schema: () => z.string().min(1),
    fallback: 'understudy.db',
    help: 'SQLite file of the default session, or :memory:',
    valid: 'a file path or :memory:',
  }),
  fixtures: setting<string[]>({
    takes: 'DIR',
    schema: () => texts(),
    fallback: [],
    help: 'fixture file or folder, tried before the embedded ones; repeatable',
    valid: 'a file or folder',
  }),
  seed_file: setting<string[]>({
    takes: 'FILE',
    schema: texts,
    fallback: [],
    help: 'what fills the workspace of a new session instead of the shipped example, or none; repeatable',
    valid: 'a file, or none',
  }),
  scenario: setting<string[]>({
    takes: 'NAME',
    schema: () => texts(),
    fallback: [],
    help: 'scenario that every session begins with: a shipped name or a file; repeatable, the others are known by name',
    valid: 'the name of a shipped scenario or a file',
  }),
  on_miss: setting<'synthesize' | 'error'>({
    takes: 'ACTION',
    schema: () => z.enum(['synthesize', 'error']),
    fallback: 'synthesize',
    help: 'what a call without a fixture gets',
    valid: 'synthesize or error',
  }),
  backend: setting<BackendName>({
    takes: 'NAME',
    schema: () => z.enum(BACKENDS),
    fallback: 'fixture',
    help: 'who answers: fixtures, or the real providers, for which providers in understudy.yaml may say otherwise',
    valid: 'fixture or forward',
  }),
  max_calls: setting<number | undefined>({
    takes: 'NUMBER',
    schema: () => integerText().pipe(z.int().min(0)),
    fallback: undefined,
    help: 'most calls to real providers; further ones are refused',
    valid: 'a whole number from 0',
  }),
  max_cost: setting<number | undefined>({
    takes: 'USD',
    schema: () => numberText().pipe(z.number().min(0)),
    fallback: undefined,
    help: 'most that calls to real providers may cost at list price; once it is reached they are refused',
    valid: 'an amount of dollars such as 2.50',
  }),
  strict: setting({
    schema: () => boolean(),
    fallback: false,
    help: 'refuse what is otherwise accepted with a warning: feedback on a trace that nobody knows',
    valid: 'true or false',
  }),
  seed: setting({
    takes: 'NUMBER',
    schema: () => integerText().pipe(z.int().min(0)),
    fallback: 0,
    help: 'seed of all ids and chance',
    valid: 'a whole number from 0',
  }),
  clock: setting<'real' | 'virtual'>({
    takes: 'KIND',
    schema: () => z.enum(['real', 'virtual']),
    fallback: 'real',
    help: 'clock of the sessions; a virtual one starts at a fixed instant and never waits',
    valid: 'real or virtual',
  }),
  keep_traces: setting({
    takes: 'NUMBER',
    schema: () => integerText().pipe(z.int().min(1)),
    fallback: 10_000,
    help: 'traces kept of each session; the oldest go first',
    valid: 'a whole number from 1',
  }),
  namespace: setting({
    takes: 'NAME',
    schema: () => z.string().regex(/^[a-z][a-z0-9_]*$/),
    fallback: 'svc',
    help: 'name of the service options object in requests',
    valid: 'lower-case letters, digits and _, beginning with a letter',
  }),
  token: setting<string[]>({
    takes: 'TOKEN',
    schema: () => z.array(z.string().regex(/^[^\s#]+$/)),
    fallback: [],
    help: 'a token that may call; any may when none is given; repeatable',
    valid: 'a text without spaces and #',
  }),
  tokens: setting<Record<string, TokenPlace>>({
    fileOnly: true,
    schema: () => z.record(z.string().regex(/^[^\s#]+$/), TokenPlace()),
    fallback: {},
    help: 'which workspace and project a token works in',
    valid: "a workspace, and perhaps a project, by token: 'key-1: { workspace: acme, project: support }'",
  }),
  cors: setting<string[]>({
    takes: 'ORIGIN',
    schema: () => z.array(origin()),
    fallback: [],
    help: 'an origin whose pages may call, or *; repeatable',
    valid: 'an origin such as http://localhost:3000, or *',
  }),
  max_body: setting({
    takes: 'SIZE',
    schema: () =>
      z
        .union([z.number(), z.string()])
        .transform((value) => parseSize(value))
        .pipe(z.number().min(1)),
    fallback: 32 * 2 ** 20,
    help: 'largest request body',
    valid: 'a size such as 512KiB or 32MiB',
  }),
  json: setting({
    schema: () => boolean(),
    fallback: false,
    help: 'print one JSON line instead of the ready lines',
    valid: 'true or false',
  }),
  ready_file: setting<string | undefined>({
    takes: 'FILE',
    schema: () => z.string().min(1),
    fallback: undefined,
    help: 'file that gets the same JSON line once calls are answered',
    valid: 'a file path',
  }),
} as const

type Key = keyof typeof SETTINGS
/** Everything that is configured, frozen. */
export type Config = Readonly<{ [K in Key]: (typeof SETTINGS)[K]['fallback'] } & { forwarding: Forwarding }>

export const flagOf = (key: string): string => `--${key.replaceAll('_', '-')}`
const variableOf = (key: string) => `UNDERSTUDY_${key.toUpperCase()}`
const keys = Object.keys(SETTINGS) as Key[]
/** Whether a setting is a list, whose flag may be repeated and whose variable is separated by commas. */
export const isList = (key: string): boolean => Array.isArray(SETTINGS[key as Key].fallback)

/** Whether a setting has neither flag nor variable. */
export const isFileOnly = (key: string): boolean => SETTINGS[key as Key].fileOnly === true

/** The configuration of flags (by key), environment and file; throws `ConfigError` for the first thing that is wrong. */
export function readConfig(
  flags: Record<string, unknown>,
  environment: Record<string, string | undefined> = process.env,
): Config {
  const named = (flags.config as string | undefined) ?? (environment.UNDERSTUDY_CONFIG || undefined)
  const { settings, section } = readConfigFile(named, keys)
  refuseUnknownVariables(environment)
  const config: Record<string, unknown> = {}
  for (const key of keys) {
    const given = fromFlag(key, flags) ?? fromEnvironment(key, environment) ?? settings.get(key)
    config[key] = given ? validated(key, given) : SETTINGS[key].fallback
  }
  config.forwarding = readForwarding({ section, backend: config.backend as BackendName, environment })
  return Object.freeze(config) as Config
}

const fromFlag = (key: Key, flags: Record<string, unknown>): Given | undefined =>
  flags[key] === undefined ? undefined : { value: flags[key], source: flagOf(key) }

function fromEnvironment(key: Key, environment: Record<string, string | undefined>): Given | undefined {
  const text = isFileOnly(key) ? undefined : environment[variableOf(key)]
  if (text === undefined || text === '') return undefined
  return { value: isList(key) ? text.split(',').map((part) => part.trim()) : text, source: variableOf(key) }
}

function validated(key: Key, { value, source }: Given): unknown {
  const listed = isList(key) && !Array.isArray(value) ? [value] : value
  const result = SETTINGS[key].schema().safeParse(listed)
  if (result.success) return result.data
  const [problem] = problemsOf(result.error, listed)
  const at = problem?.path.length ? (listed as unknown[])[problem.path[0] as number] : value
  throw new ConfigError(`${source} ${quote(at)} is not valid: it must be ${SETTINGS[key].valid}`)
}

// Variables of ours that are no setting of the server.
const OTHER_VARIABLES = ['UNDERSTUDY_CONFIG', 'UNDERSTUDY_URL']
function refuseUnknownVariables(environment: Record<string, string | undefined>): void {
  const known = [...keys.filter((key) => !isFileOnly(key)).map(variableOf), ...OTHER_VARIABLES]
  const unknown = Object.keys(environment).find((name) => name.startsWith('UNDERSTUDY_') && !known.includes(name))
  if (unknown) throw new ConfigError(`${unknown} is no setting; valid: ${known.join(', ')}`)
}

/** The environment of a program that shall call us: its own, with the variables that clients of model APIs read. */
export const clientEnvironment = (url: string, session: string): Record<string, string | undefined> => {
  const token = `session:${session}`
  const prefix = `${url}/s/${session}`
  return {
    ...process.env,
    OPENAI_BASE_URL: `${prefix}/v2/router`,
    OPENAI_API_BASE: `${prefix}/v2/router`,
    OPENAI_API_KEY: token,
    ANTHROPIC_BASE_URL: prefix,
    ANTHROPIC_API_KEY: token,
    UNDERSTUDY_URL: url,
    UNDERSTUDY_TOKEN: token,
  }
}

/** Where a command that talks to a running server finds it: flags, else `UNDERSTUDY_URL`, else the default port. */
export function serverAddress(flags: { url?: string; token?: string }): { url: string; token: string; named: boolean } {
  const named = flags.url ?? process.env.UNDERSTUDY_URL
  const url = named ?? `http://127.0.0.1:${SETTINGS.port.fallback}`
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) {
    throw new ConfigError(
      `${flags.url ? '--url' : 'UNDERSTUDY_URL'} ${quote(url)} is not valid: it must be an address such as http://127.0.0.1:4010`,
    )
  }
  const token = flags.token ?? process.env.UNDERSTUDY_TOKEN?.split(',')[0] ?? 'any'
  return { url: url.replace(/\/$/, ''), token, named: named !== undefined }
}
