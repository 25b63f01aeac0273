// Server-sent events as router streams write and read them (WHATWG HTML, section 9.2).
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { parsedJson } from './values.ts'

/** Optional properties of an event. */
interface EventDetails {
  /** Its name. */
  event?: string | undefined
  /** Number of tokens of the response that it carries, if known. */
  tokens?: number | undefined
  /** Whether the text of its data has several lines. */
  multiline?: boolean | undefined
  /** The encoded event, in parts, if its creator has it as bytes. */
  wire?: readonly Uint8Array[] | undefined
}

/**
 * One event of a stream: its data as text (JSON, except for the end mark), and their parsed value on demand.
 * @example
 * new StreamEvent('{"a":1}').data // => { a: 1 }
 * new StreamEvent('{}', { event: 'ping' }).event // => 'ping'
 */
export class StreamEvent {
  readonly text: string
  readonly event: string | undefined
  readonly tokens: number | undefined
  readonly multiline: boolean
  readonly #wire: readonly Uint8Array[] | undefined
  private value: unknown

  /** `data` is the parsed value, if known. */
  constructor(text: string, { event, tokens, multiline = false, wire }: EventDetails = NO_DETAILS, data?: unknown) {
    this.text = text
    this.event = event
    this.tokens = tokens
    this.multiline = multiline
    this.#wire = wire
    this.value = data
  }

  /** The value of the text; undefined when that is not JSON. */
  get data(): unknown {
    this.value ??= parsedJson(this.text)
    return this.value
  }

  /** The encoded event, in parts. */
  bytes(): readonly Uint8Array[] {
    return this.#wire ?? [encoder.encode(encodeEvent(this))]
  }
}
const encoder = new TextEncoder()
const NO_DETAILS: EventDetails = {}

/**
 * The event with this data.
 * @throws TypeError if the data cannot be JSON
 * @example
 * dataEvent({ a: 1 }).text // => '{"a":1}'
 */
export const dataEvent = (data: unknown, details?: EventDetails): StreamEvent =>
  new StreamEvent(JSON.stringify(data), details, data)

/** The parsed value of an event, which is all that readers of a response use. */
export type EventData = Pick<StreamEvent, 'data'>

/** Events that arrive together: all of a fixture, or those of one network packet. */
export type EventBatch = readonly StreamEvent[]

/** The events of a stream, batch by batch. A list has all of them, so that nothing is awaited. */
export type EventStream = readonly EventBatch[] | AsyncIterable<EventBatch>

/** All events of a complete stream. */
export const allEvents = (batches: readonly EventBatch[]): EventBatch =>
  batches.length === 1 ? (batches[0] ?? []) : batches.flat()

/** Whether all events of a stream are available. */
export const isComplete = (stream: EventStream): stream is readonly EventBatch[] => Array.isArray(stream)

/** The stream with each event replaced by the result of `change`, in order. */
export function mapEvents(stream: EventStream, change: (event: StreamEvent) => EventBatch): EventStream {
  if (isComplete(stream)) return stream.map((batch) => batch.flatMap(change))
  return (async function* () {
    for await (const batch of stream) yield batch.flatMap(change)
  })()
}

/**
 * The event in its wire format.
 * @example
 * encodeEvent({ text: '{}' }) // => 'data: {}\n\n'
 * encodeEvent({ text: '{}', event: 'ping' }) // => 'event: ping\ndata: {}\n\n'
 */
export function encodeEvent({ event, text, multiline }: Pick<StreamEvent, 'text'> & EventDetails): string {
  const lines = multiline ? text.replaceAll('\n', '\ndata: ') : text
  return event ? `event: ${event}\ndata: ${lines}\n\n` : `data: ${lines}\n\n`
}

/** An event that is named by the `type` of its data, if there is one. */
export const eventOfType = (data: object): StreamEvent =>
  dataEvent(data, { event: 'type' in data && typeof data.type === 'string' ? data.type : undefined })

/**
 * The last event of a router stream.
 * @example
 * encodeEvent(DONE_EVENT) // => 'data: [DONE]\n\n'
 */
export const DONE_EVENT: StreamEvent = new StreamEvent('[DONE]')

/** One block of a stream of events, up to its blank line. */
export interface SseBlock {
  /** Its text on the wire, including the blank line. */
  text: string
  /** Its event. A block of comments has none, and neither has a truncated one. */
  event?: Pick<EventSourceMessage, 'event' | 'data'> | undefined
}

/** An event exceeds the limit on its length. */
export class EventTooLong extends Error {
  constructor() {
    super(`an event of the stream is longer than ${MAX_CHARACTERS} characters`)
  }
}
const MAX_CHARACTERS = 64 * 1024 * 1024

