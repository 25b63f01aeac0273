// Runs a command against temporary servers, once per scenario and seed, and judges what happened.
import { join, parse } from 'node:path'
import { namedSession, withoutPrefix } from '../../access.ts'
import { refusedText } from '../../app/refused-calls.ts'
import { type Config, clientEnvironment } from '../../config.ts'
import { ApiError, refusalBody } from '../../contract/core/error.ts'
import type { Finding } from '../../contract/core/finding.ts'
import type { Verification } from '../../contract/core/verification.ts'
import { openRunFile } from '../../db/run-file.ts'
import type { CallTimes } from '../../db/trace-writes.ts'
import { createUnderstudy, type Understudy } from '../../deps.ts'
import { seenIn } from '../../exploration/observe.ts'
import { realClock } from '../../lib/clock.ts'
import { HangReset } from '../../lib/hang-reset.ts'
import { suggestion } from '../../lib/likely-name.ts'
import type { Scenario } from '../../scenarios/engine.ts'
import { fixedSource, openScenario } from '../../scenarios/load.ts'
import { quote } from '../../schema/validation.ts'
import type { Session } from '../../sessions/sessions.ts'
import { failsVerdict } from '../../verdict/findings.ts'
import { runReasons, verdictOf } from '../../verdict/inconclusive.ts'
import type { ClientEnd } from '../../verdict/kinds/define.ts'
import { earlierNotices } from '../../verdict/notices.ts'
import type { CommandIo } from '../io.ts'
import { cassetteProblems } from '../print/cassette-lines.ts'
import { withRequestLog } from '../print/request-log.ts'
import { type ChildEnd, type RunChild, runChild } from './child.ts'
import { type ChildInput, repeatedInput } from './child-input.ts'
import { MIN_PAUSE_MS, withClientTime } from './client-time.ts'
import { FLUSH_MS, listen, serverUrl } from './listen.ts'
import { leadHere, type NotEmulatedByPath, notEmulatedReasons, withNotEmulated } from './not-emulated.ts'
import type { RunReport } from './run-report.ts'
import type { RunSession, SuiteRun } from './suite-run.ts'
import { withFetch, wrapConnection } from './wrapped.ts'

/** What is run, and how. */
export interface SuiteOptions {
  io: CommandIo
  config: Config
  /** Names or files; empty for one run without a scenario. */
  scenarios: readonly string[]
  /** Empty for one run with the seed of the settings. */
  seeds?: readonly number[] | undefined
  /** Maximum duration of each run, in milliseconds. */
  timeout?: number | undefined
  /** Milliseconds of silence after which a call is reset whose client still waits. */
  hangLimit?: number | undefined
  /** File that stores the calls. */
  db?: string | undefined
  /** Cassettes that are recorded, while all others are replayed; undefined for all. */
  recordOnly?: readonly string[] | undefined
  cwd?: string | undefined
  output?: 'inherit' | 'ignore' | undefined
  /** Variables of APIs that are not emulated, to be left as they are. */
  leaveEnv?: readonly string[] | undefined
  /** Runs the command, default as a process. */
  runChild?: RunChild | undefined
  /** Collects the result of each run. */
  report?: RunReport | undefined
}

/** Runs the command once per scenario and seed, until a stop is requested. */
export async function runSuite(command: readonly string[], options: SuiteOptions): Promise<SuiteRun[]> {
  const { seeds = [], db } = options
  // All of them are checked before the first run.
  const scenarios = options.scenarios.map((name) => openScenario(name, options.io.log.report).scenario)
  const rounds = (scenarios.length > 0 ? scenarios : [undefined]).flatMap((scenario) =>
    (seeds.length > 0 ? seeds : [undefined]).map((seed) => roundOf(scenario, seed)),
  )
  const files = rounds.map(({ label }) => db && (rounds.length === 1 ? db : besideOf(db, label)))
  const input = rounds.length === 1 ? undefined : repeatedInput(options.io)
  const runs: SuiteRun[] = []
  for (const [index, round] of rounds.entries()) {
    const run = await runOnce(command, { ...options, db: files[index], input: input?.() }, round)
    runs.push(run)
    if (run.stopped) break
  }
  return runs
}

