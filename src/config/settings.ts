// Every setting as a row: the command line, its help, the environment, the file and the errors are made from this table.
import type { z } from 'zod'
import { rules } from '../contract/core/rules.ts'
import { lazy } from '../lib/lazy.ts'
import { ASSUMED_PROVIDER } from '../providers/assumed.ts'
import type { Shown } from './file.ts'
import type { TokenRule } from './value-schemas.ts'

/** Who may answer calls. */
export const BACKENDS = ['fixture', 'forward'] as const
/** Who answers: files, or a real provider. */
export type BackendName = (typeof BACKENDS)[number]

/** The kinds of values. */
export type ValueSchemas = typeof import('./value-schemas.ts')
/** Loads them. */
export const valueSchemas = lazy<typeof import('./value-schemas.ts')>(() => require('./value-schemas.ts'))

/** The name of the outline of a setting's values. */
export const settingOutline = (key: string): string => `setting-${key}`

/** One setting. */
interface Setting<T> {
  /** What the flag takes; absent for a switch. */
  takes?: string
  /** Made when a value is given: a start without any checks nothing. */
  schema: (kinds: ValueSchemas) => z.ZodType<T, unknown>
  fallback: T
  help: string
  /** Ends the sentence "... must be". */
  valid: string
  /** What errors may quote of a value; all of it when left out. */
  shown?: Shown
  /** Only understudy.yaml can say it: it is no one line. */
  fileOnly?: boolean
}
/** A row of the table, with the type of its value. */
const setting = <T>(row: Setting<T>): Setting<T> => row

