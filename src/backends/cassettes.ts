// Records what providers send, and replays it in their place: which session does what, and what came of it.
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { cassetteFile, renewalCommand } from '../cassettes/names.ts'
import { cassetteNamesIn, readCassette } from '../cassettes/read.ts'
import { createRedactor, pathRule, type Redactor } from '../cassettes/redact.ts'
import type { RunEnd } from '../cassettes/session-recording.ts'
import type { Backend } from '../contract/core/backend.ts'
import type { Cassette, VolatileRule } from '../contract/core/cassette.ts'
import type { OnMiss, ReplaySpeed, WeakMatching } from '../contract/core/cassette-modes.ts'
import type { CassetteReport, SessionCassette } from '../contract/core/cassette-report.ts'
import { realClock } from '../lib/clock.ts'
import { FileError } from '../schema/source.ts'
import { VERSION } from '../version.ts'
import type { Transport } from './forward/transport.ts'
import { Recorder } from './record/recorder.ts'
import { upstreamRequest } from './record/upstream-request.ts'
import { replayAttempt } from './replay/replayed-response.ts'
import { ReplayMiss, Tape } from './replay/tape.ts'

/** How is recorded and replayed. */
interface CassetteOptions {
  /** The folder of cassettes that are recorded. */
  record: string | undefined
  /** The folder of cassettes that are replayed. */
  replay: string | undefined
  /** Sessions that are recorded, by the names of their cassettes, while the others are replayed; undefined for all. */
  only?: readonly string[] | undefined
  onMiss: OnMiss
  speed: ReplaySpeed
  allow: readonly WeakMatching[]
  rules: readonly VolatileRule[]
  redaction: { paths: readonly string[]; personalNames: boolean; keys: readonly string[] }
  /** Maximum size of a recorded response in bytes. */
  limit: number
  /** Name of the session of programs that name none. Its cassette has always the same name. */
  home: string | undefined
  /** Receives a line about a cassette that cannot be written. */
  notice(line: string): void
}

/** The name of the cassette of programs that name no session. */
const HOME_CASSETTE = 'default'

/**
 * The session in which `@understudy/test` runs a test once more, such as after a failure. It replays the cassette of the
 * test, from the beginning, unless it was recorded itself.
 */
const REPEATED_TEST = /^(.+-[0-9a-f]{8})\.\d+$/

/** Cassettes of a running program. */
export type Cassettes = ReturnType<typeof createCassettes>

/**
 * Opens the cassettes.
 * @throws FileError if there is no folder to replay from
 */
