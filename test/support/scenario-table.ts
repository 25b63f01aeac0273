// What apps experience under each shipped scenario: run over real sockets, with verdicts as exec has them, and as a page of the docs.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { withClientTime } from '../../src/cli/run/client-time.ts'
import { listen } from '../../src/cli/run/listen.ts'
import { withHangLimit } from '../../src/cli/run/suite.ts'
import { readConfig } from '../../src/config.ts'
import type { TraceRecord } from '../../src/contract/core/trace.ts'
import type { Verification } from '../../src/contract/core/verification.ts'
import { createUnderstudy, type Understudy } from '../../src/deps.ts'
import { realClock } from '../../src/lib/clock.ts'
import { APP_KINDS, type AppKind, ask, CAREFUL_LIMIT_MS, type Connection, type Manner, type Seen } from './apps.ts'
import { createLimit } from './limit.ts'
import { postRaw, type RawResponse } from './raw-http.ts'

/** The shipped scenarios but past incidents, by name. */
export const SCENARIOS: readonly string[] = readdirSync(join(import.meta.dir, '..', '..', 'scenarios'))
  .flatMap((file) => (file.endsWith('.yaml') ? [file.replace(/\.yaml$/, '')] : []))
  .sort()

/** How long a client may wait in silence, in ms: longer than careful apps do. */
export const HANG_LIMIT_MS = 6_000
/** How long a socket is looked at that nothing comes from, in ms; only under scenarios of silence, since a busy machine is silent, too. */
const SILENCE_MS = 2_000
/** More at once would keep each other waiting. */
const AT_ONCE = 30

/** How many questions apps ask where one cannot meet the scenario. */
const QUESTIONS: Record<string, number> = { 'brown-out': 5, 'token-quota': 4 }
/** What a test lets pass on the session's clock after the first question. */
const PASSING: Record<string, string> = { 'brown-out': '31 s' }
/** How long careful apps wait under scenarios of silence, in ms: short, so that tests are, but long enough for responses where there are some. */
const LIMITS: Record<string, { whole?: number; streamed?: number }> = {
  'black-hole': { whole: 1_500, streamed: 1_500 },
  'stream-stalled': { streamed: 1_500 },
  'slow-first-token': { whole: 1_500, streamed: 1_500 },
  'timeout-then-fallback': { whole: 2_500, streamed: 2_500 },
}
/** What the page says of scenarios in which chance decides about each call: what any app may meet, in both forms. */
const BY_CHANCE: Record<string, [socket: string, careful: string, careless: string]> = {
  'brown-out': [
    '200, whole; 503 or 529 later, by chance',
    'responses, and 503 or 529 → response; shows the responses. **PASS**',
    'responses, and 503 or 529; shows nothing for some questions. **FAIL**, error `gave-up`',
  ],
  'slow-first-token': [
    'silence, and 200 later',
    'timeouts → response; shows the response, or tells its user of the failure. **PASS**, at most with the warning `gave-up`',
    'a late response; shows the response. **PASS**, or `no-timeout` as under `black-hole` after silence up to the hang limit',
  ],
}
/** Scenarios that take long come first, so that they end with the others. */
const LONG = ['brown-out', 'fallback-down', 'stream-cut']
/** Scenarios in which it is right to give up: there, a careless app repeats the call at once and again. */
const HAMMERED = ['bad-key', 'context-length']

/** How a client may say that it has ended. */
export const ENDS = ['unknown', 'well', 'badly', 'stopped'] as const

/** One app under one scenario. */
export interface ScenarioCase {
  scenario: string
  kind: AppKind
  stream: boolean
  manner: Manner
  /** What the user saw, for each question. */
  seen: Seen[]
  /** The calls, in the order in which they came. */
  traces: TraceRecord[]
  /** The verdicts, for each way in which the app may be known to have ended; `exec` says `unknown` of exit code 0. */
  verdicts: Record<(typeof ENDS)[number], Verification>
}

