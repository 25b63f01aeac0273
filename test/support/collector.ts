// A collector of OpenTelemetry that nobody here wrote, and applications that export to it.
import { createRequire } from 'node:module'
import { type Config, readConfig } from '../../src/config.ts'
import { createTestApp } from './app.ts'

/** An attribute's value in OTLP's JSON. */
type Value = {
  stringValue?: string
  intValue?: string
  doubleValue?: number
  boolValue?: boolean
  arrayValue?: { values: Value[] }
}
type Attributes = { key: string; value: Value }[]

/** A span as the collector got it. */
export interface CollectedSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  traceState?: string
  flags: number
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: Attributes
  events?: { timeUnixNano: string; name: string; attributes: Attributes }[]
  links?: { traceId: string; spanId: string }[]
  status: { code?: number; message?: string }
}
/** A request as the collector got it. */
export interface CollectedRequest {
  resourceSpans: {
    resource: { attributes: Attributes }
    scopeSpans: { scope: { name: string; version: string }; schemaUrl: string; spans: CollectedSpan[] }[]
  }[]
}

interface MockOtlpServer {
  httpUrl: { href: string } | string
  start(): Promise<void>
  close(): Promise<void>
}
const require = createRequire(import.meta.url)
const { MockOtlpServer } = require('@elastic/mockotlpserver') as {
  MockOtlpServer: new (options: object) => MockOtlpServer
}

// Its parts talk over channels that nobody holds on to: collected, they would be others for the sender than for the receiver.
const { diagchGet } = require('@elastic/mockotlpserver/lib/diagch.js') as { diagchGet(name: string): unknown }
for (const name of ['otlp.v1.trace', 'otlp.v1.request']) diagchGet(name)

/** The values of attributes by their names. */
export const valuesOf = (attributes: Attributes): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, plain(value)]))
const plain = ({ stringValue, intValue, doubleValue, boolValue, arrayValue }: Value): unknown =>
  arrayValue?.values.map(plain) ??
  stringValue ??
  (intValue === undefined ? (doubleValue ?? boolValue) : Number(intValue))

/** Starts the collector on a free port. */
export async function startCollector() {
  const requests: CollectedRequest[] = []
  const server = new MockOtlpServer({
    logLevel: 'fatal',
    services: ['http'],
    httpHostname: '127.0.0.1',
    httpPort: 0,
    onTrace: (request: CollectedRequest) => requests.push(request),
  })
  await server.start()
  const url = new URL(String(server.httpUrl)).href
  return {
    url,
    requests,
    spans: (): CollectedSpan[] =>
      requests.flatMap(({ resourceSpans }) =>
        resourceSpans.flatMap((one) => one.scopeSpans.flatMap(({ spans }) => spans)),
      ),
    close: () => server.close(),
  }
}
export type Collector = Awaited<ReturnType<typeof startCollector>>

/** An application that exports; its spans are there once it is stopped. */
export function exportingApp(
  url: string,
  settings: Partial<Config> = {},
  more: Partial<Config['telemetry'] & object> = {},
) {
  const { telemetry } = readConfig({ otlp: url }, {})
  const said: string[] = []
  const app = createTestApp({ telemetry: telemetry && { ...telemetry, ...more }, ...settings }, (line) => {
    if (typeof line !== 'string') throw line
    said.push(line)
  })
  const { telemetry: running } = app.understudy
  if (!running) throw new Error('it exports nothing')
  return { ...app, said, telemetry: running, stop: (ms = 10_000) => running.stop(ms) }
}
