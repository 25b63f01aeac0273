// What the benchmarks share: servers started as a user starts them, the call that is made, and figures of several runs.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ConstantAnswers } from './constant-server.ts'

const root = join(import.meta.dir, '..')

/** The executable under test; `npm run bench` has built it. */
export const understudy = join(root, 'dist', process.platform === 'win32' ? 'understudy.exe' : 'understudy')

const PATH = '/v2/router/chat/completions'
/** Content chunks of a streamed answer. */
export const CHUNKS = 20

/** The body of the measured call; the token limit makes the streamed answer `CHUNKS` content chunks long. */
export const bodyOf = (stream: boolean): string =>
  JSON.stringify({
    model: 'openai/gpt-4o-mini',
    messages: [
      { role: 'system', content: 'You are a helpful assistant.' },
      { role: 'user', content: 'Hello there, how are you today?' },
    ],
    max_completion_tokens: CHUNKS,
    stream,
  })

/** Headers of the measured call. */
export const headers = { 'content-type': 'application/json', authorization: 'Bearer any' }

/** Where the measured call goes; the constant server tells the two forms apart by the query. */
export const callUrl = (url: string, stream: boolean): string => `${url}${PATH}${stream ? '?stream' : ''}`

/** The text of one answer; throws when it is no success. */
export async function call(url: string, stream = false): Promise<string> {
  const response = await fetch(callUrl(url, stream), { method: 'POST', headers, body: bodyOf(stream) })
  const text = await response.text()
  if (!response.ok) throw new Error(`${response.status}: ${text}`)
  return text
}

/** A server in a process of its own. */
export interface Running {
  url: string
  /** Its working folder. */
  folder: string
  /** Bytes of memory it occupies now. */
  memory(): number
  stop(): Promise<void>
}

/** Starts a server that prints its `url` as JSON, in an empty temporary folder, and waits for that line. */
export async function start(command: readonly string[]): Promise<Running> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-'))
  const child = Bun.spawn([...command], { cwd: folder, stdout: 'pipe', stderr: 'inherit' })
  const { value } = await child.stdout.getReader().read()
  const { url }: { url: string } = JSON.parse(new TextDecoder().decode(value))
  return {
    url,
    folder,
    memory: () => Number(Bun.spawnSync(['ps', '-o', 'rss=', '-p', String(child.pid)]).stdout.toString()) * 1024,
    async stop() {
      child.kill()
      await child.exited
      rmSync(folder, { recursive: true })
    },
  }
}

/** Traces that a server has made so far. */
export async function tracesOf({ url }: Running): Promise<number> {
  const health = (await (await fetch(`${url}/_understudy/health`)).json()) as {
    counts: { traces: number; traces_dropped: number }
  }
  return health.counts.traces + health.counts.traces_dropped
}

/** How Understudy is started: with a database file in its folder. */
export const serveCommand = [understudy, 'serve', '--json', '--port', '0', '--db', 'understudy.db']

/** Compiles the constant server, with the build options of the product, for the very bytes that Understudy answers. */
export async function constantCommand(folder: string): Promise<string[]> {
  const callContext = await start(serveCommand)
  const [whole, streamed] = [await call(callContext.url), await call(callContext.url, true)]
  await callContext.stop()
  const answers: ConstantAnswers = { whole, events: streamed.split(/(?<=\n\n)/) }
  const chunks = answers.events.filter((event) => /"content":"[^"]/.test(event)).length
  if (chunks !== CHUNKS) throw new Error(`the streamed answer has ${chunks} content chunks instead of ${CHUNKS}`)
  const file = join(folder, 'answers.json')
  await Bun.write(file, JSON.stringify(answers))
  const outfile = join(folder, 'constant')
  const { success, logs } = await Bun.build({
    entrypoints: [join(import.meta.dir, 'constant-server.ts')],
    format: 'esm',
    bytecode: true,
    minify: { whitespace: true, syntax: true },
    compile: { outfile, autoloadDotenv: false, autoloadBunfig: false },
  })
  if (!success) throw new AggregateError(logs, 'compiling the constant server failed')
  return [outfile, file]
}

/** A temporary folder for the length of some work. */
export async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-'))
  try {
    await work(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** The middle one of some figures. */
export const median = (figures: readonly number[]): number =>
  figures.toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? Number.NaN

/** Bytes as megabytes (10^6), one decimal. */
export const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`
