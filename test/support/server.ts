// The compiled executable in an empty folder, as a user starts it.
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The compiled executable under test. */
export const EXECUTABLE = join(
  import.meta.dir,
  '..',
  '..',
  'dist',
  process.platform === 'win32' ? 'understudy.exe' : 'understudy',
)
if (!existsSync(EXECUTABLE)) throw new Error('dist/understudy is missing: run npm run build, or npm test')

/** What a finished command left. */
export interface Finished {
  code: number
  stdout: string
  stderr: string
}

/** An empty folder, and what removes it. */
export function emptyFolder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'understudy-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** The environment of the executable: nothing of the machine's own settings reaches it, and it ends with this process. */
export const environment = (more: Record<string, string> = {}): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  UNDERSTUDY_PARENT: String(process.pid),
  ...more,
})

/** Runs the executable to its end. */
export async function run(
  args: readonly string[],
  { cwd = tmpdir(), env = {}, input }: { cwd?: string; env?: Record<string, string>; input?: string } = {},
): Promise<Finished> {
  const stdin = input === undefined ? 'ignore' : Buffer.from(input)
  const io = { stdin, stdout: 'pipe', stderr: 'pipe' } as const
  const child = Bun.spawn([EXECUTABLE, ...args], { cwd, env: environment(env), ...io })
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, stdout, stderr }
}

/** A running server. */
export interface Server {
  url: string
  pid: number
  /** The JSON line it printed when it was ready. */
  ready: Record<string, unknown>
  /** Ends it with a signal (SIGTERM unless told otherwise); resolves to its exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>
}

interface Place {
  cwd: string
  env?: Record<string, string>
}

/** Starts the executable; resolves with what it printed once that holds `end`. */
export async function startUntil(args: readonly string[], end: string, { cwd, env = {} }: Place) {
  const child = Bun.spawn([EXECUTABLE, ...args], { cwd, env: environment(env), stdout: 'pipe', stderr: 'pipe' })
  const stderr = new Response(child.stderr).text()
  const printed = await readTo(child.stdout, end)
  if (printed === '') throw new Error(`the server did not start: ${await stderr}`)
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal)
    await child.exited
    return child.exitCode
  }
  return { printed, stderr, pid: child.pid, stop }
}

/** A server, and everything that it has printed on stderr when it has ended. */
export interface OwnServer extends Server {
  stderr: Promise<string>
}

/** Starts `understudy serve --json` on a free port, unless `args` name one; resolves when it is ready. */
export async function startServer(args: readonly string[], place: Place): Promise<OwnServer> {
  const { printed, ...rest } = await startUntil(['serve', '--port', '0', '--json', ...args], '\n', place)
  const ready = JSON.parse(printed) as Record<string, unknown>
  return { url: String(ready.url), ready, ...rest }
}

/** The text of a stream up to and with the first `end`; empty when the stream ends before. Goes on reading afterwards. */
async function readTo(stream: ReadableStream<Uint8Array>, end: string): Promise<string> {
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return ''
    text += decoder.decode(value, { stream: true })
    if (text.includes(end)) break
  }
  // The server must never wait for a full pipe.
  void (async () => {
    while (!(await reader.read()).done);
  })()
  return text.slice(0, text.indexOf(end) + end.length)
}

/** What a server at `url` sends for these bytes, up to `end` or the end of the connection. */
export async function exchange(url: string, bytes: string, end: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const { promise, resolve } = Promise.withResolvers<string>()
  let text = ''
  const data = (_: unknown, received: Buffer) => {
    text += received.toString()
    if (text.includes(end)) resolve(text)
  }
  const socket = await Bun.connect({ hostname, port: Number(port), socket: { data, close: () => resolve(text) } })
  socket.write(bytes)
  await promise
  socket.end()
  return text
}
