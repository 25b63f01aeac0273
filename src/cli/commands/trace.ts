// understudy trace: shows calls of a running server or of a database file.
import { Command } from 'commander'
import type { Bytes } from '../../contract/core/exchange.ts'
import type { StoredTrace, TraceRecord } from '../../contract/core/trace.ts'
import { realClock } from '../../lib/clock.ts'
import { printableValues } from '../../lib/printable.ts'
import { DEFAULT_SESSION } from '../../sessions/session.ts'
import { endText, requestHead, responseHead, textIn, visible } from '../../views/wire-text.ts'
import { ServerError } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import { drawingWidth, paint } from '../print/output.ts'
import { MANY_CALLS, overviewLines } from '../print/overview.ts'
import { traceLine } from '../print/trace-line.ts'
import { relatedTraces, taskTree, waterfall } from '../print/waterfall.ts'
import { withAddress } from '../run/server.ts'
import { ALL_SESSIONS, filtersOf, type TraceOptions, type TraceSource, traceSource } from '../run/trace-source.ts'
import { exportTraces } from './trace-export.ts'

interface Options extends TraceOptions {
  json?: boolean
  /** Without requests and responses. */
  brief?: boolean
}

/** `understudy trace`: shows the traces of a running server or of a database file. */
export function traceCommand(io: CommandIo): Command {
  const { stdout } = io
  const withFile = (command: Command) =>
    command.option('--db <FILE>', 'read this database file instead of calling a server')
  const trace = withFile(new Command('trace').description('show the traces of calls'))
  const sub = (name: string, description: string) => {
    const command = withFile(withAddress(new Command(name).description(description)))
      .option('--session <NAME>', 'session name, or all (default: default; with --db: all)')
      .option('--json', 'print JSON, one line per trace')
    trace.addCommand(command, { isDefault: name === 'list' })
    return command
  }
  const filters = (command: Command) =>
    command
      .option('--model <ID>', 'only calls to this model')
      .option('--status <CODE>', 'only calls with this response status')
      .option('--thread <ID>', 'only calls in this thread')
      .option('--since <TIME>', 'only calls since this ISO 8601 time')
      .option('--until <TIME>', 'only calls until this ISO 8601 time')
  filters(sub('list', 'list traces, newest first'))
    .option('--limit <N>', 'number of traces, 1 to 200 (default: 50)')
    .action(async (_: Options, command: Command) => {
      const options: Options = command.optsWithGlobals()
      const traces = await traceSource(io, options).list(options)
      if (traces.length === 0 && !options.json) stdout.lines([noTraces(options)])
      if (traces.length >= MANY_CALLS && !options.json) {
        stdout.lines([...overviewLines(printableValues(traces), drawingWidth(stdout)), ''])
      }
      const sessions = new Set(traces.map(({ session }) => session)).size > 1
      for (const record of traces) print(io, record, { ...options, sessions })
    })
  sub('show', 'show one trace: its steps and attempts over time, its request and its response as sent')
    .argument('<ID>', 'trace id, from trace list or the header x-understudy-trace; or last, for the newest trace')
    .option('--brief', 'omit the request and the response')
    .action(async (id: string, _: Options, command: Command) => {
      const options: Options = command.optsWithGlobals()
      await show(io, await find(io, id, options), options)
    })
  filters(sub('tail', 'print new traces as calls are made, until stopped')).action((_: Options, command: Command) =>
    tail(io, command.optsWithGlobals()),
  )
  const exporting = trace
    .command('export')
    .description('write calls as a self-contained HTML page, or as JSON for scenario from')
  withFile(withAddress(exporting))
    .option('--session <NAME>', 'session name (default: all)')
    .option('--html <FILE>', 'page to write')
    .option('--json <FILE>', 'JSON file to write')
    .action((_: Options, command: Command) => exportTraces(io, command.optsWithGlobals()))
  return trace
}

/** Calls with keys of their own are in sessions of their own, which is easily overlooked. */
function noTraces({ session = DEFAULT_SESSION, db, model, status, thread, since, until }: Options): string {
  const isNarrowed = [model, status, thread, since, until].some((one) => one !== undefined)
  if (session === ALL_SESSIONS || db !== undefined || isNarrowed) return 'no traces'
  return `no traces in the session ${session}; --session all shows all sessions`
}

async function tail(io: CommandIo, options: Options): Promise<void> {
  const from = traceSource(io, options)
  const sessions = options.session === ALL_SESSIONS || options.db !== undefined
  // Reports invalid options and a missing server at once.
  const first = await from.list({ ...options, limit: String(PAGE) })
  const saved = from.follow()
  // What is polled is selected already.
  for await (const record of saved ?? polled(from, first, options))
    if (!saved || isSelected(record, options)) print(io, record, { ...options, sessions })
}

