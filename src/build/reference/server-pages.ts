// The pages on what a server sends and offers: headers, control API, metrics, JSON reports.
import { DriftJson, ExecJson, ExploreJson, RehearseJson } from '../../cli/print/report-schemas.ts'
import { readConfig } from '../../config.ts'
import {
  COMMON_HEADERS,
  REQUEST_HEADERS,
  ROUTER_HEADERS,
  WORKSPACE_HEADERS,
} from '../../contract/core/answer-headers.ts'
import { CassetteReport } from '../../contract/core/cassette-report.ts'
import { Verification } from '../../contract/core/verification.ts'
import { createUnderstudy } from '../../deps.ts'
import { block, code, keyTable, meanings, page, sentence, table } from './markdown.ts'

/** What a server of this program says about itself. */
type ServerFacts = Awaited<ReturnType<typeof serverFacts>>

const CONTROL = '/_understudy'

interface DocumentedOperation {
  summary?: string
  parameters?: { in: string; name: string }[]
}

/** Asks a server in this process, without a socket. */
export async function serverFacts() {
  // With a collector there are metrics of it; nothing is sent to it before a call is made.
  const config = { ...readConfig({ otlp: 'http://127.0.0.1:9' }, {}), db: ':memory:', addresses: [] }
  const { app, sessions } = createUnderstudy(config, (error) => {
    throw error
  })
  const get = (path: string) =>
    app.fetch(new Request(`http://localhost${path}`, { headers: { authorization: 'Bearer any' } }))
  try {
    const { paths } = (await (await get('/swagger/json')).json()) as {
      paths: Record<string, Record<string, DocumentedOperation>>
    }
    const metrics = await (await get(`${CONTROL}/metrics`)).text()
    return {
      /** Paths of the OpenAPI document under the prefix of the control API. */
      control: Object.entries(paths)
        .filter(([path]) => path.startsWith(CONTROL))
        .flatMap(([path, methods]) =>
          Object.entries(methods).map(([method, { summary = '', parameters = [] }]) => ({
            method: method.toUpperCase(),
            path,
            summary,
            parameters: parameters.filter((one) => one.in === 'query').map(({ name }) => name),
          })),
        )
        .sort((one, other) => (one.path < other.path ? -1 : one.path > other.path ? 1 : 0)),
      metrics: [...metrics.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\w+)$/gm)].map(
        ([, name = '', help = '', type = '']) => ({
          name,
          type,
          help,
        }),
      ),
    }
  } finally {
    await sessions.close()
  }
}

/** Every header of the program's own. */
export const headersPage = (): string =>
  page(
    'Headers',
    'Understudy sends and reads headers that begin with `x-understudy-`. They say what happened to a call, and choose its session and scenario.',
    block(
      'sh',
      "curl -i http://127.0.0.1:8633/v1/models -H 'authorization: Bearer any' -H 'x-understudy-session: test-1'",
    ),
    '## Headers of every response',
    meanings('header', COMMON_HEADERS),
    '## Headers of responses from models',
    meanings('header', ROUTER_HEADERS),
    '## Headers of workspace responses',
    meanings('header', WORKSPACE_HEADERS),
    '## Headers of requests',
    meanings('header', REQUEST_HEADERS),
    '## Limits of headers',
    'A header says what was known when the response began. What happens later in a stream is in the trace.',
  )

/** Every endpoint of the control API. */
export const controlPage = ({ control }: ServerFacts): string =>
  page(
    'Control API',
    'The control API controls a server and shows what it recorded: sessions, clock, scenarios, fixtures, traces and verdicts. Swagger at `/swagger` shows bodies and responses, and sends requests.',
    block('sh', "curl http://127.0.0.1:8633/_understudy/verify -H 'authorization: Bearer session:test-1'"),
    'A request acts on the session of its token, its header or its path; see [Sessions and time](../sessions.md).',
    '## Endpoints of the control API',
    table(
      ['endpoint', 'does', 'query parameters'],
      control.map(({ method, path, summary, parameters }) => [
        code(`${method} ${path}`),
        sentence(summary),
        parameters.map(code).join(', '),
      ]),
    ),
    '## Limits of the control API',
    'Anyone who may call the server can control every session. Requests of pages of another origin are rejected unless `--cors` names it.',
  )

/** Every metric. */
export const metricsPage = ({ metrics }: ServerFacts): string =>
  page(
    'Metrics',
    '`/_understudy/metrics` returns the metrics of a server in the text format of Prometheus. This page lists all of them.',
    block('sh', 'curl http://127.0.0.1:8633/_understudy/metrics'),
    '[Telemetry](../telemetry.md#metrics) shows how to scrape them.',
    '## All metrics',
    table(
      ['metric', 'type', 'meaning'],
      metrics.map(({ name, type, help }) => [code(name), type, help]),
    ),
    '## Limits of metrics',
    'They count since the start of the process. Metrics of OpenTelemetry exist only with `--otlp`. At most 500 label combinations are kept per metric; further ones are counted as `other`.',
  )

/** Where the report of a command comes from. */
const REPORTS = {
  exec: '`understudy exec --json` or `--json-file FILE`',
  explore: '`understudy explore --json` or `--json-file FILE`',
  drift: '`understudy drift --json`',
  rehearse: '`understudy rehearse --json`',
}

const JSON_REPORT = 'understudy exec --scenario rate-limit-burst --json-file report.json -- npm test'

/** Every key of the JSON reports. */
export const reportsPage = (): string =>
  page(
    'JSON reports',
    '`verify`, `exec`, `explore` and `rehearse` report as JSON for programs. This page lists every key.',
    block('sh', `${JSON_REPORT}\nunderstudy schema exec-report`),
    table(
      ['report', 'from', 'JSON Schema'],
      [
        ['verdict of a session', '`GET /_understudy/verify`', '`understudy schema verdict`'],
        ...Object.entries(REPORTS).map(([command, source]) => [
          `report of ${command}`,
          source,
          code(`understudy schema ${command}-report`),
        ]),
      ],
    ),
    '## Verdict of a session',
    keyTable(Verification, { io: 'output', depth: 4, without: VERDICT_WITHOUT }),
    'The keys of `earlier[]` are those of a verdict, with `part`, `ended_by` and `ended_at`. The keys of `findings[]` are in [Findings](findings.md).',
    '## Report of exec',
    keyTable(ExecJson, { io: 'output', depth: 4, without: EXEC_WITHOUT }),
    '## Cassettes of a run',
    'The keys of `runs[].cassettes`, which `GET /_understudy/cassettes` returns, too.',
    keyTable(CassetteReport, { io: 'output', depth: 6 }),
    '## Report of explore',
    keyTable(ExploreJson, { io: 'output', depth: 4 }),
    '## Report of drift',
    keyTable(DriftJson, { io: 'output', depth: 4 }),
    '## Report of rehearse',
    keyTable(RehearseJson, { io: 'output', depth: 1 }),
    '`report` is a verdict. A trace has the keys that Swagger shows for `GET /_understudy/traces/{id}`.',
    '## Limits of JSON reports',
    'Times are in milliseconds unless a key says otherwise. `--json` prints the report on the last line of standard output; use `--json-file` if the command prints there, too.',
  )

/** Keys whose content is listed elsewhere. */
const VERDICT_WITHOUT = ['earlier[]', 'findings[]']
const EXEC_WITHOUT = ['runs[].sessions[]', 'runs[].findings[]', 'runs[].cassettes']
