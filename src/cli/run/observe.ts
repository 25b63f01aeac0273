// One run of the explored command against a temporary server, and what was observed.
import { closeSync, fstatSync, mkdirSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import { storageError } from '../../contract/core/storage-error.ts'
import type { RunFile } from '../../db/run-file.ts'
import type { TraceStore } from '../../db/trace-store.ts'
import { createUnderstudy, type Understudy } from '../../deps.ts'
import { isAnswered } from '../../exploration/baseline.ts'
import { toScenarioFile } from '../../exploration/failure-modes.ts'
import { seenIn } from '../../exploration/observe.ts'
import type { RunRoute } from '../../exploration/routes.ts'
import type { RunCommand, RunOrder } from '../../exploration/trial.ts'
import type { Hang, ObservedCall, ObservedRun } from '../../exploration/types.ts'
import { everySoOften, realClock } from '../../lib/clock.ts'
import { secretsHider } from '../../lib/secrets.ts'
import { fixedSource } from '../../scenarios/load.ts'
import type { CommandIo } from '../io.ts'
import { type RunChild, runChild } from './child.ts'
import { repeatedInput } from './child-input.ts'
import { collectAfter } from './idle-collection.ts'
import { inProcess, makeCall, postJson } from './in-process.ts'
import { endLeftProcesses } from './left-processes.ts'
import { mergeCalls, type NotEmulatedByPath, withNotEmulated } from './not-emulated.ts'
import { runActivity, withActivity } from './run-activity.ts'
import { judgeSessions, serveProgram } from './suite.ts'

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
interface CommandEnd
  extends Pick<
    ObservedRun,
    'code' | 'crashed' | 'hang' | 'stopped' | 'leftProcesses' | 'tookMs' | 'longestPauseMs' | 'output'
  > {
  /** The URL that it called, and the number of calls by session. */
  url: string
  requests: ReadonlyMap<string, number>
  /** Ends the server when the run has been judged. */
  stop(): Promise<unknown>
}

/** Runs the explored program against a server of its own. */
type RunProgram = (understudy: Understudy, order: Omit<RunOrder, 'scenario'>) => Promise<CommandEnd>

/** Shared options of a command's runs. */
interface ObserveOptions {
  io: Pick<CommandIo, 'log'>
  program: RunProgram
  config: Config
  /** Stores the calls. */
  file?: RunFile | undefined
}

/** Runs a program for an exploration, each time against a new server. */
export const observer = ({ io, program, config, file }: ObserveOptions): RunCommand => {
  const store = callStore(io, file)
  return async ({ scenario, ...order }) => {
    const source = scenario && fixedSource({ ...toScenarioFile(scenario), location: scenario.name })
    const understudy = createUnderstudy(config, io.log.report, { scenarios: source ? [source] : [], home: HOME })
    const { sessions } = understudy
    const stops: CommandEnd['stop'][] = []
    let calls = 0
    try {
      const { requests, stop, ...end } = await program(understudy, order)
      stops.push(stop)
      const isOver = () => end.stopped || order.cancels?.aborted === true
      if (isOver()) return { ...end, ...UNSEEN }
      const ended = end.hang ? 'stopped' : end.code === 0 ? 'unknown' : 'badly'
      const { verdicts } = await judgeSessions({ understudy, round: { label: HOME }, requests, ended })
      if (isOver()) return { ...end, ...UNSEEN }
      const seen = await seenIn(sessions, order.cancels)
      if (isOver()) return { ...end, ...UNSEEN }
      calls = seen.calls.length
      // Parts of a session that a reset or a deletion ended have no traces any more.
      const judged = verdicts.reduce((sum, one) => sum + one.calls, 0)
      const findings = verdicts.flatMap((one) => one.findings.map((finding) => ({ session: one.session, finding })))
      const traces = sessions.list().map((session) => session.traces)
      const { kept, renamed } = await store(traces, keptCalls(seen.calls, findings))
      return withIds(renamed, {
        ...end,
        ...seen,
        canceled: false,
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
}

/** Stores calls of runs. When that fails, as on a full disk, it warns, and stores those of later runs no more. */
function callStore({ log }: Pick<CommandIo, 'log'>, file: RunFile | undefined) {
  let failed = false
  return async (traces: readonly TraceStore[], kept: ReadonlySet<string>) => {
    try {
      if (!failed)
        return { kept, renamed: (await file?.keep(traces, (id) => kept.has(id))) ?? new Map<string, string>() }
    } catch (error) {
      if (!storageError(error)) throw error
      if (!failed) log.line('warn', `the calls of later runs are not stored: ${(error as Error).message}`)
      failed = true
    }
    return { kept: new Set<string>(), renamed: new Map<string, string>() }
  }
}

/** A run that was ended before there was anything to judge. */
const UNSEEN = {
  canceled: true,
  ...{ calls: [], recoveryPaths: {}, routes: [], kept: new Set<string>(), findings: [], dropped: 0, rules: [] },
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

/** How long a command may take to stop, in ms: its result is known by then. */
const GRACE_MS = 500
/** How often it is checked whether a run waits or hangs, in ms. */
const CHECK_MS = 50

/** How the runs of a command differ from the default. */
interface ProgramOptions {
  /** How it is run, default as a process. */
  run?: RunChild
  /** Variables of APIs that are not emulated, to be left as they are. */
  leaveEnv?: readonly string[]
  /** Receives the calls of these APIs. */
  notEmulated?: NotEmulatedByPath
}

/** A program that is a command. Each run has a number and an empty folder of its own. */
export function commandProgram(
  io: CommandIo,
  command: readonly string[],
  config: Config,
  { run = runChild, leaveEnv = [], notEmulated = new Map() }: ProgramOptions = {},
): RunProgram {
  const hidden = secretsHider(io.env, [...config.token, ...Object.keys(config.tokens)])
  const input = repeatedInput(io)
  let runs = 0
  return async (understudy, { limits, wait, cancels }) => {
    const activity = runActivity(realClock.passed)
    const refused: NotEmulatedByPath = new Map()
    const covered = withNotEmulated(withActivity(understudy, activity), refused)
    const { url, requests, variables, stop } = await serveProgram(covered, { io, config, home: HOME, leaveEnv })
    const scratch = scratchFolder()
    const env = { ...variables, UNDERSTUDY_RUN: String(++runs), UNDERSTUDY_RUN_DIR: scratch.folder }
    const began = realClock.now()
    const expires = new AbortController()
    let hang: Hang | undefined
    const stopChecks = everySoOften(CHECK_MS, () => {
      wait(activity.isWaiting)
      hang ??= limits ? activity.hangs(limits) : undefined
      if (hang) expires.abort()
    })
    try {
      const options = {
        env,
        expires: expires.signal,
        cancels,
        grace: GRACE_MS,
        output: scratch.descriptor,
        input: input(),
      }
      const end = await run(io, command, options).finally(stopChecks)
      const tookMs = realClock.now() - began
      const { longestPauseMs } = activity
      const variable = `UNDERSTUDY_RUN_DIR=${scratch.folder}`
      const leftProcesses = end.pid !== undefined && (await endLeftProcesses({ group: end.pid, variable }))
      const output = hidden(scratch.tail(MAX_OUTPUT))
      return {
        code: end.code,
        stopped: end.stopped !== undefined,
        crashed: SIGNAL_CODES.has(end.code) && !end.timedOut && end.stopped === undefined,
        ...(end.timedOut && { hang }),
        ...{ leftProcesses, tookMs, longestPauseMs, output, url, requests, stop },
      }
    } catch (error) {
      await stop()
      throw error
    } finally {
      mergeCalls(notEmulated, refused)
      scratch.remove()
    }
  }
}

/** Makes calls in this process on virtual clocks; the function `close` ends that. */
export function routeRunner({ log }: Pick<CommandIo, 'log'>, config: Config): { play: RunRoute; close(): void } {
  const { send, sessions } = inProcess(config, log)
  let runs = 0
  return {
    async play({ path, request }, scenario) {
      const name = `route-${runs++}`
      await postJson(send, '/_understudy/sessions', { name, scenario })
      await makeCall(send, path, request, { 'x-understudy-session': name })
      const session = sessions.find(name)
      const seen = await seenIn({ list: () => [session] })
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

/** Exit codes that name a signal. Others above 128 are a program's own: Perl and PHP end with 255 after an error. */
const SIGNAL_CODES: ReadonlySet<number> = new Set(Object.values(constants.signals).map((signal) => 128 + signal))

/** A temporary folder for a run, with a file beside it for its output. */
function scratchFolder() {
  const parent = mkdtempSync(join(tmpdir(), 'understudy-'))
  const folder = join(parent, 'run')
  mkdirSync(folder)
  const descriptor = openSync(join(parent, 'output'), 'w+')
  return {
    folder,
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
      rmSync(parent, { recursive: true, force: true, maxRetries: 2 })
    },
  }
}