/** One run of the command. */
interface Round {
  name: string
  /** The label as a session name, which is part of all randomness: the same scenario and seed have the same one. */
  label: string
  scenario: Scenario | undefined
  seed: number | undefined
}

function roundOf(scenario: Scenario | undefined, seed: number | undefined): Round {
  const name = [scenario?.name ?? 'no scenario', ...(seed === undefined ? [] : [`seed ${seed}`])].join(', ')
  return { name, label: name.replace(/[^\w.-]+/g, '-').slice(0, 64), scenario, seed }
}

/** `run.db` as `run.<label>.db`. */
function besideOf(file: string, label: string): string {
  const { dir, name, ext } = parse(file)
  return join(dir, `${name}.${label}${ext}`)
}

async function runOnce(
  command: readonly string[],
  options: SuiteOptions & { input: ChildInput | undefined },
  round: Round,
): Promise<SuiteRun> {
  const { io, config, timeout, db, cwd, output, input, leaveEnv, report: collected } = options
  const file = db === undefined ? undefined : openRunFile(db)
  const { scenario, seed } = round
  const own = scenario && fixedSource(seed === undefined ? scenario : { ...scenario, seed })
  const settings = { ...config, seed: seed ?? config.seed, speed: config.speed ?? 'instant' }
  const made = createUnderstudy(settings, io.log.report, {
    scenarios: own ? [own] : [],
    home: round.label,
    recordOnly: options.recordOnly,
    notice: io.log.notice,
  })
  const [token] = config.token
  const timed = withHangLimit(withClientTime(made), options.hangLimit ?? HANG_LIMIT_MS)
  const notEmulated: NotEmulatedByPath = new Map()
  const understudy = withNotEmulated(withClockUrl(timed, round.label, token), notEmulated)
  if (config.log === 'json') io.log.calls(understudy)
  const served = { io, config, home: round.label, leaveEnv, verbose: config.verbose }
  const { url, requests, variables, stop } = await serveProgram(understudy, served)
  // Its scenario starts now, so that time may pass before the first call.
  understudy.runs.current(understudy.sessions.get(round.label))
  const began = realClock.now()
  const env = { ...variables, UNDERSTUDY_CLOCK_URL: `${url}${CLOCK_PATH}` }
  try {
    const end = await (options.runChild ?? runChild)(io, command, { env, cwd, timeout, output, input })
    const took_ms = realClock.now() - began
    const interrupted = end.stopped !== undefined || end.timedOut
    const ended = interrupted ? 'stopped' : end.code === 0 ? 'unknown' : 'badly'
    const judged = await judgeSessions({ understudy, round, requests, ended })
    const notSent = judged.verdicts.flatMap((one) => (one.not_sent.length > 0 ? [one.session] : []))
    const runEnd = interrupted ? 'interrupted' : end.code === 0 ? undefined : 'failed'
    await understudy.cassettes?.finish(runEnd, notSent)
    const cassettes = understudy.cassettes?.report() ?? null
    await file?.keep(understudy.sessions.list().map(({ traces }) => traces))
    const untested = { not_emulated: [...notEmulated.values()], refused: understudy.app.refused() }
    await collected?.add(round.name, understudy.sessions.list(), withReasons(judged.verdicts, untested))
    const { recoveryPaths: recovery_paths } = await seenIn(understudy.sessions)
    const about = { recovery_paths, ...untested, url, db: db ?? null, cassettes }
    return asRun({ ...judged, round, end, took_ms, strict: config.strict, about })
  } finally {
    await stop()
    await understudy.telemetry?.stop(FLUSH_MS)
    understudy.sessions.close()
    file?.close()
  }
}