/** The first call to an API under a scenario, as it comes on a socket. */
export interface SocketCell {
  scenario: string
  api: Api
  stream: boolean
  response: RawResponse
}

/** All of it. */
export interface ScenarioTable {
  cells: ScenarioCase[]
  sockets: SocketCell[]
}

const seconds = (ms: number) => `${ms / 1000} s`

const PROMPT = 'What is the weather?'
type Api = 'chat' | 'responses' | 'messages'
const CALLS: Record<Api, { path: string; body: object }> = {
  chat: { path: '/v1/chat/completions', body: { model: 'gpt-4o', messages: [{ role: 'user', content: PROMPT }] } },
  responses: { path: '/v1/responses', body: { model: 'gpt-4o', input: PROMPT } },
  messages: {
    path: '/v1/messages',
    body: { model: 'claude-sonnet-4', max_tokens: 200, messages: [{ role: 'user', content: PROMPT }] },
  },
}
/** The API that an app calls. */
const APIS: Record<AppKind, Api> = {
  'openai chat': 'chat',
  'openai responses': 'responses',
  '@anthropic-ai/sdk': 'messages',
  'AI SDK (openai)': 'responses',
  'AI SDK (anthropic)': 'messages',
}

/** What is done before each call. */
let beforeCall = () => {}
/** A connection for each call: apps of one process would else share theirs, which no two programs do. */
const fetchAlone: typeof fetch = Object.assign(
  (input: string | URL | Request, init?: RequestInit) => {
    beforeCall()
    return fetch(input, { ...init, keepalive: false })
  },
  { preconnect: fetch.preconnect },
)

/** Milliseconds before each call at a steady pace. */
const STEADY_PAUSE_MS = 10
/** Runs apps one after the other on a machine whose clock advances by their calls alone. */
async function atSteadyPace<Result>(run: () => Promise<Result>): Promise<Result> {
  const { now } = realClock
  let time = now()
  realClock.now = () => time
  beforeCall = () => {
    time += STEADY_PAUSE_MS
  }
  try {
    return await run()
  } finally {
    realClock.now = now
    beforeCall = () => {}
  }
}

/** Where the apps of a session call. */
const at = (base: string, session: string): Connection => ({
  openai: `${base}/v1`,
  anthropic: base,
  key: `session:${session}`,
  fetch: fetchAlone,
})

const columnOf = ({ kind, stream }: { kind: AppKind; stream: boolean }) => `${stream ? 'streamed' : 'whole'} ${kind}`

/** All columns. */
export const COLUMNS: readonly string[] = APP_KINDS.flatMap((kind) =>
  [false, true].map((stream) => columnOf({ kind, stream })),
)

