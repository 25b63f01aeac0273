// One run of the command that is explored: against a server of its own, and what was seen of it.
import { closeSync, fstatSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Config, clientEnvironment } from '../../config.ts'
import type { RunFile } from '../../db/run-file.ts'
import { createUnderstudy } from '../../deps.ts'
import { playable } from '../../exploration/cell-scenario.ts'
import type { PlayRoute } from '../../exploration/routes.ts'
import { seenIn } from '../../exploration/seen.ts'
import type { RunCommand } from '../../exploration/trial.ts'
import type { ObservedRun } from '../../exploration/types.ts'
import { realClock } from '../../lib/clock.ts'
import { fixedSource } from '../../scenarios/load.ts'
import { type ChildEnd, runChild } from '../child.ts'
import { listen, report, serverUrl } from '../listen.ts'
import { countingRequests, judgeSessions } from '../suite.ts'

/** The session that the command works in when it names none. */
const HOME = 'explore'
/** How much of what a command prints is kept, in bytes. */
const MOST_OUTPUT = 8_000

/** What the runs of a command share. */
export interface ObserveOptions {
  command: readonly string[]
  config: Config
  /** Keeps the calls. */
  file: RunFile
}

/** Runs a command as exploration asks for it. */
export const observer =
  (options: ObserveOptions): RunCommand =>
  async ({ scenario, limitMs }) => {
    const { command, config, file } = options
    const source = scenario && fixedSource({ ...playable(scenario), location: scenario.name })
    const understudy = createUnderstudy(config, report, { scenarios: source ? [source] : [], home: HOME })
    const requests = new Map<string, number>()
    const servers = await listen(config, countingRequests(understudy, requests))
    const url = serverUrl(config, servers[0]?.port)
    const [token] = config.token
    const env = clientEnvironment(url, HOME, token)
    const printed = scratchFile()
    const began = realClock.now()
    try {
      const end = await runChild(command, { env, timeout: limitMs ?? undefined, output: printed.descriptor })
      const tookMs = realClock.now() - began
      const ended = end.stopped !== undefined || end.timedOut ? 'stopped' : end.code === 0 ? 'unknown' : 'badly'
      const { verdicts } = await judgeSessions({ understudy, url, token, round: { label: HOME }, requests, ended })
      const renamed = await file.keep(understudy.sessions.list().map(({ traces }) => traces))
      return withIds(renamed, {
        ...endOf(end),
        tookMs,
        ...seenIn(understudy.sessions),
        findings: verdicts.flatMap(({ session, findings }) => findings.map((finding) => ({ session, finding }))),
        rules: verdicts.flatMap(({ rules }) => rules),
        output: printed.tail(MOST_OUTPUT),
      })
    } finally {
      await Promise.all(servers.map((server) => server.stop(true)))
      understudy.sessions.close()
      printed.remove()
    }
  }

/** Plays calls in this process on virtual clocks; the function `close` ends that. */
export function routePlayer(config: Config): { play: PlayRoute; close(): void } {
  const { app, sessions } = createUnderstudy({ ...config, token: [], tokens: {} }, report)
  let played = 0
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
      const name = `route-${played++}`
      await post('/_understudy/sessions', { name, scenario })
      // What breaks off reaches nobody here: the trace says what it was.
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

/** The run with the ids that its calls are kept under. */
function withIds(renamed: ReadonlyMap<string, string>, run: ObservedRun): ObservedRun {
  if (renamed.size === 0) return run
  const idOf = (id: string) => renamed.get(id) ?? id
  return {
    ...run,
    calls: run.calls.map(({ trace, ...call }) => ({ ...call, trace: { ...trace, id: idOf(trace.id) } })),
    findings: run.findings.map(({ session, finding }) => ({
      session,
      finding: { ...finding, traces: finding.traces.map(idOf) },
    })),
  }
}

/** A signal's number lies above this in an exit code. */
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

/** A file that a command may print into, gone when it has been read. */
function scratchFile() {
  const folder = mkdtempSync(join(tmpdir(), 'understudy-'))
  const descriptor = openSync(join(folder, 'output'), 'w+')
  return {
    descriptor,
    /** The last bytes that were printed, as text. */
    tail(most: number): string {
      const { size } = fstatSync(descriptor)
      const bytes = Buffer.alloc(Math.min(size, most))
      readSync(descriptor, bytes, 0, bytes.length, size - bytes.length)
      return bytes.toString('utf8')
    },
    remove() {
      closeSync(descriptor)
      rmSync(folder, { recursive: true })
    },
  }
}