// A line ends with CR, LF or both. A CR at the very end is still ambiguous.
const LINE_END = '(?:\\r\\n|\\n|\\r(?!\\n|$))'
const ANY_LINE_END = /[\r\n]/
const BLANK_LINE = new RegExp(LINE_END + LINE_END, 'g')

/** Where the next blank line of a text ends, from a position on; 0 if there is none. */
function blankEnd(text: string, from: number, onlyLf: boolean): number {
  // Hardly any stream has a CR, and searching for two LF costs a tenth.
  if (onlyLf) {
    const found = text.indexOf('\n\n', from)
    return found < 0 ? 0 : found + 2
  }
  BLANK_LINE.lastIndex = from
  return BLANK_LINE.exec(text) ? BLANK_LINE.lastIndex : 0
}

const DATA = 'data: '
/** The data of a block that is a single line without CR, as nearly all are; undefined if it needs the parser. */
function plainData(text: string, start: number, end: number): string | undefined {
  const last = end - 2
  if (last <= start + DATA.length || !text.startsWith(DATA, start) || text.indexOf('\n', start) !== last)
    return undefined
  return text.slice(start + DATA.length, last)
}

/** Parses blocks by the complete rules; `first` means that the stream starts with the next one. */
function blockParser(first: boolean): (text: string) => SseBlock['event'] {
  let found: SseBlock['event']
  const parser = createParser({
    onEvent: (event) => {
      found = event
    },
  })
  // The parser removes a byte order mark from its first text, but only the stream's first block may have one.
  if (!first) parser.feed('\n')
  return (text) => {
    found = undefined
    // A CR at the end would make the parser wait for more, which will not come.
    parser.feed(text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text)
    return found
  }
}

/** A new reader of a stream of events. */
export const sseReader = () => new BlockReader(new TextDecoder('utf-8', UNCHANGED))
// The parser removes the byte order mark, and the text must stay unchanged.
const UNCHANGED = { ignoreBOM: true }

/**
 * A new reader whose texts, names and data have one character per byte (Latin-1), so that bytes that are not UTF-8 are
 * kept.
 */
export const sseBytesReader = () => new BlockReader(LATIN1)
const LATIN1 = {
  decode: (bytes: Uint8Array = NO_BYTES) =>
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1'),
}
const NO_BYTES = new Uint8Array()

/**
 * Parses a stream of events incrementally. All blocks together are the stream, unchanged. Every forwarded stream has
 * one, so it is a class without closures.
 */
class BlockReader {
  readonly #decoder: Pick<TextDecoder, 'decode'>
  #parse: ReturnType<typeof blockParser> | undefined
  #first = true
  // Pieces of one line are joined only at its end, so that a long line in small pieces costs linear time.
  #pieces: string[] = []
  #length = 0
  // The length that was already searched for the blank line.
  #searched = 0

  constructor(decoder: Pick<TextDecoder, 'decode'>) {
    this.#decoder = decoder
  }

  /**
   * The blocks that these bytes complete.
   * @throws EventTooLong
   */
  read(bytes: Uint8Array): SseBlock[] {
    const piece = this.#decoder.decode(bytes, { stream: true })
    this.#pieces.push(piece)
    this.#length += piece.length
    if (!ANY_LINE_END.test(piece)) {
      if (this.#length > MAX_CHARACTERS) throw new EventTooLong()
      return []
    }
    const text = this.#pieces.length === 1 ? piece : this.#pieces.join('')
    const blocks: SseBlock[] = []
    let end = 0
    const onlyLf = !text.includes('\r')
    // Two line ends are at most four characters.
    const from = Math.max(0, this.#searched - 3)
    for (let next = blankEnd(text, from, onlyLf); next > 0; next = blankEnd(text, next, onlyLf)) {
      const data = onlyLf ? plainData(text, end, next) : undefined
      blocks.push(data === undefined ? this.#parsed(text.slice(end, next)) : this.#plain(text.slice(end, next), data))
      end = next
    }
    const rest = text.slice(end)
    this.#pieces = rest === '' ? [] : [rest]
    this.#length = rest.length
    this.#searched = rest.length
    if (rest.length > MAX_CHARACTERS) throw new EventTooLong()
    return blocks
  }

  /** The rest after the last bytes. */
  end(): SseBlock[] {
    const text = this.#pieces.join('') + this.#decoder.decode()
    this.#pieces = []
    return text === '' ? [] : [this.#parsed(text)]
  }

  /** Whether a block is incomplete. */
  get pending(): boolean {
    return this.#pieces.length > 0
  }

  #plain(text: string, data: string): SseBlock {
    this.#first = false
    return { text, event: { data } }
  }

  #parsed(text: string): SseBlock {
    this.#parse ??= blockParser(this.#first)
    this.#first = false
    const event = this.#parse(text)
    return event ? { text, event } : { text }
  }
}
