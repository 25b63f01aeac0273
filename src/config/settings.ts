// Every setting as a row, from which the command line, its help, the environment, the file and the errors are derived.
import type { z } from 'zod'
import type { VolatileRule } from '../contract/core/cassette.ts'
import { ON_MISS, type ReplaySpeed, WEAK_MATCHING, type WeakMatching } from '../contract/core/cassette-modes.ts'
import { HISTORY_MODES } from '../contract/core/history-mode.ts'
import { rules } from '../contract/core/rules.ts'
import { lazy } from '../lib/lazy.ts'
import { alternatives } from '../lib/units.ts'
import { ASSUMED_PROVIDER } from '../providers/openai-family.ts'
import type { Shown } from './file.ts'
import type { TokenRule } from './value-schemas.ts'

/** The backends. */
export const BACKENDS = ['fixture', 'forward'] as const
/** The source of responses: files, or a real provider. */
export type BackendName = (typeof BACKENDS)[number]

/** The schemas of values by kind. */
export type ValueSchemas = typeof import('./value-schemas.ts')
/** Loads them. */
export const valueSchemas = lazy<typeof import('./value-schemas.ts')>(() => require('./value-schemas.ts'))

/** The name of the compiled schema of a setting's values. */
export const settingSchemaName = (key: string): string => `setting-${key}`

/** One setting. */
interface Setting<T> {
  /** The argument of the flag; absent for a switch. */
  takes?: string
  /** Created when a value is given: a start without any validates nothing. */
  schema: (kinds: ValueSchemas) => z.ZodType<T, unknown>
  fallback: T
  help: string
  /** Completes the sentence "... must be". */
  valid: string
  /** How much of a value errors may quote; default: all of it. */
  shown?: Shown
  /** Whether only understudy.yaml can contain it, because it is no single line. */
  fileOnly?: boolean
}
/** A row of the table, with the type of its value. */
const setting = <T>(row: Setting<T>): Setting<T> => row

/** A switch. */
const toggle = (help: string): Setting<boolean> => ({
  schema: ({ boolean }) => boolean(),
  fallback: false,
  help,
  valid: 'true or false',
})
/** One of several words. */
const choice = <const Words extends readonly string[]>(
  takes: string,
  words: Words,
  fallback: Words[number],
  help: string,
  valid: string = alternatives(words),
): Setting<Words[number]> => ({ takes, schema: ({ z }) => z.enum(words), fallback, help, valid })
/** A file or folder, which is optional. */
const place = (takes: string, help: string, valid: string): Setting<string | undefined> => ({
  takes,
  schema: ({ z }) => z.string().min(1),
  fallback: undefined,
  help,
  valid,
})
/** Several texts. */
const list = (takes: string, help: string, valid: string): Setting<string[]> => ({
  takes,
  schema: ({ texts }) => texts(),
  fallback: [],
  help,
  valid,
})
const whole = <Fallback extends number | undefined>(
  low: number,
  fallback: Fallback,
  help: string,
): Setting<number | Fallback> => ({
  takes: 'NUMBER',
  schema: ({ integerText, z }) => integerText().pipe(z.int().min(low)),
  fallback,
  help,
  valid: `a whole number from ${low}`,
})
/** A size in bytes. */
const sized = (fallback: number, help: string, valid: string): Setting<number> => ({
  takes: 'SIZE',
  schema: ({ size }) => size(),
  fallback,
  help,
  valid,
})
/** A duration in ms. */
const lasting = <Fallback extends number | undefined>(
  low: number,
  fallback: Fallback,
  help: string,
  valid: string,
): Setting<number | Fallback> => ({
  takes: 'DURATION',
  schema: ({ Duration, z }) => Duration.pipe(z.number().min(low)),
  fallback,
  help,
  valid,
})

