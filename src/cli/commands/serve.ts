// understudy serve: runs the server until it is stopped.
import { accessSync, constants, rmSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { Command } from 'commander'
import { addressLine } from '../../config/addresses.ts'
import { type Config, ConfigError, readConfig } from '../../config.ts'
import { createUnderstudy, type Understudy } from '../../deps.ts'
import { realClock } from '../../lib/clock.ts'
import { writePrivateFile } from '../../lib/private-files.ts'
import { VERSION } from '../../version.ts'
import { endWorkers } from '../../workers/pool.ts'
import type { CommandIo, Exiting } from '../io.ts'
import { cassetteLines } from '../print/cassette-lines.ts'
import { jsonLine } from '../print/log.ts'
import { withRequestLog } from '../print/request-log.ts'
import { withClientTime } from '../run/client-time.ts'
import { withIdleCollection } from '../run/idle-collection.ts'
import { announceAddresses, FLUSH_MS, listen, rejectOpenHost, serverUrl } from '../run/listen.ts'
import type { StopCause } from '../run/stop-signals.ts'
import { addSettingFlags, rejectUnusedReplaySettings, settingsByKey } from './command-flags.ts'

/**
 * How long a balancer that checks health every second takes to send no more sessions here, and how many checks it
 * needs: three failures make it stop, and the check after them shows that it has read the third one.
 */
const [NOTICE_MS, NOTICE_COUNT] = [1_500, 4]
/** Interval between checks whether calls have ended. */
const LOOK_MS = 20
/** Time for the last responses to be sent after the time limit for calls. */
const LEAVE_MS = 250
/** One signal may arrive twice within this time: to the process group, and from our launcher. */
const TWICE_MS = 1_000

const ABOUT_FLAGS = `
Every flag can also be set as UNDERSTUDY_<FLAG> in the environment and as <flag>
in understudy.yaml, with _ for -.`

/** `understudy serve`: runs the server until it is stopped. */
export function serveCommand(io: CommandIo, exiting: Exiting): Command {
  const command = new Command('serve').description('start the server and run until stopped')
  addSettingFlags(command)
  command.addHelpText('after', ABOUT_FLAGS)
  return command.action(
    exiting(async (options: Record<string, unknown>) => serve(io, readConfig(settingsByKey(options), io.env))),
  )
}

/** Resolves with the exit code when the server has stopped. */
async function serve(io: CommandIo, config: Config): Promise<number> {
  const { log, stdout } = io
  log.useFormat(config.log)
  rejectOpenHost(config)
  rejectUnusedReplaySettings(config, io)
  if (config.ready_file) clearReadyFile(config.ready_file)
  const made = createUnderstudy(config, log.report, { notice: log.notice })
  const understudy = withIdleCollection(withClientTime(made), { memory: io.memory })
  // Where standard output is read by a program, people read the other.
  if (config.json) announceAddresses(io, config)
  for (const warning of understudy.warnings) log.line('warn', warning, { prefix: 'warning: ' })
  if (config.log === 'json') log.calls(understudy)
  const servers = await listen(config, withRequestLog(understudy, io, config.verbose))
  const port = servers[0]?.port
  const url = serverUrl(config, port)
  if (!understudy.instance.named) understudy.instance.name = new URL(url).host
  const db = config.db === ':memory:' ? config.db : resolve(config.db)
  const { mode, scenario, warnings } = understudy
  const extra = scenario && { scenario: scenario.name }
  // Lines on the other stream may be read later, or not at all.
  const warned = warnings.length > 0 && { warnings }
  const { addresses } = config
  const outside = addresses.length > 0 && { addresses }
  const facts = { url, pid: process.pid, mode, db, ...extra, version: VERSION, ...outside, ...warned }
  const ready = JSON.stringify(facts)
  // Whoever reads that the server is ready may stop it at once.
  const ended = stopped(io, servers, { understudy, config })
  if (config.ready_file) {
    writePrivateFile(config.ready_file, `${ready}\n`)
  }
  // If both streams are collected, human-readable lines would break the JSON log.
  if (config.json) stdout.text(ready)
  else if (log.isJson) stdout.text(jsonLine('info', 'ready', facts))
  else stdout.lines(readyLines(url, db, understudy, config))
  const code = await ended
  const { cassettes } = understudy
  // Where standard output is read by a program, people read the other.
  const printer = config.json || log.isJson ? io.stderr : stdout
  if (cassettes && log.isJson) log.line('info', 'cassettes', { cassettes: cassettes.report() })
  else if (cassettes)
    printer.lines(cassetteLines(cassettes.report()).map(([title, text]) => `  ${title.padEnd(TITLE)}${text}`))
  return code
}
/** Columns of a title. */
const TITLE = 14

/** Removes the file of an earlier run, so that others wait for this run's. Also checks that it can be written. */
function clearReadyFile(file: string): void {
  try {
    accessSync(dirname(resolve(file)), constants.W_OK)
    rmSync(file, { force: true })
  } catch (error) {
    throw new ConfigError(`--ready-file ${JSON.stringify(file)} cannot be written: ${(error as Error).message}`)
  }
}

function readyLines(url: string, db: string, { fixtures, about, scenario }: Understudy, config: Config): string[] {
  const token = config.token.length > 0 ? '<your token>' : 'any'
  return [
    `Understudy ${VERSION} is listening at ${url}`,
    '',
    `  mode      ${about}`,
    ...config.addresses.map((address) => `  sends     ${addressLine(address)}`),
    `  database  ${db}`,
    `  fixtures  ${fixtures} loaded; unmatched calls get ${config.on_unmatched === 'error' ? 'a 404' : 'a generated response'}`,
    ...(scenario ? [`  scenario  ${scenario.name}, in every session (${scenario.location})`] : []),
    `  inspector ${url}/`,
    `  swagger   ${url}/swagger`,
    `  docs      ${url}/docs/`,
    '',
    '  Try it:',
    '',
    "  import OpenAI from 'openai'",
    `  const client = new OpenAI({ baseURL: '${url}/v1', apiKey: '${token}' })`,
    "  console.log((await client.chat.completions.create({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello!' }] })).choices[0].message.content)",
    '',
  ]
}

/**
 * Resolves when a balancer knows that this process is shutting down, after at most `NOTICE_MS`; at once if no one polls
 * its health. Until then new sessions are accepted.
 */
async function balancerKnows({ watch }: Understudy, most: number): Promise<void> {
  if (!watch.isWatched()) return
  const [countBefore, began] = [watch.count, realClock.now()]
  const passed = () => realClock.now() - began
  while (passed() < most && (passed() < NOTICE_MS || watch.count - countBefore < NOTICE_COUNT))
    await realClock.sleep(LOOK_MS)
}

/**
 * Resolves when no call is in progress that can end by itself. Existing sessions are served until then. Returns the
 * deadline for the rest.
 */
async function atRest({ sessions }: Understudy, deadline: number): Promise<number> {
  while (sessions.active() > sessions.endless() && realClock.now() < deadline) await realClock.sleep(LOOK_MS)
  return sessions.active() > 0 ? realClock.now() : deadline
}

interface Served {
  understudy: Understudy
  config: Config
}

/** Resolves with the exit code when a stop was requested and the servers have stopped; at once at a second request. */
function stopped(
  { signals, onInputEnd }: CommandIo,
  servers: readonly Bun.Server<undefined>[],
  served: Served,
): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  let stopping: number | undefined
  const stop = (cause: StopCause | 'input') => {
    const now = realClock.now()
    if (stopping === undefined) {
      stopping = now
      stopServers(servers, served).then(() => resolve(0), reject)
      return
    }
    // A second request means: do not wait.
    const again = cause === 'SIGTERM' || cause === 'SIGHUP'
    if (cause === 'SIGINT' || (again && now - stopping > TWICE_MS)) resolve(1)
  }
  const hearNoMore = signals.onStop(stop)
  if (served.config.stop_with_stdin) onInputEnd(() => stop('input'))
  return promise.finally(hearNoMore)
}

/** Stops when the calls in progress have ended, or their time is up. */
async function stopServers(servers: readonly Bun.Server<undefined>[], { understudy, config }: Served): Promise<void> {
  const { sessions, observers, telemetry, cassettes } = understudy
  const began = realClock.now()
  sessions.drain()
  await balancerKnows(understudy, config.drain_timeout / 2)
  sessions.refuseNew()
  const deadline = await atRest(understudy, began + config.drain_timeout)
  // Otherwise an observer, such as an open page, would be awaited like a call.
  observers.end()
  const ended = Promise.all(servers.map((server) => server.stop()))
  await Promise.race([ended, realClock.sleep(Math.max(LEAVE_MS, deadline - realClock.now()))])
  await Promise.all(servers.map((server) => server.stop(true)))
  await telemetry?.stop(FLUSH_MS)
  await cassettes?.finish()
  sessions.close()
  endWorkers()
}
