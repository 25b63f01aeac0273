// What a server prints while it answers: each unknown path once, and with --verbose a line a request.
import type { Understudy } from '../../deps.ts'
import { realClock } from '../../lib/clock.ts'
import { printableLine, printableValues } from '../../lib/printable.ts'
import type { CommandIo } from '../io.ts'
import { paint as coloured, type Format } from './output.ts'
import { traceLine } from './trace-line.ts'

/** Most unknown paths that are printed: nobody reads what a scanner tries. */
const MAX_PATHS = 50
/** Characters of an unknown path that are printed. */
const MAX_NAME_LENGTH = 200
/** The control API is asked again and again by pages and tests. */
const CONTROL = '/_understudy/'

/** Where lines go. */
export interface RequestLog {
  /** `fields` are what a log of JSON has beside the line. */
  print(line: string, fields?: Record<string, unknown>): void
  /** Whether lines are JSON, and have no colours. */
  readonly isJson: boolean
  /** Whether every request has a line. */
  verbose: boolean
  /** Columns of a line; as many as it takes when left out. */
  width: number | undefined
}

/** The log on standard error, which leaves standard output to what scripts read. */
export const standardLog = ({ log, stderr }: Pick<CommandIo, 'log' | 'stderr'>, verbose: boolean): RequestLog => ({
  print: (line, fields) => (log.isJson ? log.line('info', line.replace(/^understudy: /, ''), fields) : log.plain(line)),
  get isJson() {
    return log.isJson
  },
  verbose,
  get width() {
    return stderr.width
  },
})

/** The program, which prints what a person at the terminal should know of requests. */
export function withRequestLog({ app, ...rest }: Understudy, log: RequestLog): Understudy {
  const { print, verbose } = log
  const paint = (format: Format, text: string) => (log.isJson ? text : coloured(format, text))
  const printed = new Set<string>()
  const unknown = async (request: Request, response: Response) => {
    const pathname = pathOf(request)
    const key = `${request.method} ${pathname}`
    if (printed.has(key) || printed.size >= MAX_PATHS) return
    const { error } = (await response.json()) as { error?: { code?: string; message?: string } }
    if (error?.code !== 'unknown_path' || printed.has(key)) return
    printed.add(key)
    print(`understudy: ${paint('yellow', printableLine(key.slice(0, MAX_NAME_LENGTH)))}: ${error.message}`)
  }
  if (verbose) {
    const { width } = log
    rest.observers.add((observation) => {
      // With --log json it has a line already.
      if (observation.type === 'trace-saved' && !log.isJson)
        print(traceLine(printableValues(observation.trace), { paint, width, sessions: true }))
    })
  }
  return {
    ...rest,
    app: {
      fetch: (request, hold) =>
        app.fetch(request, hold).then((response) => {
          if (response.status === 404) unknown(request, response.clone()).catch(() => {})
          if (verbose && !response.headers.has(TRACE_HEADER)) {
            const pathname = pathOf(request)
            if (pathname.startsWith(CONTROL)) return response
            if (log.isJson)
              print('request', {
                method: request.method,
                path: pathname.slice(0, MAX_NAME_LENGTH),
                status: response.status,
              })
            else print(untracedLine(printableLine(`${request.method} ${pathname}`), response.status, paint))
          }
          return response
        }),
    },
  }
}

/** The path of a request, whose address may be none. */
const pathOf = ({ url }: Request) => URL.parse(url)?.pathname ?? url

const TRACE_HEADER = 'x-understudy-trace'

/** A request that is no call of the router, in the columns of those that are. */
function untracedLine(
  what: string,
  status: number,
  paint: (format: 'dim' | 'green' | 'yellow', text: string) => string,
): string {
  const time = new Date(realClock.now()).toISOString().slice(11, 23)
  return [paint('dim', time), paint(status < 400 ? 'green' : 'yellow', String(status)), what].join('  ')
}