/** Every setting by its key in understudy.yaml; `on_unmatched` is the flag `--on-unmatched` and the variable `UNDERSTUDY_ON_UNMATCHED`. */
export const SETTINGS = {
  // UNDE on the keys of a telephone. IANA has assigned it to nobody, and the tools that run beside this one listen elsewhere.
  port: setting({
    takes: 'NUMBER',
    schema: ({ integerText, z }) => integerText().pipe(z.int().min(0).max(65_535)),
    fallback: 8633,
    help: 'port to listen on; 0 picks a free port',
    valid: 'a number from 0 to 65535',
  }),
  host: setting<string | undefined>({
    takes: 'HOST',
    schema: ({ z }) => z.string().regex(/^[\w.:-]+$/),
    fallback: undefined,
    help: 'address to listen on (default: loopback, IPv4 and IPv6); any other address requires --token',
    valid: 'a host name or an address',
  }),
  db: setting({
    takes: 'FILE',
    schema: ({ z }) => z.string().min(1),
    fallback: 'understudy.db',
    help: 'SQLite file of the default session, or :memory:',
    valid: 'a file path or :memory:',
  }),
  fixtures: list('DIR', 'fixture file or folder; repeatable', 'a file or folder'),
  shipped_fixtures: toggle(
    'match unmatched calls against the shipped example fixtures; understudy fixture list shows them',
  ),
  seed_file: list(
    'FILE',
    'seed file for the workspace of new sessions, instead of the shipped example; none for an empty workspace; repeatable',
    'a file, or none',
  ),
  scenario: list(
    'NAME',
    'scenario that every session starts with, a shipped name or a file; repeatable: further ones can be activated by name',
    'the name of a shipped scenario or a file',
  ),
  on_unmatched: choice(
    'ACTION',
    ['generate', 'error'],
    'generate',
    'what an unmatched call gets: generate (a generated response) or error (a 404 that lists near misses)',
  ),
  tools: choice(
    'WHEN',
    ['requested', 'eager'],
    'requested',
    'when a generated response calls a tool: requested (when the request requires it) or eager (until the request has a tool result)',
  ),
  history: choice(
    'MODE',
    HISTORY_MODES,
    'strict',
    'what happens to conversations that their provider would reject, such as a tool call without its result: strict (rejected in its words), lenient (only reported) or off',
  ),
  backend: choice(
    'NAME',
    BACKENDS,
    'fixture',
    'where responses come from: fixture or forward (real providers); understudy.yaml can set it per provider',
  ),
  default_provider: setting({
    takes: 'NAME',
    schema: ({ z }) => z.string().regex(/^[^/\s]+$/),
    fallback: ASSUMED_PROVIDER,
    help: "provider of models that are named without one, such as 'gpt-4o'",
    valid: 'the name of a provider, such as openai',
  }),
  record: place(
    'DIR',
    'forward calls to real providers, and record their responses in this folder, one cassette per session',
    'a folder',
  ),
  replay: place(
    'DIR',
    'replay the cassettes in this folder instead of calling real providers',
    'a folder with cassettes',
  ),
  on_miss: choice(
    'ACTION',
    ON_MISS,
    'error',
    'with --replay, what a request without a recorded response gets: error (a 404 with the nearest interaction), forward (the response of its provider) or record (the same, recorded)',
    'error, forward or record (a generated response would be taken for a recorded one)',
  ),
  speed: setting<ReplaySpeed | undefined>({
    takes: 'SPEED',
    schema: ({ replaySpeed }) => replaySpeed(),
    fallback: undefined,
    help: 'with --replay, how fast recorded latency passes: real, instant, or a factor such as 10 (default: real; instant for commands that run a program)',
    valid: 'real, instant, or a factor such as 10',
  }),
  allow: setting<WeakMatching[]>({
    takes: 'MATCHING',
    schema: ({ z }) => z.array(z.enum(WEAK_MATCHING)),
    fallback: [],
    help: 'with --replay, also match requests that differ in sampling parameters (sampling), or that continue a recorded conversation (prefix); repeatable',
    valid: 'sampling or prefix',
  }),
  max_recorded: sized(
    8 * 2 ** 20,
    'maximum recorded size of a response; the rest is passed on, but not recorded',
    'a size such as 512KiB or 8MiB',
  ),
  volatile: setting<VolatileRule[]>({
    fileOnly: true,
    schema: ({ volatileRules }) => volatileRules(),
    fallback: [],
    help: 'fields of requests that change from run to run, and are not compared with recorded requests',
    valid: "a list of rules such as '- { name: run-id, path: metadata.run_id }'",
  }),
  redact: setting<string[]>({
    fileOnly: true,
    schema: ({ fieldPaths }) => fieldPaths(),
    fallback: [],
    help: 'paths of fields whose values are replaced in cassettes, such as messages[*].name, besides keys and other secrets',
    valid: 'a list of paths such as messages[*].name',
  }),
  redact_names: toggle('also replace personal names in cassettes'),
  max_calls: whole(0, undefined, 'maximum number of calls to real providers; further calls fail'),
  max_cost: setting<number | undefined>({
    takes: 'USD',
    schema: ({ numberText, z }) => numberText().pipe(z.number().min(0)),
    fallback: undefined,
    help: 'maximum cost of calls to real providers, at list prices; further calls fail',
    valid: 'an amount in dollars, such as 2.50',
  }),
  strict: toggle('reject feedback for unknown traces'),
  seed: whole(0, 0, 'seed for ids and randomness'),
  clock: choice(
    'KIND',
    ['real', 'virtual'],
    'real',
    'clock of sessions: real, or virtual, which starts at a fixed time and skips waits',
  ),
  skip_latency: toggle('on a virtual clock, also skip injected latency (delays, slow and stalled streams)'),
  keep_traces: whole(1, 10_000, 'maximum number of traces per session; the oldest are dropped first'),
  max_sessions: whole(
    1,
    1_000,
    'maximum number of sessions, including the default one; calls to further sessions fail',
  ),
  session_ttl: lasting(
    1_000,
    undefined,
    'delete a session, except the default one, after this time without use',
    'a duration from 1s, such as 10m',
  ),
  keep_trace_bytes: sized(
    256 * 2 ** 20,
    'maximum size of the traces of a session; the oldest are dropped first',
    'a size such as 64MiB or 1GiB',
  ),
  keep_response_bytes: sized(
    128 * 2 ** 20,
    'maximum size of the stored responses, cached responses and images of a session; expired and oldest ones are dropped first',
    'a size such as 64MiB or 1GiB',
  ),
  namespace: setting({
    takes: 'NAME',
    schema: ({ z }) => z.string().regex(/^[a-z][a-z0-9_]*$/),
    fallback: 'svc',
    help: 'name of the object with gateway options in requests',
    valid: 'lowercase letters, digits and _, starting with a letter',
  }),
  token: setting<string[]>({
    takes: 'TOKEN',
    schema: ({ z }) => z.array(z.string().regex(/^[^\s#]+$/)),
    fallback: [],
    help: 'accepted token (default: any token); repeatable',
    valid: 'a string without spaces or #',
    shown: 'nothing',
  }),
  tokens: setting<Record<string, TokenRule>>({
    fileOnly: true,
    schema: ({ tokenRule, z }) => z.record(z.string().regex(/^[^\s#]+$/), tokenRule()),
    fallback: {},
    help: 'workspace and project of each token',
    shown: 'nothing',
    valid:
      "a mapping from tokens to a workspace and an optional project: 'key-1: { workspace: acme, project: support }'",
  }),
  cors: setting<string[]>({
    takes: 'ORIGIN',
    schema: ({ origin, z }) => z.array(origin()),
    fallback: [],
    help: 'origin whose pages may call the server, or *; repeatable',
    valid: 'an origin such as http://localhost:3000, or *',
    shown: 'address',
  }),
  max_body: sized(32 * 2 ** 20, 'maximum size of a request body', 'a size such as 512KiB or 32MiB'),
  max_response: sized(
    64 * 2 ** 20,
    'maximum size of a response from a real provider, decompressed',
    'a size such as 512KiB or 64MiB',
  ),
  client_timeout: lasting(1, 120_000, 'idle timeout for client connections', 'a duration such as 30s or 2m'),
  instance: setting<string | undefined>({
    takes: 'NAME',
    schema: ({ z }) => z.string().regex(/^[A-Za-z0-9._:-]{1,64}$/),
    fallback: undefined,
    help: 'name of this instance behind a load balancer, sent with every response and stored in traces (default: host and port)',
    valid: "1 to 64 letters, digits, '.', '_', ':' or '-'",
  }),
  instance_strict: toggle(
    'reject requests that name their session where a load balancer cannot see it: in the body or the query',
  ),
  drain_timeout: lasting(
    0,
    5_000,
    'time to finish calls in progress after a stop signal; new sessions are rejected',
    'a duration such as 30s',
  ),
  sessions_dir: place(
    'DIR',
    'folder that keeps named sessions across restarts, one database file each (default: in memory)',
    'a folder',
  ),
  verbose: toggle('print a line per request on standard error'),
  otlp: setting<string | undefined>({
    takes: 'URL',
    schema: ({ z }) => z.string().refine(rules.isCollector),
    fallback: undefined,
    help: 'export a trace of each call to this OpenTelemetry collector (OTLP over HTTP, JSON); env uses the OTEL_* variables',
    valid: 'an address such as http://localhost:4318, or env',
    shown: 'address',
  }),
  otlp_content: toggle('with --otlp, also export the content of requests and responses'),
  log: setting<'json' | undefined>({
    takes: 'FORMAT',
    schema: ({ z }) => z.enum(['json']),
    fallback: undefined,
    help: 'json: log calls and messages as JSON lines on standard error, with ids and without content',
    valid: 'json',
  }),
  json: toggle('print the startup message as one line of JSON'),
  stop_with_stdin: toggle('stop when standard input closes, for example because the parent process ended'),
  ready_file: place('FILE', 'file that receives the line of --json once the server is ready', 'a file path'),
} as const

/** The value of every setting. */
export type SettingValues = { [Key in keyof typeof SETTINGS]: (typeof SETTINGS)[Key]['fallback'] }
