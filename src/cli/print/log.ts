// Messages of commands on standard error: human-readable lines, or with --log json one line of JSON per call and per
// message, for log collectors. It has metadata of calls, but no content. Lines that are not read in time are dropped and
// counted.

import type { TraceRecord } from '../../contract/core/trace.ts'
import type { Understudy } from '../../deps.ts'
import { realClock } from '../../lib/clock.ts'
import { once } from '../../lib/once.ts'
import { FileError } from '../../schema/source.ts'
import type { LineWriter, MakeLineWriter } from './line-writer.ts'

/** Severity of a line. */
type LogLevel = 'info' | 'warn' | 'error'

/** The log of a running command. It never waits for a reader. */
export type Log = ReturnType<typeof createLog>

/** A human-readable log, until another format is set. */
export function createLog(makeWriter: MakeLineWriter) {
  const plainLines = once(() => makeWriter((count) => `understudy: ${count} log lines dropped`))
  // All lines of JSON share one writer: two would interleave.
  const jsonLines = once(() => makeWriter((count) => jsonLine('warn', `${count} log lines dropped`)))
  let isJson = false
  /** Prints a human-readable line, whatever the format. */
  const plain = (line: string) => plainLines().add(line)
  /**
   * Prints a line.
   * @param message without the program's name; `prefix` is added for human-readable lines
   * @param fields additional fields of the JSON
   */
  const line = (
    level: LogLevel,
    message: string,
    { prefix = '', ...fields }: { prefix?: string; [field: string]: unknown } = {},
  ) => {
    if (isJson) jsonLines().add(jsonLine(level, message, fields))
    else plain(`understudy: ${prefix}${message}`)
  }
  /** Prints a line about a setting or a scenario that is not applied. */
  const notice = (message: string, level: LogLevel = 'warn') => line(level, message)
  return {
    /** Whether every line is JSON. */
    get isJson() {
      return isJson
    },
    /** Sets the format of all lines from now on: JSON for `json`, otherwise human-readable. */
    useFormat(format: 'json' | undefined): void {
      isJson = format === 'json'
    },
    line,
    plain,
    notice,
    /** Prints an error that occurred while calls were handled: the problems of a file as lines, a bug with its stack. */
    report(error: unknown): void {
      if (error instanceof FileError) {
        for (const problem of error.problems) notice(problem, 'error')
      } else if (!isJson) {
        // Only the stack: the runtime would print the surrounding lines, which in the executable are pages of minified
        // code.
        const text = error instanceof Error ? error.stack || String(error) : String(error)
        for (const one of text.split('\n')) plain(one)
      } else if (error instanceof Error) line('error', error.message, { stack: error.stack })
      else line('warn', String(error).replace(/^understudy: /, ''))
    },
    /** Starts to print a line of JSON for each call of a server. */
    calls: (understudy: Pick<Understudy, 'observers' | 'telemetry'>) => logCallsAsJson(understudy, jsonLines()),
  }
}

/** Maximum length of a name: clients and scenarios choose them. */
const MAX_NAME_LENGTH = 200
const MAX_FAULTS = 20

/** Writes a line for each call that ends. */
export function logCallsAsJson({ observers, telemetry }: Pick<Understudy, 'observers' | 'telemetry'>, log: LineWriter) {
  observers.add((observation) => {
    if (observation.type !== 'trace-saved') return
    const { trace, seq } = observation
    const span = telemetry?.findSpan(trace.id)
    log.add(JSON.stringify({ ...lineOf(trace, seq), ...(span && { trace_id: span.traceId, span_id: span.spanId }) }))
  })
}

/** A line as JSON. */
export const jsonLine = (level: string, message: string, fields: Record<string, unknown> = {}): string =>
  JSON.stringify({ time: new Date(realClock.now()).toISOString(), level, message, ...fields })

const brief = (name: string | null) => name?.slice(0, MAX_NAME_LENGTH) ?? null

function lineOf(trace: TraceRecord, call: number) {
  const { id, session, operation, model, stream, status, outcome, duration_ms, attempts, scenario, fixture } = trace
  const faults = [...new Set([trace, ...attempts].flatMap((one) => one.faults))]
  return {
    time: new Date(realClock.now()).toISOString(),
    level: status >= 500 ? 'error' : outcome === 'succeeded' ? 'info' : 'warn',
    message: 'call',
    session: brief(session),
    trace: id,
    call,
    operation,
    ...(trace.internal && { parent: trace.parent }),
    ...(trace.call_site !== undefined && { point: brief(trace.call_site) }),
    model: brief(model),
    stream,
    status,
    outcome,
    error: brief(trace.error?.code ?? null),
    duration_ms,
    attempts: attempts.length,
    ...(scenario !== null && { scenario: brief(scenario) }),
    ...(faults.length > 0 && { faults: faults.slice(0, MAX_FAULTS).map(brief) }),
    ...(trace.cache && { cache: trace.cache.status }),
    fixture: brief(fixture),
  }
}