/** How a program is served to a command. */
interface CommandServer {
  io: CommandIo
  config: Config
  /** The session of the command. */
  home: string
  leaveEnv?: readonly string[] | undefined
  /** Whether every request has a line. */
  verbose?: boolean
}

/** Serves a program to a command: its address, the requests by session, and the variables of the command. */
export async function serveProgram(understudy: Understudy, { io, config, home, leaveEnv, verbose }: CommandServer) {
  const requests = new Map<string, number>()
  const logged = verbose ? withRequestLog(understudy, io, true) : understudy
  const servers = await listen(config, countingRequests(logged, requests))
  const url = serverUrl(config, servers[0]?.port)
  const leads = await leadHere(understudy, url, io.env, leaveEnv)
  const variables = { ...clientEnvironment(io.env, url, home, config.token[0]), ...leads.variables }
  const stop = () => {
    leads.stop()
    return Promise.all(servers.map((server) => server.stop(true)))
  }
  return { url, requests, variables, stop }
}

const CLOCK_PATH = '/_understudy/clock'

/**
 * Wraps the program so that the command can control clocks at that path, without a token: that of the session `home`,
 * or of `?session=`.
 */
const withClockUrl = (understudy: Understudy, home: string, token = 'any'): Understudy =>
  withFetch(understudy, async (request, hold) => {
    const url = request.url.includes(CLOCK_PATH) ? URL.parse(request.url) : null
    if (url?.pathname !== CLOCK_PATH) return understudy.app.fetch(request, hold)
    const mistake = mistakeIn(url.searchParams)
    if (mistake) return Response.json(refusalBody(mistake), { status: mistake.status })
    const session = url.searchParams.get('session') || home
    url.pathname = `/_understudy/sessions/${encodeURIComponent(session)}/clock`
    url.search = ''
    // Keeps the request's properties for the check of its origin.
    const { method, body, signal } = request
    const headers = new Headers(request.headers)
    headers.set('authorization', `Bearer ${token}`)
    // Most clients send another content type for a text by default.
    headers.set('content-type', 'application/json')
    return understudy.app.fetch(new Request(url, { method, headers, body, signal }), hold)
  })

/** What is wrong with the query of the clock URL: otherwise the clock of another session would move. */
function mistakeIn(query: URLSearchParams): ApiError | undefined {
  const valid = ['session']
  const other = [...query.keys()].find((name) => !valid.includes(name))
  if (other !== undefined) {
    const message = `'${other}' is not known${suggestion(other, valid)}; valid: ${valid.join(', ')}`
    return new ApiError(400, 'invalid_value', message, { param: other })
  }
  const sessions = query.getAll('session')
  if (sessions.length < 2) return undefined
  return new ApiError(400, 'invalid_value', `'session' must be given once, got ${quote(sessions)}`, {
    param: 'session',
  })
}

/** Wraps the program so that it counts the requests of each session, without those of the control API. */
export const countingRequests = (understudy: Understudy, requests: Map<string, number>): Understudy =>
  withFetch(understudy, (incoming, hold) => {
    const request = withoutPrefix(incoming)
    if (!URL.parse(request.url)?.pathname.startsWith('/_understudy/')) {
      const name = namedSession(request)
      if (name !== undefined) requests.set(name, (requests.get(name) ?? 0) + 1)
    }
    return understudy.app.fetch(request, hold)
  })

/** What is judged: a command that has ended, and its server. */
interface JudgeContext {
  understudy: Pick<Understudy, 'app' | 'sessions'>
  /** Its label is the session of the command. */
  round: Pick<Round, 'label'>
  requests: ReadonlyMap<string, number>
  /** A command that failed has reported an error; an exit code of 0 proves nothing. */
  ended: NonNullable<ClientEnd>
}

/** Sessions that are judged together: not more than may wait at once. */
const JUDGED_AT_ONCE = 50

