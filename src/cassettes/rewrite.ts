// Goes through every text in the body, address or header of a call, as deep as texts contain texts, and replaces ranges of them. A text that
// a stream sends in pieces is one text.
import { withoutSpans } from '../lib/secrets.ts'
import { decodedPart, parsedJson } from '../lib/values.ts'
import { type JsonLeaf, type JsonParent, jsonLeaves, stringEnd } from './json-leaves.ts'
import {
  type Edit,
  EditedText,
  edited,
  joinedView,
  jsonStringView,
  percentView,
  rangeView,
  type TextView,
} from './views.ts'

/** Where a text stands. */
export interface Place {
  /** The name of its field or parameter. */
  readonly name: string | undefined
  /** Whether the name is that of a parameter of a URL or form. */
  readonly isParameter?: boolean
  /** The type of the event, or of the whole body, in which it stands. */
  readonly event?: string | undefined
  /** Names and indexes from the body to its field; undefined outside of JSON. */
  path(): readonly (string | number)[] | undefined
}

/** What a rewriter replaces. */
export interface Rewriting {
  /** Shorter texts are replaced only by their place. */
  minLength: number
  /** Whether nothing is replaced in a body, or in any text inside it. */
  keeps(body: string, isStream: boolean): boolean
  /** Replacements in a decoded text, in order. */
  text(text: string, place: Place): readonly Edit[]
  /** A new JSON number or boolean; undefined if it stays. */
  value(text: string, place: Place): string | undefined
}

/** Texts contain texts that contain texts. Deeper ones are searched as they stand. */
const MAX_DEPTH = 8

/** The place of a text or number that is no field. */
export const NOWHERE: Place = { name: undefined, path: () => undefined }
/** The place of a text that is a header, or a parameter. */
export const namedPlace = (name: string, isParameter = false): Place => ({ ...NOWHERE, name, isParameter })
/** The place of a field of a form. */
export const fieldPlace = (name: string): Place => ({ name, path: () => [name] })

/** Rewrites a text of any format: events, JSON, lines of JSON, a form, or anything else. */
export function rewriteBody(view: TextView, rewriting: Rewriting, isStream = isEventText(view.text)): void {
  if (rewriting.keeps(view.text, isStream)) return
  if (isStream) rewriteEvents(view, rewriting)
  else if (FORM.test(view.text)) rewriteParameters(view, rewriting, 0, FORM_PARAMETER)
  else rewriteText(view, rewriting, NOWHERE)
}

/** The replacements in a text, in order. */
export function editsIn(text: string, rewriting: Rewriting): readonly Readonly<Edit>[] {
  const edited = new EditedText(text)
  rewriteBody(edited, rewriting)
  return edited.edits()
}

/** A text with its replacements. */
export const rewrittenText = (text: string, rewriting: Rewriting): string => edited(text, editsIn(text, rewriting))

/** A text at a place with its replacements, such as a header. */
export function rewrittenAt(text: string, place: Place, rewriting: Rewriting): string {
  // Most headers contain no other texts.
  if (!isJsonStart(text) && !text.includes('=')) return edited(text, text === '' ? [] : rewriting.text(text, place))
  const view = new EditedText(text)
  rewriteText(view, rewriting, place)
  return view.result()
}

/** The same for the path and query of a request, or a URL. */
export function rewrittenAddress(address: string, rewriting: Rewriting): string {
  if (rewriting.keeps(address, false)) return address
  const edited = new EditedText(address)
  const query = address.indexOf('?')
  const end = query < 0 ? address.length : query
  rewriteText(percentView(edited, 0, end), rewriting, NOWHERE, 1)
  if (query >= 0) rewriteParameters(rangeView(edited, query, address.length), rewriting, 0, ADDRESS_PARAMETER)
  return edited.result()
}

const FORM = /^[\w.%+*-]{1,100}=[^&\s=]*(?:&[\w.%+*-]{1,100}=[^&\s=]*)*$/
/** Whether a text, or bytes with a character each, are read as server-sent events. */
export const isEventText = (text: string): boolean => EVENT_START.test(text)
const EVENT_START = /^(?:\ufeff|\xef\xbb\xbf)?[\r\n]{0,100}(?:data|event|id|retry)?:/

