// Server-sent events as router streams write and read them (WHATWG HTML, section 9.2).
import { createParser, type EventSourceMessage } from 'eventsource-parser'

/** One event of a stream: its data as a value, an optional event name, and how many tokens of the answer it carries. */
export interface StreamEvent {
  event?: string
  data: unknown
  /** The data as it came, so that nothing changes on its way through. */
  text?: string
  /** All of it as it is on the wire, when it is made so. */
  block?: string
  tokens?: number
}

/** Events that are there already, or that come in their own time. */
export type StreamEvents = Iterable<StreamEvent> | PromptIterable<StreamEvent>

/**
 * What \`for await\` goes over, whose next item may also be there at once. Any \`AsyncIterable\` is one; who asks by hand and
 * waits for promises alone saves one for every item.
 */
export interface PromptIterable<Item> {
  [Symbol.asyncIterator](): PromptIterator<Item>
}
export interface PromptIterator<Item> {
  next(): IteratorResult<Item> | Promise<IteratorResult<Item>>
  /** The next step, where all that is left is there already, as the end of a stream may be; what is wrong is left to `next`. */
  nextOfEnd?(): IteratorResult<Item> | undefined
  return?(value: undefined): Promise<IteratorResult<Item>>
  throw?(error: unknown): Promise<IteratorResult<Item>>
}

/** An event that came as one line of data, and is passed on as it came. */
export class WireEvent implements StreamEvent {
  readonly data: unknown
  readonly text: string
  readonly #block: string
  tokens?: number
  constructor(data: unknown, text: string, block: string) {
    this.data = data
    this.text = text
    this.#block = block
  }
  /** No field: a copy with other data must not have it. */
  get block(): string {
    return this.#block
  }
}

/** The event as text, ready for the wire. */
export function encodeEvent(one: StreamEvent): string {
  if (one.block !== undefined) return one.block
  // Not taken apart above: the data of one that has its text need not be there.
  const { event, text = JSON.stringify(one.data) } = one
  return `${event ? `event: ${event}\n` : ''}data: ${text.includes('\n') ? text.replaceAll('\n', '\ndata: ') : text}\n\n`
}

/** An event that is named by the type that its data say, if they say one. */
export const eventOfType = (data: object): StreamEvent =>
  'type' in data && typeof data.type === 'string' ? { event: data.type, data } : { data }

/** The end mark of a router stream. */
export const DONE_EVENT: StreamEvent = { data: undefined, text: '[DONE]' }

/** One piece of a stream of events up to its blank line. */
export interface SseBlock {
  /** As it is on the wire, blank line included. */
  text: string
  /** The event in it; a block of comments has none, and neither has one that was cut off. */
  event?: Pick<EventSourceMessage, 'event' | 'data'> | undefined
  /** Whether it is one line of data, written as `encodeEvent` writes it. */
  plain?: boolean
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
    super(`an event of the stream is longer than ${MOST_CHARACTERS} characters`)
  }
}
const MOST_CHARACTERS = 64 * 1024 * 1024

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
      if (this.#length > MOST_CHARACTERS) throw new EventTooLong()
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
    if (rest.length > MOST_CHARACTERS) throw new EventTooLong()
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
    return { text, event: { data }, plain: true }
  }

  #parsed(text: string): SseBlock {
    this.#parse ??= blockParser(this.#first)
    this.#first = false
    const event = this.#parse(text)
    return event ? { text, event } : { text }
  }
}

/** The same events, each as what `change` makes of it, in the same turn where it is there already; undefined leaves it out. */
export function mapEvents(
  events: StreamEvents,
  change: (event: StreamEvent) => StreamEvent | undefined,
): PromptIterable<StreamEvent> {
  type Step = IteratorResult<StreamEvent>
  return {
    [Symbol.asyncIterator]() {
      const source: PromptIterator<StreamEvent> =
        Symbol.asyncIterator in events ? events[Symbol.asyncIterator]() : promptly(events[Symbol.iterator]())
      const { return: stop, throw: fail } = source
      const mapped = (step: Step): Step | Promise<Step> => {
        const value = step.done ? undefined : change(step.value)
        if (step.done) return step
        return value ? { done: false, value } : later(source.next())
      }
      const later = (step: Step | Promise<Step>) => (step instanceof Promise ? step.then(mapped) : mapped(step))
      return {
        next: () => later(source.next()),
        ...(stop && { return: async (value: undefined) => mapped(await stop.call(source, value)) }),
        ...(fail && { throw: async (error: unknown) => mapped(await fail.call(source, error)) }),
      }
    },
  }
}

const promptly = (source: Iterator<StreamEvent>): PromptIterator<StreamEvent> => ({
  next: () => source.next(),
  return: async () => source.return?.() ?? { done: true, value: undefined },
})
