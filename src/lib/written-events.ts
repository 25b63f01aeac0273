// Streams of events that are made as they are on the wire, of which most calls need nothing else.
import type { StreamEvent, StreamEvents } from './sse.ts'

/** What an event begins and ends with on the wire, when it has nothing but data. */
export const EVENT_START = 'data: '
export const EVENT_END = '\n\n'
const FRAME = EVENT_START.length + EVENT_END.length

/** An event that is made as it is on the wire, which is all that most calls need of it. */
export class WrittenEvent implements StreamEvent {
  readonly #block: string
  readonly tokens: number

  /** As it is on the wire; its data are JSON without line breaks. */
  constructor(block: string, tokens: number) {
    this.#block = block
    this.tokens = tokens
  }
  /** No field: a copy with other data must not have it. */
  get block(): string {
    return this.#block
  }
  get text(): string {
    return this.block.slice(EVENT_START.length, -EVENT_END.length)
  }
  get data(): unknown {
    return JSON.parse(this.text)
  }
}

/** What each of some events says behind the beginning that all of them have. */
export class EventTexts {
  /** Up to the end of the event. The first is empty: joined with the beginning, they are the whole text. */
  readonly texts: readonly string[]
  readonly tokens: readonly number[]
  readonly hasContent: boolean
  readonly characters: number
  #bytes: EventBytes | undefined
  #written = false

  constructor(texts: readonly string[], tokens: readonly number[]) {
    this.texts = ['', ...texts]
    this.tokens = tokens
    this.hasContent = tokens.some(Boolean)
    this.characters = texts.reduce((sum, { length }) => sum + length, 0)
  }

  /** The events as bytes, where they have been written before with a beginning of this length; good until they are asked for again. */
  bytes(beginning: string): readonly Uint8Array[] | undefined {
    // What is written once only needs no bytes.
    if (this.#written) this.#bytes ??= new EventBytes(beginning, this.texts)
    this.#written = true
    return this.#bytes?.begunWith(beginning)
  }
}

/** Events as bytes, of which each time only the beginnings are written anew: a copy of all of them would lie in cold memory. */
class EventBytes {
  readonly #blocks: readonly Uint8Array[]
  readonly #beginnings: readonly Uint8Array[]

  constructor(beginning: string, [, ...texts]: readonly string[]) {
    const { length } = encoder.encode(beginning)
    this.#blocks = texts.map((text) => encoder.encode(beginning + text))
    this.#beginnings = this.#blocks.map((block) => block.subarray(0, length))
  }

  /** All of them with this beginning; undefined when it has another length. */
  begunWith(beginning: string): readonly Uint8Array[] | undefined {
    for (const place of this.#beginnings) {
      const { read, written } = encoder.encodeInto(beginning, place)
      if (read !== beginning.length || written !== place.length) return undefined
    }
    return this.#blocks
  }
}
const encoder = new TextEncoder()

/** Events that begin alike: they are written as one text, and no event is made before somebody asks for one. */
export class WrittenEvents implements Iterable<StreamEvent> {
  readonly length: number
  readonly #beginning: string
  readonly #texts: EventTexts

  /** The beginning has `EVENT_START`, and each of the texts ends with `EVENT_END`. */
  constructor(beginning: string, texts: EventTexts) {
    this.length = texts.tokens.length
    this.#beginning = beginning
    this.#texts = texts
  }
  get hasContent(): boolean {
    return this.#texts.hasContent
  }
  /** Of all of them as they are on the wire. */
  get characters(): number {
    return this.#texts.characters + this.length * this.#beginning.length
  }
  /** Each as it is on the wire: cut from one text, since to put each together would take a copy for each. */
  blocks(): string[] {
    const { texts } = this.#texts
    const { length } = this.#beginning
    const text = texts.join(this.#beginning)
    const blocks: string[] = []
    let at = 0
    for (let index = 1; index < texts.length; index++) {
      const end = at + length + (texts[index] ?? '').length
      blocks.push(text.slice(at, end))
      at = end
    }
    return blocks
  }
  /** Gives each as it is on the wire to who has copied it when it is taken. */
  write(take: (block: string | Uint8Array) => void): void {
    for (const block of this.#texts.bytes(this.#beginning) ?? this.blocks()) take(block)
  }
  *[Symbol.iterator](): Generator<StreamEvent> {
    const { texts, tokens } = this.#texts
    for (let at = 0; at < this.length; at++) yield new WrittenEvent(this.#beginning + texts[at + 1], tokens[at] ?? 0)
  }
}

/** Events that are all there. */
export type ReadyEvents = readonly StreamEvent[] | WrittenEvents
/** Whether they are. */
export const areReady = (events: StreamEvents | ReadyEvents): events is ReadyEvents =>
  Array.isArray(events) || events instanceof WrittenEvents
/** The same as a list. */
export const eventList = (events: ReadyEvents): readonly StreamEvent[] =>
  events instanceof WrittenEvents ? [...events] : events

/** Characters of the data of events that have them as text. */
export function dataCharacters(events: ReadyEvents): number {
  if (events instanceof WrittenEvents) return events.characters - events.length * FRAME
  let sum = 0
  for (const one of events) sum += one instanceof WrittenEvent ? one.block.length - FRAME : (one.text?.length ?? 0)
  return sum
}
