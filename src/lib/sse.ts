// Server-sent events as router streams write and read them (WHATWG HTML, section 9.2).
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { parsedJson } from './values.ts'

/** What an event may have beside its data. */
export interface EventDetails {
  /** Its name. */
  event?: string | undefined
  /** How many tokens of the answer it carries, where that is known. */
  tokens?: number | undefined
  /** Whether the text of its data has several lines. */
  multiline?: boolean | undefined
  /** The whole event as it is on the wire, in parts, where its maker has them as bytes. */
  wire?: readonly Uint8Array[] | undefined
}

/**
 * One event of a stream: its data as text, JSON but for the end mark, and what the text means once somebody asks.
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

  /** `data` is what the text means, where that is known already. */
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

  /** The event as it is on the wire, in parts. */
  bytes(): readonly Uint8Array[] {
    return this.#wire ?? [encoder.encode(encodeEvent(this))]
  }
}
const encoder = new TextEncoder()
const NO_DETAILS: EventDetails = {}

/**
 * The event with these data.
 * @throws TypeError for data that cannot be JSON.
 * @example
 * dataEvent({ a: 1 }).text // => '{"a":1}'
 */
export const dataEvent = (data: unknown, details?: EventDetails): StreamEvent =>
  new StreamEvent(JSON.stringify(data), details, data)

/** What an event means, which is all that readers of an answer look at. */
export type EventData = Pick<StreamEvent, 'data'>

/** Events that come together: all of a fixture, or what one piece of the network brings. */
export type EventBatch = readonly StreamEvent[]

/** The events of a stream, batch by batch. A list has all of them: nobody has to wait for one. */
export type EventStream = readonly EventBatch[] | AsyncIterable<EventBatch>

/** All events of a stream that is complete. */
export const allEvents = (batches: readonly EventBatch[]): EventBatch =>
  batches.length === 1 ? (batches[0] ?? []) : batches.flat()

/** Whether all events of a stream are there. */
export const isComplete = (stream: EventStream): stream is readonly EventBatch[] => Array.isArray(stream)

/** The same stream with each event replaced by what `change` makes of it, in their order. */
export function mapEvents(stream: EventStream, change: (event: StreamEvent) => EventBatch): EventStream {
  if (isComplete(stream)) return stream.map((batch) => batch.flatMap(change))
  return (async function* () {
    for await (const batch of stream) yield batch.flatMap(change)
  })()
}

/**
 * The event as it is on the wire.
 * @example
 * encodeEvent({ text: '{}' }) // => 'data: {}\n\n'
 * encodeEvent({ text: '{}', event: 'ping' }) // => 'event: ping\ndata: {}\n\n'
 */
export function encodeEvent({ event, text, multiline }: Pick<StreamEvent, 'text'> & EventDetails): string {
  const lines = multiline ? text.replaceAll('\n', '\ndata: ') : text
  return event ? `event: ${event}\ndata: ${lines}\n\n` : `data: ${lines}\n\n`
}

/** An event that is named by the type that its data say, if they say one. */
export const eventOfType = (data: object): StreamEvent =>
  dataEvent(data, { event: 'type' in data && typeof data.type === 'string' ? data.type : undefined })

/**
 * The end mark of a router stream.
 * @example
 * encodeEvent(DONE_EVENT) // => 'data: [DONE]\n\n'
 */
export const DONE_EVENT: StreamEvent = new StreamEvent('[DONE]')

/** One piece of a stream of events up to its blank line. */
export interface SseBlock {
  /** As it is on the wire, blank line included. */
  text: string
  /** The event in it; a block of comments has none, and neither has one that was cut off. */
  event?: Pick<EventSourceMessage, 'event' | 'data'> | undefined
}

/** Reads a stream of events as its bytes come; all blocks together are the stream as it came. */
export interface SseReader {
  /** The blocks that are complete with these bytes; throws `EventTooLong`. */
  read(bytes: Uint8Array): SseBlock[]
  /** What is left when no more bytes come. */
  end(): SseBlock[]
  /** Whether a block has begun that is not complete. */
  readonly pending: boolean
}

/** An event without an end is no event. */
export class EventTooLong extends Error {
  constructor() {
    super(`an event of the stream is longer than ${MAX_CHARACTERS} characters`)
  }
}
const MAX_CHARACTERS = 64 * 1024 * 1024

// A line ends with CR, LF or both; of a CR at the very end it is not known yet.
const LINE_END = '(?:\\r\\n|\\n|\\r(?!\\n|$))'
const ANY_LINE_END = /[\r\n]/
const BLANK_LINE = new RegExp(LINE_END + LINE_END, 'g')

/** Where the next blank line of a text ends, from some place on; 0 when there is none. */
function blankEnd(text: string, from: number, onlyLf: boolean): number {
  // Nearly nobody writes a CR, and to look for two LF costs a tenth.
  if (onlyLf) {
    const found = text.indexOf('\n\n', from)
    return found < 0 ? 0 : found + 2
  }
  BLANK_LINE.lastIndex = from
  return BLANK_LINE.exec(text) ? BLANK_LINE.lastIndex : 0
}

const DATA = 'data: '
/** The data of a block of a text without CR that is one such line, as nearly all are; undefined where it takes the parser to know. */
function plainData(text: string, start: number, end: number): string | undefined {
  const last = end - 2
  if (last <= start + DATA.length || !text.startsWith(DATA, start) || text.indexOf('\n', start) !== last)
    return undefined
  return text.slice(start + DATA.length, last)
}

/** Reads blocks by the whole rules; `first` says whether the stream begins with the next one. */
function blockParser(first: boolean): (text: string) => SseBlock['event'] {
  let found: SseBlock['event']
  const parser = createParser({
    onEvent: (event) => {
      found = event
    },
  })
  // It takes a mark of the byte order from the first text that it gets, where only the first of the stream may have one.
  if (!first) parser.feed('\n')
  return (text) => {
    found = undefined
    // A CR at the end would keep the parser waiting for what is known not to come.
    parser.feed(text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text)
    return found
  }
}

/** Begins to read a stream of events. */
export const sseReader = (): SseReader => new BlockReader()

/** There is one for every stream that is forwarded, so it is no object of closures. */
class BlockReader implements SseReader {
  // The parser takes away the mark of the byte order, and the text is to stay as it came.
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  #parse: ReturnType<typeof blockParser> | undefined
  #first = true
  // Pieces of one line are only joined at its end, so that a long one in small pieces costs its length once.
  #pieces: string[] = []
  #length = 0
  // So much of them was searched for the blank line.
  #searched = 0

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
    // Two line ends are four characters at most.
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

  end(): SseBlock[] {
    const text = this.#pieces.join('') + this.#decoder.decode()
    this.#pieces = []
    return text === '' ? [] : [this.#parsed(text)]
  }

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