export function createCassettes(options: CassetteOptions) {
  const { record, replay, only, onMiss, speed, allow, rules, redaction, limit, home, notice } = options
  if (replay !== undefined && onMiss !== 'record' && !isFolder(replay)) {
    const [flag, all] = only ? ['--out', ' without --only'] : ['--replay', '']
    throw new FileError(
      `${flag} ${JSON.stringify(replay)} is not a folder: record cassettes with 'understudy record'${all}`,
    )
  }
  const folder = record ?? replay ?? ''
  if (folder !== '' && existsSync(folder) && !isFolder(folder))
    throw new FileError(`${JSON.stringify(folder)} is a file: the folder of cassettes cannot be there`)
  if (record !== undefined || onMiss === 'record') checkWritable(folder)
  const redactors = new Map<string, Redactor>()
  const tapes = new Map<string, Tape>()
  const cassetteOf = (session: string) => (session === home ? HOME_CASSETTE : session)
  // Programs with a key of their own are in the default session, whose cassette is that of the programs that have the key of the run.
  const first = new Map<string, string>()
  const firstWithCassetteOf = (session: string) => first.getOrInsert(cassetteOf(session), session)
  const replayedOf = (session: string) => {
    const name = cassetteOf(session)
    const isOwn = onMiss === 'record' || existsSync(cassetteFile(folder, name))
    return isOwn ? name : (REPEATED_TEST.exec(name)?.[1] ?? name)
  }
  const redactorOf = (session: string) =>
    redactors.getOrInsertComputed(firstWithCassetteOf(session), () => createRedactor(redaction))
  const tapeIn = (session: string) => tapes.get(firstWithCassetteOf(session))
  const isRecorded = (session: string) => record !== undefined && (only?.includes(cassetteOf(session)) ?? true)
  const tapeOf = (called: string, folder: string) => {
    const session = firstWithCassetteOf(called)
    return tapes.getOrInsertComputed(session, () => {
      const name = replayedOf(session)
      const place = { file: cassetteFile(folder, name), command: renewalCommand(folder, name) }
      return new Tape({ session, ...place, cassette: openTape(place), rules, redactor: redactorOf(session), allow })
    })
  }
  const recorder =
    record !== undefined || onMiss === 'record'
      ? new Recorder({
          folder,
          header: (session) => ({
            session,
            recorded: new Date(realClock.now()).toISOString().slice(0, 10),
            understudy: VERSION,
            volatile: rules,
            redact: redaction.paths,
          }),
          redactorOf,
          cassetteOf,
          firstWithCassetteOf,
          limit,
          earlier: (session) => tapeIn(session)?.interactions ?? [],
          learned: (session) => (tapeIn(session) ? redactorOf(session).learned() : undefined),
          report: notice,
        })
      : undefined
  return {
    /** A transport that records. */
    recording: (transport: Transport): Transport => recorder?.recording(transport) ?? transport,
    /** A transport that takes the place of the network. It opens no connection. */
    async replaying(...[url, init, attempt]: Parameters<Transport>) {
      const tape = tapeOf(attempt.session, replay ?? '')
      const recorded = tape.take(await upstreamRequest({ url, init, attempt }), attempt)
      return replayAttempt({
        ...{ recorded, attempt, speed },
        readOn: () =>
          tape.stopped(attempt, 'read on', `the recording ends here, because its client ${leaving(recorded.end)}`),
        truncated: (omitted) =>
          tape.stopped(attempt, 'not recorded', `the recording ends here: ${omitted} more bytes were not recorded`),
      })
    },
    /** The backend of each session: `real` where it is recorded or a miss is forwarded, else `replayed`. */
    choose({ real, replayed }: { real: Backend | undefined; replayed: Backend | undefined }): Backend {
      if (!real || !replayed) {
        const only = real ?? replayed
        if (!only) throw new Error('no backend')
        return only
      }
      const routed = async <R>(session: string, replay: () => Promise<R>, forward: () => Promise<R>): Promise<R> => {
        if (isRecorded(session)) return forward()
        try {
          return await replay()
        } catch (error) {
          if (!(error instanceof ReplayMiss) || onMiss === 'error') throw error
          tapeIn(session)?.forward(error.miss)
          return forward()
        }
      }
      const { passing: realPassing } = real
      const { passing } = replayed
      return {
        answer: (call) =>
          routed(
            call.session,
            () => replayed.answer(call),
            () => real.answer(call),
          ),
        ...(passing &&
          realPassing && {
            passing: {
              takes: passing.takes,
              pass: (call, request) =>
                routed(
                  call.session,
                  () => passing.pass(call, request),
                  () => realPassing.pass(call, request),
                ),
            },
          }),
      }
    },
    /** The redactor of a session, for everything that is stored or shown of it. */
    redactorOf,
    report(): CassetteReport {
      const recorded = new Map(recorder?.recorded().map((one) => [one.session, one]))
      const names = [...new Set([...recorded.keys(), ...tapes.keys()])].sort()
      const sessions = names.map((session): SessionCassette => {
        const tape = tapes.get(session)
        const { session: _, file, ...about } = recorded.get(session) ?? { session, file: undefined }
        return {
          session,
          cassette: file ? cassetteOf(session) : replayedOf(session),
          file: file ?? cassetteFile(folder, replayedOf(session)),
          recorded: 'attempts' in about ? about : null,
          replayed: tape ? replayedIn(tape) : null,
          ...redactedIn(redactorOf(session)),
        }
      })
      const ofRecorded = sessions.filter((one) => one.recorded !== null)
      const matched = new Set(ofRecorded.flatMap(({ redacted }) => redacted.map(({ rule }) => rule)))
      return {
        folder,
        graded: sessions.some(({ replayed }) => Object.keys(replayed?.weak ?? {}).length > 0),
        unmatched_paths: redaction.paths.filter((path) => ofRecorded.length > 0 && !matched.has(pathRule(path))),
        unused_cassettes:
          replay === undefined ? [] : cassetteNamesIn(folder, new Set(sessions.map(({ file }) => basename(file)))),
        sessions,
      }
    },
    /** A session begins anew: all of its recorded attempts can be replayed again. */
    rewind: (session: string) => tapeIn(session)?.rewind(),
    /** Ends what is recorded: `Recorder.finish`. */
    finish: async (end?: RunEnd, notSent?: readonly string[]): Promise<void> => recorder?.finish(end, notSent),
  }
}

/**
 * Checks that a folder can be written, or made: otherwise calls would be paid for, and not recorded.
 * @throws FileError
 */
function checkWritable(folder: string): void {
  let path = resolve(folder)
  while (!existsSync(path)) path = dirname(path)
  const fail = (why: string) => new FileError(`cassettes cannot be written to ${JSON.stringify(folder)}: ${why}`)
  if (!isFolder(path)) throw fail(`${path} is a file`)
  try {
    accessSync(path, constants.W_OK)
  } catch (error) {
    throw fail((error as Error).message)
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

const leaving = (end: string) => (end === 'timed out' ? 'timed out' : 'left')

/** The cassette of a session, or why there is none. */
function openTape({ file, command }: { file: string; command: string }): Cassette | { missing: string } {
  const hint = `record it with '${command}'`
  if (!existsSync(file)) return { missing: `the session has no cassette: ${file} does not exist; ${hint}` }
  try {
    const cassette = readCassette(file)
    if (cassette.header.state === 'complete') return cassette
    return { missing: `the cassette ${file} is incomplete, because its recording was interrupted; ${hint}` }
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    return { missing: `the cassette cannot be read: ${error.problems.join('; ')}` }
  }
}

function replayedIn(tape: Tape): NonNullable<SessionCassette['replayed']> {
  return {
    attempts: tape.replayed,
    forwarded: tape.forwarded,
    missed: tape.missCount,
    misses: tape.misses.map(({ session: _, ...miss }) => miss),
    unused: tape.unused().map(({ interaction, unused }) => {
      const { line, turn, attempts, request } = interaction
      const { operation, provider, model } = request
      return { line, turn, operation, model: `${provider}/${model}`, attempts: attempts.length, unused }
    }),
    weak: Object.fromEntries(tape.weak),
    volatile: Object.fromEntries(tape.applied),
  }
}

function redactedIn(redactor: Redactor): Pick<SessionCassette, 'redacted' | 'not_compared'> {
  const { replaced, notCompared } = redactor.report()
  return { redacted: [...replaced], not_compared: [...notCompared] }
}
