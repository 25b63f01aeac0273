// Programs as functions of this process: exec and explore run them as they run commands, over real sockets, without a process.
import { writeSync } from 'node:fs'
import type { RunChild } from '../../src/cli/run/child.ts'
import { programNamed } from './programs/index.ts'
import type { Program } from './programs/surroundings.ts'

/**
 * Variables that such programs do not need: with this one unset, each run opens a port for HTTP/2, which takes a tenth of
 * it.
 */
export const LEFT_ENV: readonly string[] = ['AWS_ENDPOINT_URL_BEDROCK_RUNTIME']

/** What `timeout` of coreutils ends with. */
const TIMED_OUT = 124

/** A program of test/support/programs, with its arguments. */
export const client =
  (name: string, ...args: string[]): Program =>
  async (surroundings) =>
    (await programNamed(name))(...args)(surroundings)

/**
 * Runs a program in place of a command. Its calls end with it, as those of a process do.
 * @param sleep lets the time pass that the program waits: real time when left out
 */
export const runInProcess =
  (program: Program, sleep: (ms: number) => Promise<void> = Bun.sleep): RunChild =>
  async (_, __, { env, timeout, expires, cancels, output }) => {
    const over = new AbortController()
    const print = (text: string) => {
      if (typeof output === 'number') writeSync(output, `${text}\n`)
    }
    const run = program({ env, sleep, say: print, fetch: fetchUntil(over.signal) }).then(
      (code) => (typeof code === 'number' ? code : 0),
      (error) => {
        print(String(error instanceof Error ? error.stack : error))
        return 1
      },
    )
    const late = new Promise<undefined>((resolve) => {
      const end = () => resolve(undefined)
      for (const signal of [expires, cancels]) signal?.addEventListener('abort', end, { signal: over.signal })
      if (timeout === undefined) return
      const timer = setTimeout(end, timeout)
      over.signal.addEventListener('abort', () => clearTimeout(timer))
    })
    const code = await Promise.race([run, late])
    over.abort(new DOMException('the program has ended', 'AbortError'))
    return { code: code ?? TIMED_OUT, timedOut: code === undefined, stopped: undefined }
  }

const { fetch } = globalThis

/** A `fetch` whose calls end when the signal does; one that begins later never ends, or a program would repeat it forever. */
function fetchUntil(over: AbortSignal): typeof fetch {
  const send = (input: string | URL | Request, init: RequestInit = {}) => {
    if (over.aborted) return new Promise<Response>(() => {})
    const own = init.signal ?? (input instanceof Request ? input.signal : undefined)
    return fetch(input, { ...init, signal: own ? AbortSignal.any([own, over]) : over })
  }
  return Object.assign(send, { preconnect: fetch.preconnect })
}
