// understudy trace export: writes calls with all details, as one page that works without a server, or as JSON.
import { ConfigError, type Environment } from '../../config.ts'
import type { Verification } from '../../contract/core/verification.ts'
import { operationNamed } from '../../endpoints/index.ts'
import { reportPage } from '../../inspector/page-file.ts'
import { entriesOf, type ReportEntry, type ReportParts, reportOf } from '../../inspector/report.ts'
import type { ReportCall } from '../../inspector/report-data.ts'
import { printableJson } from '../../lib/printable.ts'
import { counted } from '../../lib/units.ts'
import type { callsPage } from '../../views/calls-page.ts'
import type { CommandIo } from '../io.ts'
import { writeOutputFile } from '../print/output-file.ts'
import { callServer, type ServerFlags, type ServerPlace } from '../run/server.ts'
import { ALL_SESSIONS, openTraces } from '../run/trace-source.ts'

/** Which calls are written, and where. */
interface ExportOptions extends ServerFlags {
  db?: string
  html?: string
  json?: string
}

/**
 * Writes the page, or the traces as JSON, which `scenario from` reads.
 * @throws ConfigError without `--html` and `--json`
 */
export async function exportTraces(
  { env, stderr }: Pick<CommandIo, 'env' | 'stderr'>,
  options: ExportOptions,
): Promise<void> {
  const { html, json, db } = options
  if (html === undefined && json === undefined)
    throw new ConfigError('trace export requires --html <FILE> or --json <FILE>')
  const { entries, verdicts } = db === undefined ? await ofServer(env, options) : ofFile(db, options.session)
  if (html !== undefined) await writeReport(html, { title: titleOf(options), entries, verdicts })
  if (json !== undefined) {
    const traces = await Promise.all(entries.map(async ({ read }) => (await read())?.trace))
    writeOutputFile(json, `${printableJson({ traces: traces.filter((trace) => trace !== undefined) }, 2)}\n`)
  }
  const files = [html, json].filter((file) => file !== undefined)
  stderr.line(`wrote ${counted(entries.length, 'call')} to ${files.join(' and ')}`)
}

const titleOf = ({ session, db, url }: ExportOptions) =>
  [`calls of ${session ?? 'all sessions'}`, ...(db ? [`in ${db}`] : url ? [`at ${url}`] : [])].join(' ')

/** Writes a report as a page. */
export const writeReport = async (file: string, parts: ReportParts): Promise<void> =>
  writeOutputFile(file, await reportPage(await reportOf(parts)))

type Calls = Pick<ReportParts, 'entries' | 'verdicts'>
type CallsPage = ReturnType<typeof callsPage>

function ofFile(db: string, session: string | undefined): Calls {
  const { store, session: only } = openTraces(db, session)
  return { entries: entriesOf({ traces: store, operation: operationNamed }, only), verdicts: [] }
}

async function ofServer(env: Environment, options: ExportOptions): Promise<Calls> {
  const all = options.session === undefined || options.session === ALL_SESSIONS
  const of = (session: string): ServerPlace => ({ env, flags: { ...options, session } })
  const entries: ReportEntry[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query = new URLSearchParams({ limit: '1000', ...(all && { sessions: 'all' }), ...(cursor && { cursor }) })
    const place = all ? of('default') : { env, flags: options }
    const page: CallsPage = await callServer(place, 'GET', `/_understudy/calls?${query}`)
    for (const row of page.data) {
      const path = `/_understudy/traces/${encodeURIComponent(row.id)}`
      const read = async (): Promise<ReportCall> => ({
        trace: await callServer(of(row.session), 'GET', path),
        waterfall: await callServer(of(row.session), 'GET', `${path}/waterfall`),
        exchange: await callServer(of(row.session), 'GET', `${path}/exchange`),
      })
      entries.push({ row, read })
    }
    cursor = page.next
  }
  const verdicts: Verification[] = []
  for (const session of new Set(entries.map(({ row }) => row.session)))
    verdicts.push(await callServer(of(session), 'GET', '/_understudy/verify'))
  return { entries, verdicts }
}
