// understudy serve: listens, says where, and stops cleanly.
import { accessSync, constants, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { Command } from 'commander'
import { type Config, ConfigError, flagOf, isFileOnly, isList, readConfig, SETTINGS } from '../config.ts'
import type { Connection } from '../contract/connection.ts'
import { FileError } from '../contract/source.ts'
import { createUnderstudy, type Understudy } from '../deps.ts'
import { bareSocket } from '../lib/bare-socket.ts'
import { realClock } from '../lib/clock.ts'
import { isLoopback } from '../lib/hosts.ts'
import { VERSION } from '../version.ts'

/** How long running answers may take after a signal to stop, in ms. */
const GRACE_MS = 5_000

export function serveCommand(): Command {
  const command = new Command('serve').description('answer calls until stopped')
  for (const [key, { takes, help, fallback }] of Object.entries(SETTINGS)) {
    if (isFileOnly(key)) continue
    const flag = takes ? `${flagOf(key)} <${takes}>` : flagOf(key)
    const standard = fallback === undefined || fallback === false || (Array.isArray(fallback) && fallback.length === 0)
    const text = standard ? help : `${help} (default: ${key === 'max_body' ? '32MiB' : fallback})`
    if (isList(key)) command.option(flag, text, (value: string, all: string[] | undefined) => [...(all ?? []), value])
    else command.option(flag, text)
  }
  command.option('--config <FILE>', 'settings file (default: understudy.yaml, when there is one)')
  command.addHelpText(
    'after',
    '\nEvery flag is also UNDERSTUDY_<FLAG> in the environment and <flag> with _ for - in understudy.yaml.',
  )
  return command.action((options: Record<string, unknown>) => serve(readConfig(byKey(options))))
}

/** Commander's camelCase option names as setting keys. */
const byKey = (options: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(options).map(([name, value]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  )

async function serve(config: Config): Promise<void> {
  if (config.host !== undefined && !isLoopback(config.host) && config.token.length === 0) {
    throw new ConfigError(
      `--host ${config.host} lets other machines in, so it needs --token: without one, anybody on the network may call`,
    )
  }
  if (config.ready_file) clearReadyFile(config.ready_file)
  const understudy = createUnderstudy(config, report)
  for (const warning of understudy.warnings) console.error(`understudy: warning: ${warning}`)
  const servers = await listen(config, understudy)
  const port = servers[0]?.port
  const host = config.host ?? '127.0.0.1'
  const url = `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${port}`
  const db = config.db === ':memory:' ? config.db : resolve(config.db)
  const { mode, scenario } = understudy
  const played = scenario && { scenario: scenario.name }
  const ready = JSON.stringify({ url, pid: process.pid, mode, db, ...played, version: VERSION })
  if (config.ready_file) {
    // Renamed into place, so that whoever waits for the file never reads half of it.
    const draft = `${config.ready_file}.${process.pid}`
    writeFileSync(draft, `${ready}\n`)
    renameSync(draft, config.ready_file)
  }
  console.log(config.json ? ready : readyLines(url, db, understudy, config))
  stopOnSignal(servers, understudy)
}

/** Prints what went wrong while calls are answered: a file with a mistake in lines, what is a bug with its stack. */
export function report(error: unknown): void {
  if (error instanceof FileError) {
    for (const line of error.message.split('\n')) console.error(`understudy: ${line}`)
    return
  }
  // The stack alone: the runtime would print the lines around it, which in the executable are pages of packed code.
  console.error(error instanceof Error ? error.stack : error)
}

/** Removes what an earlier run left, so that whoever waits for the file gets this run's; finds out that it can be written. */
function clearReadyFile(file: string): void {
  try {
    accessSync(dirname(resolve(file)), constants.W_OK)
    rmSync(file, { force: true })
  } catch (error) {
    throw new ConfigError(`--ready-file ${JSON.stringify(file)} cannot be written: ${(error as Error).message}`)
  }
}

const NO_ADDRESS = 'that is no address of this machine; leave --host out for loopback, or give 0.0.0.0 for all of them'
const REASONS: Record<string, string> = {
  EADDRINUSE: 'it is in use; stop who has it, or choose another with --port (0 takes a free one)',
  EADDRNOTAVAIL: NO_ADDRESS,
  EINVAL: NO_ADDRESS,
  EACCES: 'this user may not listen there; choose a port from 1024 with --port',
}

/** Listens on the host, or on both loopback addresses: `localhost` is ::1 first on some systems. */
export async function listen(config: Config, { app, sessions }: Understudy): Promise<Bun.Server<undefined>[]> {
  const on = (hostname: string, port: number) =>
    Bun.serve({
      hostname,
      port,
      idleTimeout: 0,
      reusePort: false,
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      // Else the server prints every connection that a fault resets, with a stack.
      development: false,
      fetch: (request, server) => app.fetch(request, () => connectionOf(request, server)),
    })
  const host = config.host ?? '127.0.0.1'
  try {
    const first = on(host.replace(/^\[|\]$/g, ''), config.port)
    if (config.host !== undefined) return [first]
    try {
      return [first, on('::1', first.port ?? config.port)]
    } catch (error) {
      // A machine without IPv6 has no ::1 to listen on; one where somebody else listens there would get half our calls.
      if ((error as { code?: string }).code !== 'EADDRINUSE' || config.port === 0) return [first]
      first.stop(true)
      throw error
    }
  } catch (error) {
    sessions.close()
    const { code, message } = error as { code?: string; message: string }
    console.error(`understudy: cannot listen on ${host}:${config.port}: ${REASONS[code ?? ''] ?? message}`)
    process.exit(1)
  }
}

/** The bare connection of a request that is being answered. */
async function connectionOf(request: Request, server: Bun.Server<undefined>): Promise<Connection | undefined> {
  const client = server.requestIP(request)
  if (!client || server.port === undefined) return undefined
  return bareSocket({ address: client.address, port: client.port, localPort: server.port })
}

function readyLines(url: string, db: string, { fixtures, about, scenario }: Understudy, config: Config): string {
  const token = config.token.length > 0 ? '<your token>' : 'any'
  return [
    `Understudy ${VERSION} answers at ${url}`,
    '',
    `  mode      ${about}`,
    `  database  ${db}`,
    `  fixtures  ${fixtures} loaded; a call without one is ${config.on_miss === 'error' ? 'refused with 404' : 'answered by the synthesizer'}`,
    ...(scenario ? [`  scenario  ${scenario.name}, in every session (${scenario.place})`] : []),
    `  swagger   ${url}/swagger`,
    '',
    '  Paste this:',
    '',
    "  import OpenAI from 'openai'",
    `  const client = new OpenAI({ baseURL: '${url}/v2/router', apiKey: '${token}' })`,
    "  console.log((await client.chat.completions.create({ model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hello!' }] })).choices[0].message.content)",
    '',
  ].join('\n')
}

function stopOnSignal(servers: Bun.Server<undefined>[], { sessions }: Understudy): void {
  let stopping = false
  const stop = async (signal: NodeJS.Signals) => {
    // A second Ctrl-C is a person who will not wait; SIGTERM may come twice, to the group and from the one in front of us.
    if (stopping && signal === 'SIGINT') process.exit(1)
    if (stopping) return
    stopping = true
    const ended = Promise.all(servers.map((server) => server.stop()))
    await Promise.race([ended, realClock.sleep(GRACE_MS)])
    await Promise.all(servers.map((server) => server.stop(true)))
    sessions.close()
    process.exit(0)
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
}
