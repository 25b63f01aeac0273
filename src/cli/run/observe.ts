// One run of the explored command against a temporary server, and what was observed.
import { closeSync, fstatSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Config, clientEnvironment } from '../../config.ts'
import type { RunFile } from '../../db/run-file.ts'
import { createUnderstudy, type Understudy } from '../../deps.ts'
import { isAnswered } from '../../exploration/baseline.ts'
import { toScenarioFile } from '../../exploration/case-scenario.ts'
import { seenIn } from '../../exploration/observe.ts'
import type { RunRoute } from '../../exploration/routes.ts'
import type { RunCommand } from '../../exploration/trial.ts'
import type { ObservedCall, ObservedRun } from '../../exploration/types.ts'
import { realClock } from '../../lib/clock.ts'
import { secretsHider } from '../../lib/secrets.ts'
import { fixedSource } from '../../scenarios/load.ts'
import type { CommandIo } from '../io.ts'
import { type ChildEnd, type RunChild, runChild } from './child.ts'
import { collectAfter } from './idle-collection.ts'
import { listen, serverUrl } from './listen.ts'
import { leadHere, mergeCalls, type NotEmulatedByPath, withNotEmulated } from './not-emulated.ts'
import { countingRequests, judgeSessions } from './suite.ts'

/** The session of the command if it names none. */
export const HOME = 'explore'
/** Maximum stored output of a command, in bytes. */
const MAX_OUTPUT = 16_000
/**
 * Maximum number of calls that are stored from one run: if there are more, those at both ends, and those that a fault
 * or a finding concerns.
 */
const MAX_KEPT = { calls: 300, atBegin: 100, atEnd: 100, shown: 100 }

/** How a command ended that called a server. */
interface CommandEnd extends Pick<ObservedRun, 'code' | 'crashed' | 'timedOut' | 'stopped' | 'tookMs' | 'output'> {
  /** The URL that it called, and the number of calls by session. */
  url: string
  requests: ReadonlyMap<string, number>
  /** Ends the server when the run has been judged. */
  stop(): Promise<unknown>
}

/** Runs the explored program against a server of its own. */
type RunProgram = (understudy: Understudy, limitMs: number | null) => Promise<CommandEnd>

/** Shared options of a command's runs. */
interface ObserveOptions {
  io: Pick<CommandIo, 'log'>
  program: RunProgram
  config: Config
  /** Stores the calls. */
  file?: RunFile | undefined
}

/** Runs a program for an exploration, each time against a new server. */
export const observer =
  ({ io, program, config, file }: ObserveOptions): RunCommand =>
  async ({ scenario, limitMs }) => {
    const source = scenario && fixedSource({ ...toScenarioFile(scenario), location: scenario.name })
    const understudy = createUnderstudy(config, io.log.report, { scenarios: source ? [source] : [], home: HOME })
    const { sessions } = understudy
    const stops: CommandEnd['stop'][] = []
    let calls = 0
    try {
      const { url, requests, stop, ...end } = await program(understudy, limitMs)
      stops.push(stop)
      const ended = end.stopped || end.timedOut ? 'stopped' : end.code === 0 ? 'unknown' : 'badly'
      const [token] = config.token
      const { verdicts } = await judgeSessions({ understudy, url, token, round: { label: HOME }, requests, ended })
      const seen = seenIn(sessions)
      calls = seen.calls.length
      // Parts of a session that a reset or a deletion ended have no traces any more.
      const judged = verdicts.reduce((sum, one) => sum + one.calls, 0)
      const findings = verdicts.flatMap((one) => one.findings.map((finding) => ({ session: one.session, finding })))
      const kept = keptCalls(seen.calls, findings)
      const traces = sessions.list().map((session) => session.traces)
      const renamed = file ? await file.keep(traces, (id) => kept.has(id)) : new Map()
      return withIds(renamed, {
        ...end,
        ...seen,
        kept,
        findings,
        dropped: traces.reduce((sum, store) => sum + store.dropped(), 0) + Math.max(0, judged - calls),
        rules: verdicts.flatMap(({ rules }) => rules),
      })
    } finally {
      await Promise.all(stops.map((stop) => stop()))
      sessions.close()
      collectAfter(calls)
    }
  }

function keptCalls(calls: readonly ObservedCall[], findings: ObservedRun['findings']): Set<string> {
  const { calls: most, atBegin, atEnd, shown } = MAX_KEPT
  const ids = calls.map(({ trace }) => trace.id)
  if (ids.length <= most) return new Set(ids)
  const broken = calls.filter((call) => call.trace.outcome !== 'succeeded' || !isAnswered(call))
  const evidence = findings.flatMap(({ finding }) => finding.traces)
  return new Set([
    ...ids.slice(0, atBegin),
    ...ids.slice(-atEnd),
    ...broken.slice(0, shown).map(({ trace }) => trace.id),
    ...evidence.slice(0, shown),
  ])
}