/** Whether a text may be JSON. */
function isJsonStart(text: string): boolean {
  const first = text[0]
  return first === '{' || first === '[' || (first !== undefined && first <= ' ' && /^\s*[[{]/.test(text))
}

/** Whether a text is a JSON string and nothing else, with escapes: without them it can be read as it stands. */
const isEscapedString = (text: string): boolean =>
  text[0] === '"' && text.includes('\\') && stringEnd(text, 1) === text.length - 1 && parsedJson(text) !== undefined

function rewriteText(view: TextView, rewriting: Rewriting, place: Place, depth = 0): void {
  const { text } = view
  if (text === '') return
  if (depth < MAX_DEPTH && isJsonStart(text)) {
    const json = jsonLeaves(view)
    if (json) {
      const channels = new Channels()
      rewriteLeaves(json.leaves, rewriting, channels, place, depth + 1, json.values > 1)
      channels.rewrite(rewriting, depth + 1)
      return
    }
  }
  const isNested = depth < MAX_DEPTH
  if (isNested && isEscapedString(text)) {
    rewriteText(jsonStringView(view, 1, text.length - 1), rewriting, place, depth + 1)
    return
  }
  const hasParameters = isNested && text.includes('=') && PARAMETER_START.test(text)
  // The path of a URL, or a text that was encoded as a whole.
  const isEncoded = isNested && ENCODED.test(text)
  const noted = hasParameters || isEncoded ? new NotedView(view) : undefined
  if (noted && hasParameters) rewriteParameters(noted, rewriting, depth + 1)
  for (const { start, end, by } of rewriting.text(noted?.rest() ?? text, place)) (noted ?? view).replace(start, end, by)
  if (noted && isEncoded) rewriteText(percentView(noted.remaining(), 0, text.length), rewriting, NOWHERE, depth + 1)
}
const ENCODED = /%[0-9a-f]{2}/i

/** A view that notes which ranges were replaced. */
class NotedView implements TextView {
  readonly text: string
  readonly #view: TextView
  readonly #replaced: Edit[] = []

  constructor(view: TextView) {
    this.text = view.text
    this.#view = view
  }

  replace(start: number, end: number, by: string): void {
    this.#replaced.push({ start, end, by })
    this.#view.replace(start, end, by)
  }

  /** The view of what was not replaced. */
  remaining(): TextView {
    return { text: this.rest(), replace: (start, end, by) => this.replace(start, end, by) }
  }

  /** The text without what was replaced. */
  rest(): string {
    if (this.#replaced.length === 0) return this.text
    return withoutSpans(
      this.text,
      this.#replaced.toSorted((one, other) => one.start - other.start),
    )
  }
}

/** `?name=value` in a URL, and `name=value` in a form. */
const PARAMETER_START = /[?&#][\w.~%[\]-]+=/
const PARAMETER = /[?&#]([\w.~%[\]-]{1,100})=([^&#\s"'<>\\]*)/g
/** The same where the whole text is a URL: few programs encode an apostrophe. */
const ADDRESS_PARAMETER = /[?&#]([\w.~%[\]-]{1,100})=([^&#\s"<>\\]*)/g
const FORM_PARAMETER = /(?:^|&)([\w.%+*-]{1,100})=([^&]*)/g

/** What ends a sentence, a list or a link in a text, and not the URL in front of it. */
const PUNCTUATION = '.,;:!?)]}*`|'

function withoutPunctuation(value: string): string {
  let { length } = value
  while (PUNCTUATION.includes(value[length - 1] ?? ' ')) length--
  return value.slice(0, length)
}

function rewriteParameters(view: TextView, rewriting: Rewriting, depth: number, pattern = PARAMETER): void {
  const isForm = pattern === FORM_PARAMETER
  for (const { 0: all, 1: name = '', 2: written = '', index } of view.text.matchAll(pattern)) {
    const value = isForm ? written : withoutPunctuation(written)
    if (value === '') continue
    const start = index + all.length - written.length
    const place = namedPlace(decodedPart(name) ?? name, true)
    const raw = new NotedView(rangeView(view, start, start + value.length))
    rewriteText(percentView(raw, 0, value.length, isForm), rewriting, place, depth + 1)
    // Many programs write a space in a URL as they do in a form.
    if (!isForm && value.includes('+'))
      rewriteText(percentView(raw.remaining(), 0, value.length, true), rewriting, place, depth + 1)
  }
}

/** Names of fields that streams send in pieces, outside of a `delta`. */
const SENT_IN_PIECES = new Set([
  ...['content', 'text', 'arguments', 'partial_json', 'input', 'thinking', 'reasoning', 'reasoning_content', 'refusal'],
  ...['transcript', 'response', 'delta', 'args', 'code', 'output'],
])
/** Fields inside of a `delta` that are sent once. */
const SENT_ONCE = new Set(['id', 'type', 'role', 'name', 'object', 'model', 'finish_reason', 'stop_reason', 'data'])

/** Rewrites leaves. Those that are pieces of a longer text are collected, and rewritten with it. */
function rewriteLeaves(
  leaves: readonly JsonLeaf[],
  rewriting: Rewriting,
  channels: Channels,
  outer: Place,
  depth: number,
  inPieces = false,
): void {
  for (const leaf of leaves) {
    const place = outer === NOWHERE ? leaf : innerPlace(leaf, outer)
    if (leaf.is === 'number' || leaf.is === 'boolean') {
      const by = rewriting.value(leaf.text, place)
      if (by !== undefined) leaf.replace(0, leaf.text.length, by)
    } else if (leaf.is === 'text' && (isToken(leaf) || (inPieces && isPiece(leaf)))) channels.add(leaf, place)
    else rewriteText(leaf, rewriting, place, depth)
  }
}

/** The place of a leaf in a JSON text that is itself a field. */
const innerPlace = (leaf: JsonLeaf, outer: Place): Place => ({
  name: leaf.name ?? (leaf.is === 'name' ? undefined : outer.name),
  event: outer.event,
  path: () => {
    const path = leaf.path()
    return path && [...(outer.path() ?? []), ...path]
  },
})

/** Whether a stream sends the text of a field in pieces. */
export const isPiece = ({ parent, key }: JsonLeaf) =>
  parent.isIn('delta') ? !SENT_ONCE.has(String(key)) : SENT_IN_PIECES.has(String(key))

/** The text of a token, for which a response lists probabilities. */
export const isToken = ({ parent, key }: JsonLeaf) =>
  (key === 'token' || (parent.isList && parent.key === 'tokens')) &&
  parent.isIn('logprobs') &&
  !parent.isIn('top_logprobs')

/** What sends a text in pieces: the path of its fields, and what tells apart several outputs. */
export function channelOf(leaf: JsonLeaf): string {
  // Every item of a list of tokens is a piece.
  const ofTokens = isToken(leaf)
  let channel = ofTokens ? '' : String(leaf.key)
  for (let owner: JsonParent | undefined = leaf.parent; owner; owner = owner.parent) {
    const isUnnamed = owner.parent?.isList && (ofTokens || owner.identity !== '')
    channel += `/${isUnnamed ? '' : owner.key}/${owner.identity}`
  }
  return channel
}

interface Piece {
  view: NotedView
  place: Place
}

/** The texts that are sent in pieces. */
class Channels {
  readonly #pieces = new Map<string, Piece[]>()

  add(leaf: JsonLeaf, place: Place): void {
    this.addView(channelOf(leaf), isToken(leaf) ? tokenView(leaf) : leaf, place)
  }

  addView(channel: string, view: TextView, place: Place): void {
    const pieces = this.#pieces.get(channel)
    const piece = { view: new NotedView(view), place }
    if (pieces) pieces.push(piece)
    else this.#pieces.set(channel, [piece])
  }

  rewrite(rewriting: Rewriting, depth: number): void {
    for (const pieces of this.#pieces.values()) {
      const [first] = pieces
      if (!first) continue
      rewriteText(joinedView(pieces.map(({ view }) => view)), rewriting, first.place, depth)
      // What a piece contains alone can be read there, too.
      if (pieces.length === 1) continue
      for (const { view, place } of pieces)
        if (view.text.length >= rewriting.minLength) rewriteText(view.remaining(), rewriting, place, depth)
    }
  }
}

/** A token whose bytes and alternatives disappear with it. */
function tokenView(leaf: JsonLeaf): TextView {
  return {
    text: leaf.text,
    replace(start, end, by) {
      leaf.replace(start, end, by)
      for (const name of ['bytes', 'top_logprobs']) {
        const range = leaf.parent.lists?.get(name)
        if (range) leaf.root.replace(range[0], range[1], name === 'bytes' ? 'null' : '[]')
      }
    },
  }
}

const FIELD = /^\ufeff?([a-z]*):( ?)/
const DATA = 'data: '

/** The end of the line that contains a position, without its line break. */
function lineEnd(text: string, at: number, hasCr: boolean): number {
  const lf = text.indexOf('\n', at)
  const cr = hasCr ? text.indexOf('\r', at) : -1
  const end = cr >= 0 && (lf < 0 || cr < lf) ? cr : lf
  return end < 0 ? text.length : end
}

/** Rewrites server-sent events (WHATWG HTML, section 9.2), and what they send in pieces. */
function rewriteEvents(view: TextView, rewriting: Rewriting): void {
  const { text } = view
  const hasCr = text.includes('\r')
  const channels = new Channels()
  let data: TextView[] = []
  const end = () => {
    const [first, ...others] = data
    if (first) rewriteEvent(others.length === 0 ? first : joinedView(data, '\n'), rewriting, channels)
    data = []
  }
  for (let at = 0; at < text.length; at++) {
    const last = lineEnd(text, at, hasCr)
    if (last > at) {
      const isData = text.startsWith(DATA, at)
      const [all = '', field] = isData ? [DATA, 'data'] : (FIELD.exec(text.slice(at, last)) ?? [])
      if (field === 'data') data.push(lineView(view, at + all.length, last))
      else rewriteText(rangeView(view, at + all.length, last), rewriting, NOWHERE)
    } else if (text[at] !== '\n' || text[at - 1] !== '\r') end()
    at = last
  }
  end()
  channels.rewrite(rewriting, 1)
}

/** A line of data. A line break in what replaces it begins another one. */
function lineView(parent: TextView, start: number, end: number): TextView {
  const view = rangeView(parent, start, end)
  return { text: view.text, replace: (from, to, by) => view.replace(from, to, by.replace(/\r\n|\r|\n/g, '\ndata: ')) }
}

function rewriteEvent(view: TextView, rewriting: Rewriting, channels: Channels): void {
  const json = isJsonStart(view.text) ? jsonLeaves(view) : undefined
  if (json) rewriteLeaves(json.leaves, rewriting, channels, NOWHERE, 1, true)
  else channels.addView('text', view, NOWHERE)
}