/** Judges every session that was used, or the command's own if none was. */
export async function judgeSessions({ understudy: { app, sessions }, round, requests, ended }: JudgeContext) {
  const list = sessions.list()
  const called = list.filter(({ name, calls }) => calls > 0 || (requests.get(name) ?? 0) > 0)
  // Of deleted sessions, the verdicts are left.
  const there = new Set(list.map(({ name }) => name))
  const deleted = [...requests.keys()].filter((name) => !there.has(name))
  const names = [...called.map(({ name }) => name), ...deleted]
  const used = called.length > 0 ? called : list.filter(({ name }) => name === round.label)
  const verify = async (name: string): Promise<Verification[]> => {
    try {
      // Calls in progress at the end of the command end in a moment.
      return [await app.judge(name, { ended, wait: 1_000 })]
    } catch (error) {
      // An invalid name has no session: `App.refused`.
      if (error instanceof ApiError) return []
      throw error
    }
  }
  const judged: Verification[] = []
  const toJudge = names.length > 0 ? names : [round.label]
  for (let first = 0; first < toJudge.length; first += JUDGED_AT_ONCE)
    judged.push(...(await Promise.all(toJudge.slice(first, first + JUDGED_AT_ONCE).map(verify))).flat())
  const parts = judged.flatMap((one) => inParts(one, there.has(one.session)))
  const verdicts = parts.length > 0 ? parts : await verify(round.label)
  const times = new Map(used.map((session) => [session.name, timesOf(session)]))
  const clocks = used.map((session) => sessionTime(session, times.get(session.name)?.values() ?? []))
  return { verdicts, times, clocks, none: names.length === 0 }
}

/** A verdict after those on earlier parts of its session; omitted if nothing has happened since. */
function inParts({ earlier, ...last }: Verification, isThere: boolean): RunSession[] {
  const isEmpty =
    last.calls === 0 && last.workspace_calls === 0 && last.pending === 0 && last.unknown_paths.length === 0
  // The parts are in the report themselves.
  const earlierLines = earlierNotices(earlier, 0)
  const notices = last.notices.filter((text) => !earlierLines.includes(text))
  const parts = earlier.map((part) => ({ ...part, earlier: [] }))
  return isEmpty && (parts.length > 0 || !isThere) ? parts : [...parts, { ...last, notices, earlier: [] }]
}

const timesOf = ({ traces }: Session): ReadonlyMap<string, CallTimes> =>
  new Map([...traces.since(0)].flatMap(({ trace, times }) => (times ? [[trace.id, times] as const] : [])))

/** How the time of a session passed, given the times of its calls: skipped virtual time, and pauses between calls. */
function sessionTime({ name, clock }: Session, times: Iterable<CallTimes>): SuiteRun['clocks'][number] {
  const spans = [...times].sort((one, other) => one.arrived - other.arrived)
  let waited = 0
  let busyUntil = spans[0]?.arrived ?? 0
  for (const { arrived, left } of spans) {
    if (arrived - busyUntil >= MIN_PAUSE_MS) waited += arrived - busyUntil
    busyUntil = Math.max(busyUntil, left)
  }
  const jumped = clock.kind === 'virtual' ? Math.round(clock.jumped) : 0
  return { session: name, clock: clock.kind, jumped_ms: jumped, waited_ms: waited }
}

type UntestedCalls = Pick<SuiteRun, 'not_emulated' | 'refused'>

/**
 * Why a run with such calls proves less than it seems. A client may provoke a 401 or 415, and call again with what was
 * missing: these count only if no call reached a session.
 */
function untestedReasons({ not_emulated, refused }: UntestedCalls, verdicts: readonly RunSession[]): string[] {
  const isReached = verdicts.some((one) => one.calls + one.workspace_calls + one.pending + one.dropped > 0)
  return [
    ...notEmulatedReasons(not_emulated),
    ...refused.filter(({ for_session }) => for_session || !isReached).map(refusedText),
  ]
}

