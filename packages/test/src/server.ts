// The server that tests call: started once in a process, or one that is there already.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { findExecutable, rejectUnknown, UnderstudyError } from './executable.ts'
import type { ServerAddress } from './request.ts'

/** How the server is started. */
export interface StartOptions {
  /** Path of the executable; `UNDERSTUDY_BIN`, the installed package or the checkout when left out. */
  executable?: string
  /** Files and folders of fixtures, from the current folder. */
  fixtures?: string | readonly string[]
  /** A scenario that each session begins with: the name of a shipped one, or a file. */
  scenario?: string
  /** A seed file for the workspace of each session, or `none`. */
  seedFile?: string
  /** `virtual` when left out: waits take no time, and the same calls have the same times. */
  clock?: 'real' | 'virtual'
  /** More flags of `understudy serve`. */
  args?: readonly string[]
}

/** A server that answers. */
export interface UnderstudyServer extends ServerAddress {
  /** Whether sessions are left to whoever started it, such as `understudy exec`, which judges them in the end. */
  keepsSessions: boolean
  /** Path of the executable; throws when there is none. */
  executable(): string
  /** Stops it, where we have started it; else does nothing. It also stops with the process. */
  stop(): Promise<void>
}

const SERVERS = Symbol.for('understudy test servers')
const CHOSEN = Symbol.for('understudy test chosen')
interface Registry {
  [SERVERS]?: Map<string, Promise<UnderstudyServer>>
  [CHOSEN]?: string
}
// Runners give each file a global object of its own; built-in modules are those of the process.
const shared = EventEmitter as unknown as Registry
const own = globalThis as unknown as Registry

/**
 * The server of this process: started when it is first asked for, and the same one from then on. With `UNDERSTUDY_URL`
 * in the environment it is the one there. Options are given once, before the first test.
 */
export function startUnderstudy(options?: StartOptions): Promise<UnderstudyServer> {
  const key = JSON.stringify(options ?? JSON.parse(own[CHOSEN] ?? '{}'))
  if (own[CHOSEN] !== undefined && own[CHOSEN] !== key) {
    const message = `startUnderstudy was first called with ${own[CHOSEN]}, and then with ${key}: use the same options everywhere`
    return Promise.reject(new UnderstudyError(message))
  }
  own[CHOSEN] = key
  shared[SERVERS] ??= new Map()
  const servers = shared[SERVERS]
  const running = servers.get(key)
  if (running) return running
  const forget = () => {
    servers.delete(key)
    own[CHOSEN] = undefined
  }
  const started = open(JSON.parse(key), forget)
  servers.set(key, started)
  started.catch(forget)
  return started
}

async function open(options: StartOptions, forget: () => void): Promise<UnderstudyServer> {
  const url = process.env.UNDERSTUDY_URL
  if (!url) return start(options, forget)
  const given = Object.keys(options).filter((name) => name !== 'executable')
  if (given.length > 0) {
    const names = given.map((name) => `'${name}'`).join(', ')
    throw new UnderstudyError(
      `startUnderstudy was called with ${names}, but UNDERSTUDY_URL names a running server: configure that server instead`,
    )
  }
  const variable = process.env.UNDERSTUDY_TOKEN ?? ''
  const token = variable.replace(/#.*$|^session:.*$/s, '')
  return {
    url: url.replace(/\/$/, ''),
    token: token === '' ? undefined : token,
    keepsSessions: variable.includes('session:'),
    executable: () => findExecutable(options.executable),
    stop: async () => forget(),
  }
}

/** Settings of whoever calls us that are none of a server that is started here. */
const NOT_PASSED_ON = ['BIN', 'URL', 'TOKEN', 'HOST', 'READY_FILE', 'PARENT'].map((name) => `UNDERSTUDY_${name}`)

function flagsOf(options: StartOptions): string[] {
  const { executable: _, fixtures = [], scenario, seedFile, clock = 'virtual', args = [], ...unknown } = options
  rejectUnknown('startUnderstudy()', unknown, ['fixtures', 'scenario', 'seedFile', 'clock', 'executable', 'args'])
  return [
    ...['serve', '--json', '--stop-with-stdin', '--port', '0', '--db', ':memory:', '--clock', clock],
    ...[fixtures].flat().flatMap((path) => ['--fixtures', path]),
    ...(scenario === undefined ? [] : ['--scenario', scenario]),
    ...(seedFile === undefined ? [] : ['--seed-file', seedFile]),
    ...args,
  ]
}

async function start(options: StartOptions, forget: () => void): Promise<UnderstudyServer> {
  const executable = findExecutable(options.executable)
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !NOT_PASSED_ON.includes(name)))
  const child = spawn(executable, flagsOf(options), { env, windowsHide: true })
  const url = await ready(child, executable)
  // Neither the server nor its pipes keep the process alive; when this ends, so does the server's input, and the server.
  for (const part of [child, child.stdin, child.stdout, child.stderr]) (part as { unref?(): void }).unref?.()
  return {
    url,
    token: undefined,
    keepsSessions: false,
    executable: () => executable,
    stop: () => {
      forget()
      if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
      return new Promise((resolve) => {
        child.ref()
        child.once('exit', () => resolve())
        child.kill()
      })
    },
  }
}

/** What a server says of itself once it answers. */
interface Ready {
  url: string
  warnings?: string[]
}

/** The address of a server once it answers; throws `UnderstudyError` with what it says when it does not start, or warns. */
function ready(child: ChildProcessWithoutNullStreams, executable: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let printed = ''
    let complaints = ''
    const fail = (why: string) => reject(new UnderstudyError(`the server did not start (${executable}): ${why}`))
    child.on('error', ({ message }) => fail(message))
    child.on('exit', (code) => fail(complaints.trim() || `it exited with code ${code}`))
    child.stderr.on('data', (part: Buffer) => {
      // What it says later is in the traces, and in the answers.
      if (!printed.includes('\n')) complaints += part
    })
    child.stdout.on('data', (part: Buffer) => {
      if (printed.includes('\n')) return
      printed += part
      if (!printed.includes('\n')) return
      const { url, warnings = [] }: Ready = JSON.parse(printed.slice(0, printed.indexOf('\n')))
      if (warnings.length === 0) resolve(url)
      else {
        child.kill()
        fail(warnings.join('\n'))
      }
    })
  })
}