/** Runs every app under every scenario, or those of `isChosen`, each in a session of its own of one server. */
export async function playTable(
  isChosen: (scenario: string, column: string) => boolean = () => true,
): Promise<ScenarioTable> {
  // The AI SDK would print each field that a model does not know.
  Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })
  const config = { ...readConfig({ host: '127.0.0.1' }, {}), port: 0, db: ':memory:' }
  const understudy = createUnderstudy(config, (error) => {
    throw error
  })
  const servers = await listen(config, withHangLimit(withClientTime(understudy), HANG_LIMIT_MS))
  const base = `http://127.0.0.1:${servers[0]?.port}`
  try {
    const played = { base, understudy, limit: createLimit(AT_ONCE) }
    const columns = APP_KINDS.flatMap((kind) => [false, true].map((stream) => ({ kind, stream })))
    // The first call of each package takes long, which is no fault of a scenario.
    for (const column of columns) await ask({ ...column, prompt: PROMPT, connection: at(base, 'warm') }, 'careless')
    const columnsOf = (scenario: string) => columns.filter((column) => isChosen(scenario, columnOf(column)))
    // How fast they repeat a call is judged, and not how fast this machine is.
    const hammered = await atSteadyPace(async () => {
      const cells: ScenarioCase[] = []
      for (const scenario of HAMMERED)
        for (const column of columnsOf(scenario))
          cells.push(await cellOf(played, { scenario, ...column, manner: 'hammering' }))
      return cells
    })
    const isLong = (scenario: string) => (LONG.includes(scenario) ? 0 : 1)
    const cellsOf = (scenarios: readonly string[]) =>
      scenarios.flatMap((scenario) =>
        columnsOf(scenario).flatMap((column) =>
          (['careful', 'careless'] as const)
            .filter((manner) => manner === 'careful' || !HAMMERED.includes(scenario))
            .map((manner) => cellOf(played, { scenario, ...column, manner })),
        ),
      )
    // Apps that wait in silence do so alone: beside others, what they are sent could come after their short timeouts.
    const isSilent = (scenario: string) => LIMITS[scenario] !== undefined
    const silent = await Promise.all(cellsOf(SCENARIOS.filter(isSilent)))
    const scenarios = SCENARIOS.toSorted((one, other) => isLong(one) - isLong(other))
    const cells = cellsOf(scenarios.filter((scenario) => !isSilent(scenario)))
    const sockets = scenarios.flatMap((scenario) =>
      (Object.keys(CALLS) as Api[]).flatMap((api) =>
        [false, true]
          .filter((stream) => columnsOf(scenario).some((one) => APIS[one.kind] === api && one.stream === stream))
          .map((stream) => socketOf(played, { scenario, api, stream })),
      ),
    )
    return { sockets: await Promise.all(sockets), cells: [...hammered, ...silent, ...(await Promise.all(cells))] }
  } finally {
    await Promise.all(servers.map((server) => server.stop(true)))
    understudy.sessions.close()
  }
}

interface Played {
  base: string
  understudy: Pick<Understudy, 'app'>
  limit: ReturnType<typeof createLimit>
}

/** A session in which a scenario is active; its name says what for. */
async function sessionOf({ understudy }: Played, scenario: string, ...about: (string | boolean)[]) {
  const name = [scenario, ...about].join('.').replace(/[^\w.-]+/g, '-')
  const headers = { authorization: `Bearer session:${name}`, 'content-type': 'application/json' }
  const control = async (method: string, path: string, body?: object): Promise<unknown> => {
    const sent = body && { body: JSON.stringify(body) }
    const url = `http://localhost/_understudy/${path}`
    const response = await understudy.app.fetch(new Request(url, { method, headers, ...sent }))
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }
  await control('PUT', 'scenario', { name: scenario })
  // Putting hundreds of idle sessions to sleep would hold up those that are at work.
  const end = () => control('DELETE', `sessions/${name}`)
  return { name, control, end }
}

const socketOf = (played: Played, { scenario, api, stream }: Omit<SocketCell, 'response'>): Promise<SocketCell> =>
  played.limit(async () => {
    const { name, end } = await sessionOf(played, scenario, api, stream, 'socket')
    const { path, body } = CALLS[api]
    const headers = { authorization: `Bearer session:${name}` }
    const isSilent = LIMITS[scenario]?.[stream ? 'streamed' : 'whole'] !== undefined
    const silence = { ms: SILENCE_MS, isPartial: scenario === 'stream-stalled' }
    const response = await postRaw(
      `${played.base}${path}`,
      { ...body, stream },
      headers,
      isSilent ? silence : undefined,
    )
    await end()
    return { scenario, api, stream, response }
  })

