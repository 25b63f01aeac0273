// What must become of an answer by each kind of fault, as its example has it: the bytes on the wire, and the gateway's outcome.
import { envelope } from '../../src/contract/core/error.ts'
import type { OutcomeKind } from '../../src/contract/core/outcome-kind.ts'
import { blocksOf, hasContent } from './faults.ts'

/** What becomes of one form of answer. */
export interface Row {
  /** The outcome of the attempt when the provider does this. */
  outcome: OutcomeKind
  /**
   * What a client is then told: the healthy answer, what the provider sent, an error instead of an answer, or one in the
   * stream that has begun.
   */
  told: 'healthy' | 'as sent' | 'error' | 'error event'
  /** What is left of the healthy answer on the wire, or how what came is checked. */
  wire(healthy: string, operation: string): string | RegExp
  /** Status of the error, 502 when left out; with it, an error is all that a client hears at the gateway too. */
  status?: number
  /** The connection breaks after it. */
  breaks?: true
  contentType?: string
  /** More fields of the request. */
  more?: object
}
/** Both forms; a form that is left out is not touched, with a reason in the report. */
type Rows = Partial<Record<'whole' | 'streamed', Row>>

const same = (healthy: string): string => healthy
const edit = (text: string, change: (value: Record<string, unknown>) => object): string => {
  const [, head = '', json = '', tail = ''] = /^([^{]*)(.*?)(\n*)$/s.exec(text) ?? []
  return head + JSON.stringify(change(JSON.parse(json))) + tail
}
const half = (text: string): string => text.slice(0, Math.ceil(text.length / 2))
const noFinish = (text: string): string => text.replace(/"finish_reason":"\w+"/g, '"finish_reason":null')
const contentAt = (blocks: string[], number: number): number =>
  blocks.indexOf(blocks.filter(hasContent)[number - 1] ?? '')
/** A fault that leaves the answer as it is. */
export const unharmed: Row = { outcome: 'succeeded', told: 'healthy', wire: same }
const both = (row: Row): Rows => ({ whole: row, streamed: row })

const refused = (status: number) =>
  both({
    outcome: 'http_error',
    told: 'error',
    status,
    wire: () => new RegExp(`^\\{"code":"${status}",.*"error":\\{"message"`),
  })
const cutOff = both({ outcome: 'disconnected', told: 'error', wire: () => '', breaks: true })

/** What becomes of both forms, by kind of fault, with its example. */
export const ROWS: Readonly<Record<string, Rows>> = {
  'http-error': refused(503),
  // A text calls no tool; test/api/faults-tool-calls.test.ts has the others.
  'tool-wrong-arguments': {},
  'tool-truncated': {},
  'tool-duplicate': {},
  'unknown-tool': {},
  runaway: {},
  // Its example leaves one request.
  'rate-limit': {},
  delay: both(unharmed),
  hang: both({
    outcome: 'timed_out',
    told: 'error',
    status: 504,
    wire: () => '',
    breaks: true,
    more: { timeout: { call_timeout: 800 } },
  }),
  'connection-refused': cutOff,
  reset: cutOff,
  'empty-reply': cutOff,
  'dns-failure': cutOff,
  'tls-failure': cutOff,
  'auth-failure': refused(401),
  'context-length': refused(400),
  'content-filter': both({ outcome: 'succeeded', told: 'as sent', wire: () => /^(?!.*generated).*content_filter/s }),
  'quota-exceeded': refused(429),
  'model-not-found': refused(404),
  'cut-stream': {
    streamed: {
      outcome: 'disconnected',
      told: 'error event',
      wire: (healthy) => blocksOf(healthy).slice(0, 6).join(''),
      breaks: true,
    },
  },
  'stall-stream': { streamed: unharmed },
  'slow-stream': { streamed: unharmed },
  'stream-error': {
    streamed: {
      outcome: 'http_error',
      told: 'error event',
      wire: (healthy, operation) => blocksOf(healthy).slice(0, 6).join('') + errorEvents(operation),
    },
  },
  'plain-json-error-in-stream': {
    streamed: {
      outcome: 'disconnected',
      told: 'error event',
      wire: (healthy) => `${blocksOf(healthy).slice(0, 6).join('')}${JSON.stringify(OVERLOADED_ERROR)}\n`,
    },
  },
  'malformed-chunk': {
    streamed: {
      outcome: 'invalid_response',
      told: 'error event',
      wire: (healthy) =>
        blocksOf(healthy)
          .map((block, index) => (index === 6 ? block.replace(/\{.*\}/, half) : block))
          .join(''),
    },
  },
  'malformed-json': {
    whole: { outcome: 'invalid_response', told: 'error', wire: (healthy) => healthy.replace('"', '') },
  },
  'malformed-content': {
    // Half of a text is a text.
    whole: { outcome: 'succeeded', told: 'as sent', wire: halvedText },
    streamed: { outcome: 'succeeded', told: 'as sent', wire: firstPieceAlone },
  },
  'missing-done': {
    streamed: { outcome: 'succeeded', told: 'healthy', wire: (healthy) => blocksOf(healthy).slice(0, -1).join('') },
  },
  'last-event-without-blank-line': {
    streamed: { outcome: 'succeeded', told: 'healthy', wire: (healthy) => healthy.slice(0, -2) },
  },
  'unknown-finish-reason': both({ outcome: 'succeeded', told: 'as sent', wire: unknownFinish }),
  'missing-finish': {
    whole: {
      outcome: 'invalid_response',
      told: 'error',
      wire: (healthy) =>
        noFinish(healthy).replace(
          /"object":"response",(.*?)"status":"completed"/,
          '"object":"response",$1"status":"in_progress"',
        ),
    },
    streamed: {
      outcome: 'disconnected',
      told: 'error event',
      wire: (healthy) =>
        blocksOf(healthy)
          .filter((block) => !block.startsWith('event: response.completed'))
          .map(noFinish)
          .join(''),
    },
  },
  'missing-usage': {
    whole: { outcome: 'succeeded', told: 'as sent', wire: (healthy) => edit(healthy, ({ usage: _, ...rest }) => rest) },
    streamed: {
      outcome: 'succeeded',
      told: 'as sent',
      wire: (healthy) =>
        blocksOf(healthy)
          .filter((block) => !block.includes('"choices":[],'))
          .map((block) =>
            block.startsWith('event: response.completed')
              ? edit(
                  block,
                  ({ response: { usage: _, ...response } = {}, ...rest }: { response?: Record<string, unknown> }) => ({
                    ...rest,
                    response,
                  }),
                )
              : block,
          )
          .join(''),
    },
  },
  'duplicate-chunk': {
    streamed: {
      outcome: 'succeeded',
      told: 'as sent',
      wire(healthy) {
        const blocks = blocksOf(healthy)
        const index = contentAt(blocks, 2)
        return blocks.toSpliced(index, 0, blocks[index] ?? '').join('')
      },
    },
  },
  'reorder-chunks': {
    streamed: {
      outcome: 'succeeded',
      told: 'as sent',
      wire(healthy) {
        const blocks = blocksOf(healthy)
        const index = contentAt(blocks, 2)
        return blocks.toSpliced(index, 2, blocks[index + 1] ?? '', blocks[index] ?? '').join('')
      },
    },
  },
  'split-bytes': both(unharmed),
  'keep-alive-comments': {
    streamed: {
      outcome: 'succeeded',
      told: 'healthy',
      wire: (healthy) =>
        blocksOf(healthy)
          .map((block, index) => (index % 2 === 0 ? `: ping\n\n${block}` : block))
          .join(''),
    },
  },
  'wrong-content-type': both({ outcome: 'invalid_response', told: 'error', wire: same, contentType: 'text/html' }),
  'empty-body': both({ outcome: 'invalid_response', told: 'error', wire: () => '' }),
  'broken-framing': {
    whole: { outcome: 'disconnected', told: 'error', wire: same, breaks: true },
    streamed: {
      outcome: 'disconnected',
      told: 'error event',
      wire: (healthy) => blocksOf(healthy).slice(0, 6).join(''),
      breaks: true,
    },
  },
  'truncate-body': {
    whole: { outcome: 'invalid_response', told: 'error', wire: halfOfBytes },
    streamed: { outcome: 'disconnected', told: 'error event', wire: halfOfBytes },
  },
}

/** The end of an answer for an unknown reason; that of a response, whose fields change places, is read by what it says. */
function unknownFinish(healthy: string, operation: string): string | RegExp {
  if (operation !== 'responses') return healthy.replace(/"finish_reason":"\w+"/g, '"finish_reason":"unknown"')
  return /"status":"incomplete".*"incomplete_details":\{"reason":"unknown"\}(?!.*response\.completed)/s
}

function halfOfBytes(healthy: string): string {
  const bytes = Buffer.from(healthy)
  return bytes.subarray(0, bytes.length >> 1).toString()
}

/** The text of the answer as it stands in JSON, in each of its places. */
const textIn = (json: string): string => /"(?:content|text)":("(?:[^"\\]|\\.)*")/.exec(json)?.[1] ?? ''
function halvedText(healthy: string): string {
  const text = textIn(healthy)
  return healthy.replaceAll(text, JSON.stringify(half(JSON.parse(text))))
}

/** Each later piece is empty, and what is said to be all of it is the first one. */
function firstPieceAlone(healthy: string): RegExp {
  const pieces = blocksOf(healthy).filter(hasContent)
  const [first = '', second = ''] = pieces.map(
    (block) => /"(?:content|text|delta)":("(?:[^"\\]|\\.)+")/.exec(block)?.[1] ?? '',
  )
  const all = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`^(?=[^]*${all(first)})(?![^]*:${all(second)}[,}])[^]*(?:\\[DONE\\]|response\\.completed)`)
}

const OVERLOADED = 'The service is overloaded or not ready: try again later.'

const OVERLOADED_ERROR = envelope({ status: 503, code: 'server_error', message: OVERLOADED, param: null })

/** What the example of stream-error puts into a stream; in one of a response, the failed response comes after it. */
function errorEvents(operation: string): string {
  const error = OVERLOADED_ERROR
  if (operation !== 'responses') return `data: ${JSON.stringify(error)}\n\n`
  const { message, code, param } = error.error
  const data = { type: 'error', sequence_number: 6, code, message, param, error: error.error }
  return `event: error\ndata: ${JSON.stringify(data)}\n\n`
}
