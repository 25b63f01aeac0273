// Gathers the texts of an event stream in which a secret could stand, so that they are searched in one pass. Events of a stream differ in the
// values of few fields: each is compared with the layout of an earlier one instead of being read.
import { isIdentity, jsonLeaves, NUMBER, stringEnd } from './json-leaves.ts'
import { channelOf, isPiece, isToken } from './rewrite.ts'
import { EditedText } from './views.ts'

/** A form of events: the same names and structure. */
interface Layout {
  /** What stands before each value, and after the last one. Values that tell outputs apart are part of it. */
  fixed: readonly string[]
  values: readonly LayoutValue[]
}

interface LayoutValue {
  isText: boolean
  /** What sends its text in pieces; undefined for a whole value. */
  channel: string | undefined
}

const DONE = 'data: [DONE]'
/** Other lines, and one line of JSON. */
const EVENT = /^((?:(?!data)[a-z]*:[^\n]*\n)*data: ?)[[{][^\n]*$/
/** A byte order mark may stand before the name of a field. */
const HAS_DATA = /^[\x80-\uffff]*data/m
/** Between texts that have nothing to do with each other. */
const BETWEEN = '\n,\n'

/** Layouts of the latest streams, the newest first: programs read streams of few forms. Reading an event takes 20 times as long. */
let layouts: readonly Layout[] = []
const MAX_LAYOUTS = 16
/** Longer events have no layout that is kept. */
const MAX_EVENT = 4096

/**
 * The texts of a stream: each value as it stands, and what it sends in pieces as one text. If `isPlain` is true of them, nothing in the stream
 * is redacted. Undefined for a stream of an unusual form.
 * @example
 * gatherTexts('data: {"text":"a "}\n\ndata: {"text":"b"}\n\n') // => 'data: {"text":"a "}\n,\n"b"\n,\n"a b"'
 */
export function gatherTexts(stream: string): string | undefined {
  if (stream.includes('\r')) return undefined
  const texts = new StreamTexts()
  for (let at = 0; at < stream.length; ) {
    const end = stream.indexOf('\n\n', at)
    const event = stream.slice(at, end < 0 ? stream.length : end)
    if (!texts.add(event)) return undefined
    at += event.length + 2
  }
  return texts.joined()
}

class StreamTexts {
  readonly #texts: string[] = []
  readonly #channels = new Map<string, string>()
  /** The values of the last event of each layout. */
  readonly #before = new Map<Layout, readonly string[]>()
  #latest: Layout | undefined

  /** Adds an event; false if it is unusual. */
  add(event: string): boolean {
    if (event === DONE) return true
    if (this.#latest && this.#addWith(this.#latest, event)) return true
    for (const layout of layouts) if (this.#addWith(layout, event)) return true
    if (!HAS_DATA.test(event)) {
      this.#texts.push(event)
      return true
    }
    const layout = layoutOf(event)
    if (!layout || !this.#addWith(layout, event)) return false
    if (event.length <= MAX_EVENT) layouts = [layout, ...layouts.slice(0, MAX_LAYOUTS - 1)]
    return true
  }

  joined(): string {
    return [...this.#texts, ...Array.from(this.#channels.values(), (text) => `"${text}"`)].join(BETWEEN)
  }

  #addWith(layout: Layout, event: string): boolean {
    const values = valuesIn(event, layout)
    if (!values) return false
    const before = this.#before.get(layout)
    if (!before) this.#texts.push(event)
    for (let index = 0; index < values.length; index++) {
      const value = values[index] ?? ''
      const channel = layout.values[index]?.channel
      if (channel !== undefined) this.#channels.set(channel, (this.#channels.get(channel) ?? '') + value)
      if (before && before[index] !== value) this.#texts.push(`"${value}"`)
    }
    this.#before.set(layout, values)
    this.#latest = layout
    return true
  }
}

/** The values of an event with a layout; undefined if it has another one. */
function valuesIn(event: string, { fixed, values }: Layout): string[] | undefined {
  const first = fixed[0] ?? ''
  if (!event.startsWith(first)) return undefined
  const found: string[] = []
  let at = first.length
  for (let index = 0; index < values.length; index++) {
    const end = values[index]?.isText ? stringEnd(event, at) : numberEnd(event, at)
    const next = fixed[index + 1] ?? ''
    if (!event.startsWith(next, end)) return undefined
    found.push(event.slice(at, end))
    at = end + next.length
  }
  return at === event.length ? found : undefined
}

function numberEnd(event: string, at: number): number {
  NUMBER.lastIndex = at
  return NUMBER.test(event) ? NUMBER.lastIndex : event.length
}

/** The layout of an event; undefined if it is not one line of one JSON value, or lists tokens. */
function layoutOf(event: string): Layout | undefined {
  const start = EVENT.exec(event)?.[1]?.length
  const json = start === undefined ? undefined : jsonLeaves(new EditedText(event.slice(start)))
  if (start === undefined || json?.values !== 1 || json.leaves.some(isToken)) return undefined
  const fixed: string[] = []
  let from = 0
  const values = json.leaves.flatMap((leaf): LayoutValue[] => {
    const isText = leaf.is === 'text'
    if (!(isText || leaf.is === 'number') || isIdentity(leaf)) return []
    fixed.push(event.slice(from, start + leaf.start))
    from = start + leaf.end
    return [{ isText, channel: isText && isPiece(leaf) ? channelOf(leaf) : undefined }]
  })
  return { fixed: [...fixed, event.slice(from)], values }
}