/** Every setting by its key in understudy.yaml; `on_miss` is the flag `--on-miss` and the variable `UNDERSTUDY_ON_MISS`. */
export const SETTINGS = {
  port: setting({
    takes: 'NUMBER',
    schema: ({ integerText, z }) => integerText().pipe(z.int().min(0).max(65_535)),
    fallback: 4010,
    help: 'port to listen on; 0 takes a free one',
    valid: 'a number from 0 to 65535',
  }),
  host: setting<string | undefined>({
    takes: 'HOST',
    schema: ({ z }) => z.string().regex(/^[\w.:-]+$/),
    fallback: undefined,
    help: 'address to listen on; loopback, v4 and v6, when left out; any other needs --token',
    valid: 'a host name or an address',
  }),
  db: setting({
    takes: 'FILE',
    schema: ({ z }) => z.string().min(1),
    fallback: 'understudy.db',
    help: 'SQLite file of the default session, or :memory:',
    valid: 'a file path or :memory:',
  }),
  fixtures: setting<string[]>({
    takes: 'DIR',
    schema: ({ texts }) => texts(),
    fallback: [],
    help: 'fixture file or folder; repeatable',
    valid: 'a file or folder',
  }),
  shipped_fixtures: setting({
    schema: ({ boolean }) => boolean(),
    fallback: false,
    help: 'let the example fixtures inside the executable answer what no other fixture does; understudy fixture list shows them',
    valid: 'true or false',
  }),
  seed_file: setting<string[]>({
    takes: 'FILE',
    schema: ({ texts }) => texts(),
    fallback: [],
    help: 'what fills the workspace of a new session instead of the shipped example, or none; repeatable',
    valid: 'a file, or none',
  }),
  scenario: setting<string[]>({
    takes: 'NAME',
    schema: ({ texts }) => texts(),
    fallback: [],
    help: 'scenario that every session begins with: a shipped name or a file; repeatable, the others are known by name',
    valid: 'the name of a shipped scenario or a file',
  }),
  on_miss: setting<'synthesize' | 'error'>({
    takes: 'ACTION',
    schema: ({ z }) => z.enum(['synthesize', 'error']),
    fallback: 'synthesize',
    help: 'what a call without a fixture gets: synthesize, a made-up answer, or error, a 404 that names the nearest fixtures',
    valid: 'synthesize or error',
  }),
  tools: setting<'asked' | 'eager'>({
    takes: 'WHEN',
    schema: ({ z }) => z.enum(['asked', 'eager']),
    fallback: 'asked',
    help: 'when a call without a fixture calls a tool: asked, when the request demands it, or eager, until a result is there',
    valid: 'asked or eager',
  }),
  backend: setting<BackendName>({
    takes: 'NAME',
    schema: ({ z }) => z.enum(BACKENDS),
    fallback: 'fixture',
    help: 'who answers: fixture, or forward, the real providers; providers in understudy.yaml may say otherwise of each',
    valid: 'fixture or forward',
  }),
  default_provider: setting({
    takes: 'NAME',
    schema: ({ z }) => z.string().regex(/^[^/\s]+$/),
    fallback: ASSUMED_PROVIDER,
    help: "provider of a model that a request names without one, such as 'gpt-4o'",
    valid: 'the name of a provider, such as openai',
  }),
  max_calls: setting<number | undefined>({
    takes: 'NUMBER',
    schema: ({ integerText, z }) => integerText().pipe(z.int().min(0)),
    fallback: undefined,
    help: 'most calls to real providers; further ones are refused',
    valid: 'a whole number from 0',
  }),
  max_cost: setting<number | undefined>({
    takes: 'USD',
    schema: ({ numberText, z }) => numberText().pipe(z.number().min(0)),
    fallback: undefined,
    help: 'most that calls to real providers may cost at list price; once it is reached they are refused',
    valid: 'an amount of dollars such as 2.50',
  }),
  strict: setting({
    schema: ({ boolean }) => boolean(),
    fallback: false,
    help: 'refuse what is otherwise accepted with a warning: feedback on a trace that nobody knows',
    valid: 'true or false',
  }),
  seed: setting({
    takes: 'NUMBER',
    schema: ({ integerText, z }) => integerText().pipe(z.int().min(0)),
    fallback: 0,
    help: 'seed of all ids and chance',
    valid: 'a whole number from 0',
  }),
  clock: setting<'real' | 'virtual'>({
    takes: 'KIND',
    schema: ({ z }) => z.enum(['real', 'virtual']),
    fallback: 'real',
    help: 'clock of the sessions: real, or virtual, which starts at a fixed instant and never waits',
    valid: 'real or virtual',
  }),
  skip_latency: setting({
    schema: ({ boolean }) => boolean(),
    fallback: false,
    help: 'on a virtual clock, skip the latency that clients feel (delays, slow and stalled streams) instead of letting it take real time',
    valid: 'true or false',
  }),
  keep_traces: setting({
    takes: 'NUMBER',
    schema: ({ integerText, z }) => integerText().pipe(z.int().min(1)),
    fallback: 10_000,
    help: 'traces kept of each session; the oldest go first',
    valid: 'a whole number from 1',
  }),
  max_sessions: setting({
    takes: 'NUMBER',
    schema: ({ integerText, z }) => integerText().pipe(z.int().min(1)),
    fallback: 1_000,
    help: 'most sessions at a time, with the default one; a call of one more is refused',
    valid: 'a whole number from 1',
  }),
  session_ttl: setting<number | undefined>({
    takes: 'DURATION',
    schema: ({ Duration, z }) => Duration.pipe(z.number().min(1_000)),
    fallback: undefined,
    help: 'drops a session, never the default one, with all it holds when nobody has used it for so long',
    valid: 'a duration from 1s, such as 10m',
  }),
  keep_trace_bytes: setting({
    takes: 'SIZE',
    schema: ({ size }) => size(),
    fallback: 256 * 2 ** 20,
    help: 'most that the traces of a session may take; the oldest go first',
    valid: 'a size such as 64MiB or 1GiB',
  }),
  keep_answer_bytes: setting({
    takes: 'SIZE',
    schema: ({ size }) => size(),
    fallback: 128 * 2 ** 20,
    help: 'the same of its stored responses, cached answers and pictures; the expired and the oldest go first',
    valid: 'a size such as 64MiB or 1GiB',
  }),
  namespace: setting({
    takes: 'NAME',
    schema: ({ z }) => z.string().regex(/^[a-z][a-z0-9_]*$/),
    fallback: 'svc',
    help: 'name of the service options object in requests',
    valid: 'lower-case letters, digits and _, beginning with a letter',
  }),
  token: setting<string[]>({
    takes: 'TOKEN',
    schema: ({ z }) => z.array(z.string().regex(/^[^\s#]+$/)),
    fallback: [],
    help: 'a token that may call; any may when none is given; repeatable',
    valid: 'a text without spaces and #',
    shown: 'nothing',
  }),
  tokens: setting<Record<string, TokenRule>>({
    fileOnly: true,
    schema: ({ tokenRule, z }) => z.record(z.string().regex(/^[^\s#]+$/), tokenRule()),
    fallback: {},
    help: 'which workspace and project a token works in',
    shown: 'nothing',
    valid: "a workspace, and perhaps a project, by token: 'key-1: { workspace: acme, project: support }'",
  }),
  cors: setting<string[]>({
    takes: 'ORIGIN',
    schema: ({ origin, z }) => z.array(origin()),
    fallback: [],
    help: 'an origin whose pages may call, or *; repeatable',
    valid: 'an origin such as http://localhost:3000, or *',
    shown: 'address',
  }),
  max_body: setting({
    takes: 'SIZE',
    schema: ({ size }) => size(),
    fallback: 32 * 2 ** 20,
    help: 'largest request body',
    valid: 'a size such as 512KiB or 32MiB',
  }),
  max_response: setting({
    takes: 'SIZE',
    schema: ({ size }) => size(),
    fallback: 64 * 2 ** 20,
    help: 'largest response of a real provider, unpacked',
    valid: 'a size such as 512KiB or 64MiB',
  }),
  client_timeout: setting({
    takes: 'DURATION',
    schema: ({ Duration, z }) => Duration.pipe(z.number().min(1)),
    fallback: 120_000,
    help: 'longest that a client may keep back its request, read nothing of its answer, or leave its connection unused',
    valid: 'a duration such as 30s or 2m',
  }),
  instance: setting<string | undefined>({
    takes: 'NAME',
    schema: ({ z }) => z.string().regex(/^[A-Za-z0-9._:-]{1,64}$/),
    fallback: undefined,
    help: 'name of this process among several behind a balancer, on every answer and in traces; host and port when left out',
    valid: "1 to 64 letters, digits, '.', '_', ':' or '-'",
  }),
  instance_strict: setting({
    schema: ({ boolean }) => boolean(),
    fallback: false,
    help: 'refuse requests whose session stands where no balancer sees it: in a body or a query',
    valid: 'true or false',
  }),
  drain_timeout: setting({
    takes: 'DURATION',
    schema: ({ Duration, z }) => Duration.pipe(z.number().min(0)),
    fallback: 5_000,
    help: 'longest that running calls may take after a signal to stop; no new sessions begin meanwhile',
    valid: 'a duration such as 30s',
  }),
  sessions_dir: setting<string | undefined>({
    takes: 'DIR',
    schema: ({ z }) => z.string().min(1),
    fallback: undefined,
    help: 'folder with a database file for each named session, which is there again after a restart; in memory when left out',
    valid: 'a folder',
  }),
  verbose: setting({
    schema: ({ boolean }) => boolean(),
    fallback: false,
    help: 'print a line for each request, on standard error',
    valid: 'true or false',
  }),
  otlp: setting<string | undefined>({
    takes: 'URL',
    schema: ({ z }) => z.string().refine(rules.isCollector),
    fallback: undefined,
    help: 'OpenTelemetry collector that gets a trace of each call, over HTTP with JSON; env takes what the OTEL_* variables say',
    valid: 'an address such as http://localhost:4318, or env',
    shown: 'address',
  }),
  otlp_content: setting({
    schema: ({ boolean }) => boolean(),
    fallback: false,
    help: 'with --otlp, export what requests and answers say as well',
    valid: 'true or false',
  }),
  log: setting<'json' | undefined>({
    takes: 'FORMAT',
    schema: ({ z }) => z.enum(['json']),
    fallback: undefined,
    help: 'json prints a line of JSON for each call and all else that is said, on standard error, with ids and without content',
    valid: 'json',
  }),
  json: setting({
    schema: ({ boolean }) => boolean(),
    fallback: false,
    help: 'print one JSON line instead of the ready lines',
    valid: 'true or false',
  }),
  stop_with_stdin: setting({
    schema: ({ boolean }) => boolean(),
    fallback: false,
    help: 'stop when the standard input ends, which it does with the program that started this one, however that ends',
    valid: 'true or false',
  }),
  ready_file: setting<string | undefined>({
    takes: 'FILE',
    schema: ({ z }) => z.string().min(1),
    fallback: undefined,
    help: 'file that gets the same JSON line once calls are answered',
    valid: 'a file path',
  }),
} as const
