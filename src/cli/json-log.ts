// --log json: one line of JSON a call on standard error, for whoever gathers logs. It says who called what and what became of
// it, and nothing that anybody has said; what is not read in time is left out and counted.
import { writeSync } from 'node:fs'
import type { TraceRecord } from '../contract/trace.ts'
import type { Understudy } from '../deps.ts'
import { realClock } from '../lib/clock.ts'

/** Characters that wait to be read. */
const MOST_WAITING = 4_000_000
/** Characters of a name; what clients and scenarios call things is theirs. */
const LONGEST_NAME = 200
const MOST_FAULTS = 20
/** How long lines wait for others to go with. */
const TOGETHER_MS = 25
const STDERR = 2

/** Writes a line for each call that ends. */
export function logCallsAsJson(
  { observers, telemetry }: Pick<Understudy, 'observers' | 'telemetry'>,
  log = lineWriter(),
) {
  observers.add((observation) => {
    if (observation.type !== 'trace-saved') return
    const { trace, seq } = observation
    const span = telemetry?.spanOf(trace.id)
    log.add(JSON.stringify({ ...lineOf(trace, seq), ...(span && { trace_id: span.traceId, span_id: span.spanId }) }))
  })
}

const brief = (name: string | null) => name?.slice(0, LONGEST_NAME) ?? null

function lineOf(trace: TraceRecord, call: number) {
  const { id, session, operation, model, stream, status, outcome, duration_ms, attempts, scenario, fixture } = trace
  const faults = [...new Set([trace, ...attempts].flatMap((one) => one.faults))]
  return {
    time: new Date(realClock.now()).toISOString(),
    level: status >= 500 ? 'error' : outcome === 'answered' ? 'info' : 'warn',
    message: 'call',
    session: brief(session),
    trace: id,
    call,
    operation,
    ...(trace.inner && { parent: trace.parent }),
    ...(trace.point !== undefined && { point: brief(trace.point) }),
    model: brief(model),
    stream,
    status,
    outcome,
    error: brief(trace.error?.code ?? null),
    duration_ms,
    attempts: attempts.length,
    ...(scenario !== null && { scenario: brief(scenario) }),
    ...(faults.length > 0 && { faults: faults.slice(0, MOST_FAULTS).map(brief) }),
    ...(trace.cache && { cache: trace.cache.status }),
    fixture: brief(fixture),
  }
}

/** Takes lines; never waits for who reads them. */
interface LineWriter {
  add(line: string): void
}

function lineWriter(): LineWriter {
  const sink = Bun.stderr.writer()
  let waiting = ''
  let dropped = 0
  let writing = false
  const write = async () => {
    while (waiting !== '') {
      await realClock.sleep(TOGETHER_MS)
      const text = dropped === 0 ? waiting : `${waiting}${leftOut(dropped)}\n`
      waiting = ''
      dropped = 0
      sink.write(text)
      await sink.flush()
    }
    writing = false
  }
  // What came last goes out at the end, if somebody reads it.
  process.on('exit', () => {
    try {
      if (waiting !== '') writeSync(STDERR, waiting)
    } catch {}
  })
  return {
    add(line) {
      if (waiting.length + line.length > MOST_WAITING) {
        dropped++
        return
      }
      waiting += `${line}\n`
      if (writing) return
      writing = true
      write().catch(() => {})
    },
  }
}

const leftOut = (count: number) =>
  JSON.stringify({ time: new Date(realClock.now()).toISOString(), level: 'warn', message: `${count} lines left out` })