/** The verdicts as a page shows them, which has nothing about a run as a whole: calls that were not tested concern each session. */
function withReasons(verdicts: readonly RunSession[], calls: UntestedCalls): readonly RunSession[] {
  const reasons = untestedReasons(calls, verdicts)
  if (reasons.length === 0) return verdicts
  return verdicts.map((one) => ({
    ...one,
    verdict: one.verdict === 'pass' ? ('inconclusive' as const) : one.verdict,
    inconclusive: [...one.inconclusive, ...reasons],
  }))
}

interface RunParts extends Awaited<ReturnType<typeof judgeSessions>>, Pick<SuiteRun, 'took_ms' | 'strict'> {
  round: Round
  end: ChildEnd
  /** The rest, as it is reported. */
  about: Pick<SuiteRun, 'recovery_paths' | keyof UntestedCalls | 'url' | 'db' | 'cassettes'>
}

function asRun({ verdicts, clocks, times, none, round, end, took_ms, strict, about }: RunParts): SuiteRun {
  const { scenario } = round
  const { url, cassettes } = about
  const findings = none && about.refused.length === 0 ? [noCall(url, round)] : []
  const judged = new Set(verdicts.flatMap(({ rules }) => rules.map((rule) => rule.name)))
  const broken = verdicts.filter((one) => one.verdict === 'fail')
  const cassettesFail = cassettes?.sessions.some((one) => cassetteProblems(one, strict).length > 0) ?? false
  const fails =
    broken.length > 0 || end.code !== 0 || cassettesFail || findings.some((finding) => failsVerdict(finding, strict))
  const inconclusive = [...runReasons(verdicts), ...untestedReasons(about, verdicts)]
  const verdict = verdictOf(fails, inconclusive)
  return {
    name: round.name,
    scenario: scenario?.name ?? null,
    code: end.code,
    timed_out: end.timedOut,
    stopped: end.stopped !== undefined,
    ...{ took_ms, clocks, strict, verdict, inconclusive },
    ok: verdict === 'pass',
    findings,
    unmatched_rules: (scenario?.rules ?? []).map((rule) => rule.name).filter((rule) => !judged.has(rule)),
    sessions: [...broken, ...verdicts.filter((one) => !broken.includes(one))],
    ...about,
    times,
  }
}

/** A scenario without any call indicates a wrong URL. Without a scenario, a command may have nothing to call. */
const noCall = (url: string, { scenario }: Round): Finding => ({
  kind: 'unknown-path',
  severity: scenario ? 'error' : 'warning',
  accepted: false,
  message: `no calls were received: the program should call ${url}/v1 (OPENAI_BASE_URL)`,
  ...{ operation: null, count: 1, traces: [], at: null, figures: {} },
})

/** The default hang limit of exec, in ms. */
export const HANG_LIMIT_MS = 30_000

/**
 * Wraps the program so that it resets the connection of a call whose client has waited in silence for `limit` ms of
 * real time.
 */
export const withHangLimit = (understudy: Understudy, limit: number): Understudy =>
  withFetch(understudy, (incoming, hold) => {
    if (!hold) return understudy.app.fetch(incoming, hold)
    const hang = new AbortController()
    const reset = async (came: AbortSignal) => {
      const connection = await hold.find()
      if (came.aborted) return
      // The reason comes first: the server reports that a connection has ended, but not why.
      hang.abort(new HangReset(limit))
      await connection?.reset()
    }
    const watched = wrapConnection(hold, {
      async waitsFor<T>(next: Promise<T>): Promise<T> {
        const came = new AbortController()
        realClock.sleep(limit, came.signal).then(
          () => reset(came.signal),
          () => {},
        )
        try {
          return await next
        } finally {
          came.abort()
        }
      },
    })
    const signal = AbortSignal.any([incoming.signal, hang.signal])
    return understudy.app.fetch(new Request(incoming, { signal }), watched)
  })