const cellOf = (played: Played, cell: Omit<ScenarioCase, 'seen' | 'traces' | 'verdicts'>): Promise<ScenarioCase> =>
  played.limit(async () => {
    const { scenario, kind, stream, manner } = cell
    const { name, control, end } = await sessionOf(played, scenario, kind, stream, manner)
    const connection = at(played.base, name)
    const seen: Seen[] = []
    for (let number = 1; number <= (QUESTIONS[scenario] ?? 1); number++) {
      const advance = number === 2 ? PASSING[scenario] : undefined
      if (advance) await control('POST', `sessions/${name}/clock`, { advance: advance.replace(' ', '') })
      // Chance depends on the text: under these every app of the brown-out meets a failure.
      const prompt = number === 1 ? PROMPT : `${PROMPT} And ${number} hours later?`
      const limit = LIMITS[scenario]?.[stream ? 'streamed' : 'whole'] ?? CAREFUL_LIMIT_MS
      seen.push(await ask({ kind, stream, prompt, connection, limit }, manner))
    }
    const verdicts: Partial<ScenarioCase['verdicts']> = {}
    for (const ended of ENDS) verdicts[ended] = (await control('GET', `verify?wait=1s&ended=${ended}`)) as Verification
    const { data } = (await control('GET', 'traces?limit=200')) as { data: TraceRecord[] }
    await end()
    return { ...cell, seen, traces: data.toReversed(), verdicts: verdicts as ScenarioCase['verdicts'] }
  })

/** What comes on the socket, in words. */
export function socketText({ response, api, stream }: SocketCell): string {
  const { status, headers, body, end, broken } = response
  const wait = headers.get('retry-after')
  if (status === 0) return end === 'silence' ? 'silence' : 'a reset'
  if (status !== 200) return `${status}${wait === null ? '' : `, \`Retry-After: ${wait}\``}`
  if (end === 'silence') return '200, a part, then silence'
  if (broken) return '200, a part, then a reset'
  if (body === '') return '200, an empty body'
  if (/"(?:finish_reason|reason|stop_reason)":"(?:content_filter|refusal)"/.test(body)) return '200, filtered'
  if (!stream) return '200, whole'
  const data = [...body.matchAll(/^data: (.*)$/gm)].map(([, text = '']) => text)
  if (data.some((text) => text !== '[DONE]' && !isJson(text))) return '200, with a malformed chunk'
  if (/^event: error$|^data: \{"error"/m.test(body)) return '200, a part, then an error event'
  const last = { chat: '[DONE]', responses: '"type":"response.completed"', messages: '"type":"message_stop"' }
  return data.some((text) => text.includes(last[api])) ? '200, whole' : '200, without the last event'
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** What one call came to, for the app. */
function stepText({ outcome, status, stream, id }: TraceRecord, { findings }: Verification): string {
  if (findings.some(({ kind, traces }) => kind === 'no-timeout' && traces.includes(id)))
    return 'silence up to the hang limit'
  if (outcome === 'http_error') return status >= 400 ? String(status) : 'an error event'
  if (outcome === 'disconnected') return stream && status === 200 ? 'an incomplete stream' : 'a reset'
  const texts: Partial<Record<TraceRecord['outcome'], string>> = {
    succeeded: 'response',
    canceled: 'timeout',
    invalid_response: 'an invalid response',
  }
  return texts[outcome] ?? outcome
}

const providerOf = ({ model }: TraceRecord) => model?.split('/')[0]

/** The calls of an app in words, and where it asked another provider. */
function stepsOf({ traces, verdicts: { unknown } }: ScenarioCase): string[] {
  const [first] = traces
  return traces.map((trace) => {
    const isOther = first !== undefined && providerOf(first) !== providerOf(trace)
    return `${stepText(trace, unknown)}${isOther ? ' (other provider)' : ''}`
  })
}

const SEEN: Record<Seen['end'], string> = {
  response: 'shows the response',
  'told of the filter': 'tells its user of the filter',
  'told of the failure': 'tells its user of the failure',
  'a part of a response': 'shows a part as if it were whole',
  nothing: 'shows nothing',
}

/** What the user of an app saw, in words. */
function seenTexts({ manner, seen, traces }: ScenarioCase): string[] {
  const last = traces.at(-1)
  // How much of a broken stream a client still reads depends on how busy it is.
  const isBroken = manner === 'careless' && last?.stream === true && last.status === 200 && last.outcome !== 'succeeded'
  return isBroken ? ['shows what has come'] : distinct(seen.map(({ end }) => SEEN[end]))
}

/** A verdict with its findings, in words. */
function verdictText({ verdict, inconclusive, findings }: Verification): string {
  const found = findings.map(({ kind, severity }) => `${severity} \`${kind}\``)
  const reason = inconclusive[0] === undefined ? '' : `: ${inconclusive[0]}`
  return [`**${verdict.toUpperCase()}**${reason}`, ...distinct(found)].join(', ')
}

