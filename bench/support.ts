// What the benches share: folders and servers that go when the bench ends, and figures of several runs.
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { headers } from './headers.ts'
import { cpuOf, memoryOf } from './machine.ts'
import { BenchError } from './options.ts'

/** The repository. */
export const root = join(import.meta.dir, '..')

/** The executable under test; `npm run bench` has built it. */
export const understudy = join(root, 'dist', process.platform === 'win32' ? 'understudy.exe' : 'understudy')

const endings = new Set<() => void>()
process.on('exit', () => {
  for (const end of [...endings].reverse()) end()
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130))

/** Does something when the bench ends, however it does; the function given back does it at once. */
export function atEnd(run: () => void): () => void {
  const end = () => {
    endings.delete(end)
    run()
  }
  endings.add(end)
  return end
}

/** A temporary folder, and what removes it. */
export function scratch(): { folder: string; remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), 'bench-'))
  // A server that has just been killed may still be writing.
  return { folder, remove: atEnd(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })) }
}

/** The text of one answer; throws when it is no success. */
export async function post(url: string, body: string, more: Record<string, string> = {}): Promise<string> {
  const response = await fetch(url, { method: 'POST', headers: { ...headers, ...more }, body })
  const text = await response.text()
  if (!response.ok) throw new BenchError(`${url} answered ${response.status}: ${text.slice(0, 500)}`)
  return text
}

/** How a server is started. */
export interface Command {
  args: readonly string[]
  /** The core it stays on, or several, separated by commas. */
  core?: number | string | undefined
  /** The port it was told to listen on, when it does not print its `url` as JSON. */
  port?: number
}

/** A server in a process of its own. */
export interface Server {
  url: string
  pid: number
  /** Microseconds of processor time it has used. */
  cpu(): number | undefined
  /** The same of the thread that answers. */
  answering(): number | undefined
  /** Bytes of memory it occupies now. */
  memory(): number
  stop(): Promise<void>
}

/** Starts a server in an empty temporary folder, and waits until it says where it listens. */
export async function start({ args, core, port }: Command): Promise<Server> {
  const { folder, remove } = scratch()
  const log = join(folder, 'stderr')
  const errors = openSync(log, 'w')
  const pinned = core === undefined ? args : ['taskset', '-c', String(core), ...args]
  const child = Bun.spawn([...pinned], { cwd: folder, stdout: 'pipe', stderr: errors })
  closeSync(errors)
  const kill = atEnd(() => child.kill('SIGKILL'))
  const url = port === undefined ? await printedUrl(child.stdout) : await connectable(port, child)
  if (url === undefined) throw new BenchError(`${args.join(' ')} did not start: ${readFileSync(log, 'utf8').trim()}`)
  return {
    url,
    pid: child.pid,
    cpu: () => cpuOf(child.pid),
    answering: () => cpuOf(child.pid, 'first'),
    memory: () => memoryOf(child.pid),
    async stop() {
      kill()
      await child.exited
      remove()
    },
  }
}

/** The `url` of the first line of a server's output. */
async function printedUrl(output: ReadableStream<Uint8Array>): Promise<string | undefined> {
  const { value } = await output.getReader().read()
  return value && (JSON.parse(new TextDecoder().decode(value)) as { url: string }).url
}

/** Where a server listens, as soon as it does. */
async function connectable(port: number, child: Bun.Subprocess): Promise<string | undefined> {
  const address = { hostname: '127.0.0.1', port }
  while (child.exitCode === null) {
    try {
      const socket = await Bun.connect({ ...address, socket: { data() {} } })
      socket.end()
      return `http://127.0.0.1:${port}`
    } catch {
      await Bun.sleep(1)
    }
  }
  return undefined
}

/** A port that nobody listens on. */
export function freePort(): number {
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  const { port } = listener
  listener.stop(true)
  return port
}

/** How Understudy is started: with a database file in its folder. */
export const serveArgs = (executable: string): string[] => [
  executable,
  ...['serve', '--json', '--port', '0', '--db', 'understudy.db'],
]

/** The middle one of some figures. */
export const median = (figures: readonly number[]): number =>
  figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? Number.NaN

/** Bytes as megabytes (10^6), one decimal. */
export const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`