/** Traces found by polling. */
async function* polled(
  from: TraceSource,
  first: readonly TraceRecord[],
  options: Options,
): AsyncGenerator<TraceRecord> {
  const seen = new Set(first.map(({ id }) => id))
  for (;;) {
    await realClock.sleep(TAIL_INTERVAL_MS)
    const fresh: TraceRecord[] = []
    for (let after: string | undefined; ; after = fresh.at(-1)?.id) {
      const page = (await from.list({ ...options, limit: String(PAGE), after })).filter(({ id }) => !seen.has(id))
      fresh.push(...page)
      for (const { id } of page) seen.add(id)
      if (page.length < PAGE) break
    }
    yield* fresh.reverse()
  }
}
const PAGE = 200
const TAIL_INTERVAL_MS = 300

/** Whether the options select a trace. */
function isSelected(record: TraceRecord, options: Options): boolean {
  const { model, status, thread, since = 0, until = Number.POSITIVE_INFINITY } = filtersOf(options)
  const started = Date.parse(record.started_at)
  return (
    (model === undefined || record.model === model) &&
    (status === undefined || record.status === status) &&
    (thread === undefined || record.thread?.id === thread) &&
    started >= since &&
    started <= until
  )
}

function print(
  { stdout }: CommandIo,
  record: TraceRecord,
  { json, sessions = false }: Options & { sessions?: boolean },
): void {
  if (json) stdout.json(record)
  else stdout.lines([traceLine(printableValues(record), { width: stdout.width, sessions })])
}

/** The trace of an id; `last` is the newest one, or the outer call of an internal one. */
async function find(io: CommandIo, id: string, options: Options): Promise<StoredTrace> {
  const from = traceSource(io, options)
  if (id !== 'last') return from.get(id)
  const [newest] = await from.list({ ...options, limit: '1' })
  if (!newest) throw new ServerError('no traces yet')
  return outermost(await from.get(newest.id), from)
}

/** A call of an evaluator or an agent is not one that the user made. A call whose trace is gone is not shown. */
async function outermost(trace: StoredTrace, from: TraceSource): Promise<StoredTrace> {
  const outer = trace.parent === null ? undefined : await from.get(trace.parent).catch(() => undefined)
  return outer ? outermost(outer, from) : trace
}

async function show(io: CommandIo, trace: StoredTrace, options: Options): Promise<void> {
  const { stdout } = io
  if (options.json) {
    const exchange = await traceSource(io, options).exchange(trace)
    stdout.json(options.brief ? trace : { ...trace, exchange })
    return
  }
  const { request, rendered, response: answer, error, usage } = trace
  print(io, trace, options)
  const text = (title: string, shown: string) => {
    stdout.lines(['', paint('bold', title)])
    stdout.text(shown)
  }
  const block = (title: string, value: unknown) => text(title, JSON.stringify(value, null, 2))
  if (trace.task) {
    const related = await relatedTraces(trace, traceSource(io, options).get)
    const printed = new Map([...related].map(([key, one]) => [key, printableValues(one)]))
    stdout.lines(taskTree(printableValues(trace.task), printed, drawingWidth(stdout)))
  }
  stdout.lines([
    `route: ${ROUTES[trace.route]}`,
    ...waterfall(printableValues<TraceRecord>(trace), drawingWidth(stdout)),
  ])
  if (error) block('error', error)
  if (options.brief) return
  if (usage) block('usage', usage)
  const exchange = await traceSource(io, options).exchange(trace)
  // A call without a connection is shown as parsed.
  if (exchange.request)
    text('request', sentText(requestHead(exchange.request), [exchange.request.body], exchange.request))
  else block('request', request)
  if (rendered !== null) block(UNDERSTOOD[trace.route], rendered)
  if (exchange.ended === null) {
    if (answer !== null) block('response', answer)
    return
  }
  const { response } = exchange
  if (response?.body) text('response', sentText(responseHead(response), response.body, response))
  stdout.lines(['', paint(exchange.ended === 'complete' ? 'dim' : 'red', endText(exchange))])
}

const UNDERSTOOD = { direct: 'parsed request', gateway: 'rendered request' } as const
const ROUTES = { direct: 'direct to the provider', gateway: 'gateway' } as const

/** The head and the body of a message in wire format. */
function sentText(head: string, body: readonly Bytes[], { truncated }: { truncated: boolean }): string {
  const more = truncated ? '\n(body truncated)' : ''
  return `${head}\n\n${visible(textIn(body)).trimEnd()}${more}`
}