const distinct = (texts: readonly string[]): string[] => [...new Set(texts)]

/** What an app experienced and did, in words. */
export const cellText = (cell: ScenarioCase): string => textWith(cell, verdictText(cell.verdicts.unknown))
const textWith = (cell: ScenarioCase, verdict: string): string =>
  `${distinct(stepsOf(cell)).join(' → ')}; ${seenTexts(cell).join(', or ')}. ${verdict}`

/** The same of a careful app. What is found by the pauses between calls depends on how busy the machine is, so one app speaks for all. */
function carefulText(cell: ScenarioCase, own: readonly ScenarioCase[]): string {
  if (stepsOf(cell).every((step) => step.startsWith('timeout')))
    return textWith(cell, '**PASS**, at most with the warning `gave-up`')
  const steps = (one: ScenarioCase) => distinct(stepsOf(one)).join()
  const like = own.filter((one) => one.manner === 'careful' && steps(one) === steps(cell))
  const texts = like.map(({ verdicts }) => verdictText(verdicts.unknown)).sort()
  return textWith(cell, texts.find((text) => text.includes('`')) ?? verdictText(cell.verdicts.unknown))
}

/** A row of the page before equal ones are joined: one app, one form of call. */
export interface Row {
  column: string
  texts: [socket: string, careful: string, careless: string]
}

/** The rows of a scenario. */
export function rowsOf(scenario: string, { cells, sockets }: ScenarioTable): Row[] {
  const own = cells.filter((cell) => cell.scenario === scenario)
  return own
    .filter(({ manner }) => manner === 'careful')
    .map((careful) => {
      const { kind, stream, manner } = careful
      const isLike = (cell: ScenarioCase) => cell.kind === kind && cell.stream === stream && cell.manner !== manner
      const careless = own.filter(isLike).map(cellText).join('')
      const texts = sockets
        .filter((socket) => socket.scenario === scenario && socket.api === APIS[kind] && socket.stream === stream)
        .map(socketText)
      const experienced: Row['texts'] = [texts.join(''), carefulText(careful, own), careless]
      return { column: columnOf(careful), texts: BY_CHANCE[scenario] ?? experienced }
    })
}

/** The forms and apps of some columns, in words. */
function columnsText(columns: readonly string[]): [calls: string, apps: string][] {
  const appsWith = (form: string) => APP_KINDS.filter((kind) => columns.includes(`${form} ${kind}`))
  const text = (kinds: readonly AppKind[]) => (kinds.length === APP_KINDS.length ? 'all' : kinds.join(', '))
  const [whole, streamed] = [text(appsWith('whole')), text(appsWith('streamed'))]
  if (whole === streamed) return [['both', whole]]
  return [['whole', whole] as [string, string], ['streamed', streamed] as [string, string]].filter(
    ([, apps]) => apps !== '',
  )
}

/** The lines of a scenario in the table. */
function linesOf(scenario: string, table: ScenarioTable): string[] {
  const line = (calls: string, apps: string, texts: readonly string[]) =>
    `| \`${scenario}\` | ${[calls, apps, ...texts].join(' | ')} |`
  const groups = Map.groupBy(rowsOf(scenario, table), ({ texts }) => texts.join('|'))
  return [...groups.values()].flatMap((group) =>
    columnsText(group.map(({ column }) => column)).map(([calls, apps]) => line(calls, apps, group[0]?.texts ?? [])),
  )
}