/** How the runs of a command differ from the default. */
interface ProgramOptions {
  /** How it is run, default as a process. */
  run?: RunChild
  /** Variables of APIs that are not emulated, to be left as they are. */
  leaveEnv?: readonly string[]
  /** Receives the calls of these APIs. */
  notEmulated?: NotEmulatedByPath
}

/** A program that is a command. */
export function commandProgram(
  io: CommandIo,
  command: readonly string[],
  config: Config,
  { run = runChild, leaveEnv = [], notEmulated = new Map() }: ProgramOptions = {},
): RunProgram {
  const hidden = secretsHider(io.env, [...config.token, ...Object.keys(config.tokens)])
  return async (understudy, limitMs) => {
    const requests = new Map<string, number>()
    const refused: NotEmulatedByPath = new Map()
    const covered = withNotEmulated(understudy, refused)
    const servers = await listen(config, countingRequests(covered, requests))
    const url = serverUrl(config, servers[0]?.port)
    const leads = await leadHere(covered, url, io.env, leaveEnv)
    const env = { ...clientEnvironment(io.env, url, HOME, config.token[0]), ...leads.variables }
    const stop = () => {
      leads.stop()
      return Promise.all(servers.map((server) => server.stop(true)))
    }
    const printed = scratchFile()
    const began = realClock.now()
    try {
      const end = await run(io, command, { env, timeout: limitMs ?? undefined, output: printed.descriptor })
      const tookMs = realClock.now() - began
      return { ...endOf(end), tookMs, output: hidden(printed.tail(MAX_OUTPUT)), url, requests, stop }
    } catch (error) {
      await stop()
      throw error
    } finally {
      mergeCalls(notEmulated, refused)
      printed.remove()
    }
  }
}

/** Makes calls in this process on virtual clocks; the function `close` ends that. */
export function routeRunner({ log }: Pick<CommandIo, 'log'>, config: Config): { play: RunRoute; close(): void } {
  const { app, sessions } = createUnderstudy({ ...config, token: [], tokens: {} }, log.report)
  let runs = 0
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    app.fetch(
      new Request(`http://localhost${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer any', ...headers },
        body: JSON.stringify(body),
      }),
    )
  return {
    async play({ path, request }, scenario) {
      const name = `route-${runs++}`
      await post('/_understudy/sessions', { name, scenario })
      // A connection failure reaches no one here: the trace has the result.
      await post(path, request, { 'x-understudy-session': name })
        .then((answer) => answer.text())
        .catch(() => {})
      const session = sessions.find(name)
      const seen = seenIn({ list: () => [session] })
      sessions.delete(name)
      return seen
    },
    close: () => sessions.close(),
  }
}

/** The run with the ids under which its calls are stored. */
function withIds(renamed: ReadonlyMap<string, string>, run: ObservedRun): ObservedRun {
  if (renamed.size === 0) return run
  const idOf = (id: string) => renamed.get(id) ?? id
  return {
    ...run,
    kept: new Set([...run.kept].map(idOf)),
    calls: run.calls.map(({ trace, ...call }) => ({ ...call, trace: { ...trace, id: idOf(trace.id) } })),
    findings: run.findings.map(({ session, finding }) => ({
      session,
      finding: { ...finding, traces: finding.traces.map(idOf) },
    })),
  }
}

/** An exit code above this contains a signal's number. */
const SIGNALS = 128

const endOf = ({
  code,
  timedOut,
  stopped,
}: ChildEnd): Pick<ObservedRun, 'code' | 'crashed' | 'timedOut' | 'stopped'> => ({
  code,
  timedOut,
  stopped: stopped !== undefined,
  crashed: code > SIGNALS && !timedOut && stopped === undefined,
})

/** A temporary file for output, deleted after reading. */
function scratchFile() {
  const folder = mkdtempSync(join(tmpdir(), 'understudy-'))
  const descriptor = openSync(join(folder, 'output'), 'w+')
  return {
    descriptor,
    /** The last bytes of output, as text; of a longer one only whole lines, if there are several. */
    tail(most: number): string {
      const { size } = fstatSync(descriptor)
      const bytes = Buffer.alloc(Math.min(size, most))
      readSync(descriptor, bytes, 0, bytes.length, size - bytes.length)
      const text = bytes.toString('utf8')
      return size > most ? `…\n${text.slice(text.indexOf('\n') + 1)}` : text
    },
    remove() {
      closeSync(descriptor)
      rmSync(folder, { recursive: true })
    },
  }
}
