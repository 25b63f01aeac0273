// What a server prints about requests: each unknown path once, and with --verbose a line per request.
import type { Understudy } from '../../deps.ts'
import { realClock } from '../../lib/clock.ts'
import { printableLine, printableValues } from '../../lib/printable.ts'
import { withoutSecrets } from '../../lib/secrets.ts'
import { withFetch } from '../run/wrapped.ts'
import type { Log } from './log.ts'
import { type Printer, paint } from './output.ts'
import { traceLine } from './trace-line.ts'

/** Maximum number of unknown paths that are printed: a scanner tries many. */
const MAX_PATHS = 50
/** Maximum length of an unknown path in the output. */
const MAX_NAME_LENGTH = 200
/** Pages and tests poll the control API. */
const CONTROL = '/_understudy/'

/** Where the lines are printed: on standard error, so that standard output stays free for scripts. */
interface RequestLogIo {
  log: Pick<Log, 'isJson' | 'line' | 'plain'>
  stderr: Pick<Printer, 'width'>
}

/**
 * Wraps the program so that it prints what a user at the terminal should know about requests.
 * @param verbose whether every request has a line
 */
export function withRequestLog(understudy: Understudy, { log, stderr }: RequestLogIo, verbose: boolean): Understudy {
  const printed = new Set<string>()
  const unknown = async (request: Request, response: Response) => {
    const pathname = pathOf(request)
    const key = `${request.method} ${pathname}`
    if (printed.has(key) || printed.size >= MAX_PATHS) return
    const { error } = (await response.json()) as { error?: { code?: string; message?: string } }
    if (error?.code !== 'unknown_path' || printed.has(key)) return
    printed.add(key)
    const shown = printableLine(key.slice(0, MAX_NAME_LENGTH))
    if (log.isJson) log.line('info', `${shown}: ${error.message}`)
    else log.plain(`understudy: ${paint('yellow', shown)}: ${error.message}`)
  }
  if (verbose) {
    const { width } = stderr
    understudy.observers.add((observation) => {
      // With --log json it has a line already.
      if (observation.type === 'trace-saved' && !log.isJson)
        log.plain(traceLine(printableValues(observation.trace), { width, sessions: true }))
    })
  }
  const logUntraced = ({ method, url }: Request, { status }: Response) => {
    const path = pathOf({ url })
    if (path.startsWith(CONTROL)) return
    if (log.isJson) log.line('info', 'request', { method, path: path.slice(0, MAX_NAME_LENGTH), status })
    // In the columns of a call.
    else
      log.plain(
        [
          paint('dim', new Date(realClock.now()).toISOString().slice(11, 23)),
          paint(status < 400 ? 'green' : 'yellow', String(status)),
          printableLine(`${method} ${path}`),
        ].join('  '),
      )
  }
  return withFetch(understudy, async (request, hold) => {
    const response = await understudy.app.fetch(request, hold)
    if (response.status === 404) unknown(request, response.clone()).catch(() => {})
    if (verbose && !response.headers.has(TRACE_HEADER)) logUntraced(request, response)
    return response
  })
}

/** The path of a request, whose URL may be invalid. */
const pathOf = ({ url }: Pick<Request, 'url'>) => withoutSecrets(URL.parse(url)?.pathname ?? url)

const TRACE_HEADER = 'x-understudy-trace'