/** The page of the docs. */
export const pageText = (table: ScenarioTable): string =>
  pageOf(SCENARIOS.flatMap((scenario) => linesOf(scenario, table)))

/** The page with these lines in its table. */
export const pageOf = (lines: readonly string[]): string => `${HEAD}
${lines.join('\n')}

${FOOT}`

/** A line of the page, and the columns that it is about. */
export interface PageLine {
  text: string
  scenario: string
  columns: string[]
  texts: string[]
}

/** The lines of the table in a page. */
export function linesIn(page: string): PageLine[] {
  return page.split('\n').flatMap((text) => {
    const [, scenario = '', calls = '', apps = '', texts = ''] =
      text.match(/^\| `([\w-]+)` \| (.*?) \| (.*?) \| (.*) \|$/) ?? []
    if (scenario === '') return []
    const forms = calls === 'both' ? ['whole', 'streamed'] : [calls]
    const kinds = apps === 'all' ? APP_KINDS : apps.split(', ')
    const columns = forms.flatMap((form) => kinds.map((kind) => `${form} ${kind}`))
    return [{ text, scenario, columns, texts: texts.split(' | ') }]
  })
}

const HEAD = `# What apps experience under the shipped scenarios

This table is the result of a test run. Unchanged apps call \`/v1\` and \`/v1/messages\` over real sockets, with one session for each row.
The verdicts are those of \`understudy exec\`. Use it to see what a scenario does to an app like yours, and what the verdict on yours should be.

\`\`\`sh
understudy exec --scenario rate-limit-burst -- npm test
\`\`\`

- **The apps** use \`openai\` (chat completions and responses), \`@anthropic-ai/sdk\`, or \`ai\` with \`@ai-sdk/openai\` and
  \`@ai-sdk/anthropic\`. They ask for a whole response or for a stream.
- **A careful app** has a timeout of ${seconds(CAREFUL_LIMIT_MS)}, also for silence inside a stream (${distinct(
  Object.values(LIMITS)
    .flatMap(Object.values<number>)
    .map(seconds),
).join(' or ')} under the scenarios of
  silence, to keep the test short). It leaves retries to its package. It repeats, with pauses, what the package does not repeat: incomplete
  responses, broken bodies and its own timeouts. Then it asks the other provider. If that fails, too, it tells its user, and ends with exit code 0.
- **A careless app** has no timeout, asks once, shows what it received, and ends with exit code 0. Under ${HAMMERED.map((name) => `\`${name}\``).join(' and ')},
  where asking once is right, it repeats the call 25 times without a pause.
- Apps ask one question. Under \`brown-out\` they ask ${QUESTIONS['brown-out']}, and ${PASSING['brown-out']} pass on the session's clock after the first one; under \`token-quota\` they
  ask ${QUESTIONS['token-quota']}. The hang limit (\`--hang-limit\`) is ${seconds(HANG_LIMIT_MS)}. Equal steps are listed once.

| scenario | calls | apps | the first call at the socket | a careful app | a careless app |
|---|---|---|---|---|---|`

const FOOT = `## Limits of this table

- **Exit code 0 proves nothing**, so half a response that is shown is a warning. \`--strict\` makes it a failure, and so does \`?ended=well\`, by
  which a test states that its program succeeded. See [Verdicts](verdicts.md).
- **What an app shows is not visible.** A response that the content filter has stopped is complete, so there is no finding under \`content-filter\`.
  Under \`stream-missing-done\`, text with a finish reason is complete; on the responses API, where only the missing event has the status, it is not.
- **A slow first token** is not reported while it comes within the hang limit.
- **No timeout** is a warning for \`openai\` and \`@anthropic-ai/sdk\`, which end a call by themselves after 10 minutes, and an error for the AI SDK,
  which waits forever.
- The scenarios for agents need a task of an agent ([Agents](agents.md)), which none of these apps has.

To update this page after a change to a scenario, run \`npm run scenario-table\` in the source tree. A test compares the page with a run.
`
