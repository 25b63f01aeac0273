// Goes through every text in the body, address or header of a call, as deep as texts contain texts, and replaces ranges of them. A text that
// a stream sends in pieces is one text.
import { withoutSpans } from '../lib/secrets.ts'
import { type JsonLeaf, type JsonParent, jsonLeaves } from './json-leaves.ts'
import { EditedText, joinedView, percentView, rangeView, type TextView } from './views.ts'

/** Where a text stands. */
export interface Place {
  /** The name of its field or parameter. */
  name: string | undefined
  /** Whether the name is that of a parameter of a URL or form. */
  isParameter: boolean
  /** Names and indexes from the body to its field; undefined outside of JSON. */
  path(): readonly (string | number)[] | undefined
}

/** A replacement in a text; the end is exclusive. */
export interface Replacement {
  start: number
  end: number
  by: string
}

/** What a rewriter replaces. */
export interface Rewriting {
  /** Replacements in a decoded text, in order. */
  text(text: string, place: Place): readonly Replacement[]
  /** A new JSON number or boolean; undefined if it stays. */
  value(text: string, place: Place): string | undefined
}

/** Texts contain texts that contain texts. Deeper ones are searched as they stand. */
const MAX_DEPTH = 8

const NOWHERE: Place = { name: undefined, isParameter: false, path: () => undefined }
/** The place of a text that is a header, or a parameter. */
export const namedPlace = (name: string, isParameter = false): Place => ({ ...NOWHERE, name, isParameter })
/** The place of a field of a form. */
export const fieldPlace = (name: string): Place => ({ name, isParameter: false, path: () => [name] })

/** Rewrites a text of any format: events, JSON, lines of JSON, a form, or anything else. */
export function rewriteBody(view: TextView, rewriting: Rewriting, isStream = false): void {
  if (isStream || EVENT_START.test(view.text)) rewriteEvents(view, rewriting)
  else if (FORM.test(view.text)) rewriteParameters(view, rewriting, 0, true)
  else rewriteText(view, rewriting, NOWHERE)
}

/** A text with its replacements. */
export function rewrittenText(text: string, rewriting: Rewriting): string {
  const edited = new EditedText(text)
  rewriteBody(edited, rewriting)
  return edited.result()
}

/** A text at a place with its replacements, such as a header. */
export function rewrittenAt(text: string, place: Place, rewriting: Rewriting): string {
  const edited = new EditedText(text)
  rewriteText(edited, rewriting, place)
  return edited.result()
}

/** The same for the path and query of a request, or a URL. */
export function rewrittenAddress(address: string, rewriting: Rewriting): string {
  const edited = new EditedText(address)
  const query = address.indexOf('?')
  const end = query < 0 ? address.length : query
  rewriteText(percentView(edited, 0, end), rewriting, NOWHERE, 1)
  if (query >= 0) rewriteParameters(rangeView(edited, query, address.length), rewriting, 0)
  return edited.result()
}

const FORM = /^[\w.%+*-]{1,100}=[^&\s=]*(?:&[\w.%+*-]{1,100}=[^&\s=]*)*$/
const EVENT_START = /^\ufeff?[\r\n]{0,100}(?:data|event|id|retry)?:/

/** Whether a text may be JSON. */
const JSON_START = /^\s*[[{]/

function rewriteText(view: TextView, rewriting: Rewriting, place: Place, depth = 0): void {
  const { text } = view
  if (text === '') return
  if (depth < MAX_DEPTH) {
    const json = JSON_START.test(text) ? jsonLeaves(view) : undefined
    if (json) {
      const channels = new Channels()
      rewriteLeaves(json.leaves, rewriting, channels, place, depth + 1, json.values > 1)
      channels.rewrite(rewriting, depth + 1)
      return
    }
  }
  const noted = new NotedView(view)
  if (depth < MAX_DEPTH && PARAMETER_START.test(text)) rewriteParameters(noted, rewriting, depth + 1)
  for (const { start, end, by } of rewriting.text(noted.rest(), place)) view.replace(start, end, by)
}

/** A view that notes which ranges were replaced. */
class NotedView implements TextView {
  readonly text: string
  readonly #view: TextView
  readonly #replaced: Replacement[] = []

  constructor(view: TextView) {
    this.text = view.text
    this.#view = view
  }

  replace(start: number, end: number, by: string): void {
    this.#replaced.push({ start, end, by })
    this.#view.replace(start, end, by)
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
const FORM_PARAMETER = /(?:^|&)([\w.%+*-]{1,100})=([^&]*)/g

function rewriteParameters(view: TextView, rewriting: Rewriting, depth: number, isForm = false): void {
  for (const { 0: all, 1: name = '', 2: value = '', index } of view.text.matchAll(
    isForm ? FORM_PARAMETER : PARAMETER,
  )) {
    if (value === '') continue
    const start = index + all.length - value.length
    const place = namedPlace(decoded(name), true)
    rewriteText(percentView(view, start, start + value.length, isForm), rewriting, place, depth + 1)
  }
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
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
    const place = placeOf(leaf, outer)
    if (leaf.is === 'number' || leaf.is === 'boolean') {
      const by = rewriting.value(leaf.view.text, place)
      if (by !== undefined) leaf.view.replace(0, leaf.view.text.length, by)
    } else if (leaf.is === 'text' && (isToken(leaf) || (inPieces && isPiece(leaf)))) channels.add(leaf, place)
    else rewriteText(leaf.view, rewriting, place, depth)
  }
}

function placeOf({ is, parent, key }: JsonLeaf, outer: Place): Place {
  // The items of a list have the name of the list.
  let [owner, name] = [parent, key]
  while (owner?.isList) [owner, name] = [owner.parent, owner.key]
  return {
    name: is === 'name' ? undefined : name === '' ? outer.name : String(name),
    isParameter: false,
    path: () => (is === 'name' ? undefined : [...(outer.path() ?? []), ...pathOf(parent, key)]),
  }
}

function pathOf(parent: JsonParent | undefined, key: string | number): (string | number)[] {
  const path = [key]
  for (let owner = parent; owner?.parent; owner = owner.parent) path.unshift(owner.key)
  return path
}

function hasAncestor(parent: JsonParent | undefined, name: string): boolean {
  for (let owner = parent; owner; owner = owner.parent) if (owner.key === name) return true
  return false
}

const isPiece = ({ parent, key }: JsonLeaf) =>
  hasAncestor(parent, 'delta') ? !SENT_ONCE.has(String(key)) : SENT_IN_PIECES.has(String(key))

/** The text of a token, for which a response lists probabilities. */
const isToken = ({ parent, key }: JsonLeaf) =>
  (key === 'token' || (parent?.isList === true && parent.key === 'tokens')) &&
  hasAncestor(parent, 'logprobs') &&
  !hasAncestor(parent, 'top_logprobs')

/** What sends a text in pieces: the path of its fields, and what tells apart several outputs. */
function channelOf(leaf: JsonLeaf): string {
  // Every item of a list of tokens is a piece.
  const ofTokens = isToken(leaf)
  const parts = [ofTokens ? '' : String(leaf.key)]
  for (let owner = leaf.parent; owner; owner = owner.parent) {
    const isIndex = owner.parent?.isList
    const index = ofTokens || owner.identity !== '' ? '' : owner.key
    parts.push(isIndex ? String(index) : String(owner.key), owner.identity)
  }
  return parts.join('/')
}

interface Piece {
  view: NotedView
  place: Place
}

/** The texts that are sent in pieces. */
class Channels {
  readonly #pieces = new Map<string, Piece[]>()

  add(leaf: JsonLeaf, place: Place): void {
    this.addView(channelOf(leaf), isToken(leaf) ? tokenView(leaf) : leaf.view, place)
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
      for (const { view, place } of pieces) {
        const rest: TextView = { text: view.rest(), replace: (start, end, by) => view.replace(start, end, by) }
        rewriteText(rest, rewriting, place, depth)
      }
    }
  }
}

/** A token whose bytes and alternatives disappear with it. */
function tokenView(leaf: JsonLeaf): TextView {
  return {
    text: leaf.view.text,
    replace(start, end, by) {
      leaf.view.replace(start, end, by)
      for (const name of ['bytes', 'top_logprobs']) {
        const range = leaf.parent?.lists?.get(name)
        if (range) leaf.root.replace(range[0], range[1], name === 'bytes' ? 'null' : '[]')
      }
    },
  }
}

const LINE = /[^\r\n]*(?:\r\n|\r|\n|$)/y
const FIELD = /^\ufeff?([a-z]*):( ?)/

/** Rewrites server-sent events (WHATWG HTML, section 9.2), and what they send in pieces. */
function rewriteEvents(view: TextView, rewriting: Rewriting): void {
  const { text } = view
  const channels = new Channels()
  let data: TextView[] = []
  const end = () => {
    if (data.length > 0)
      rewriteEvent(data.length === 1 && data[0] ? data[0] : joinedView(data, '\n'), rewriting, channels)
    data = []
  }
  LINE.lastIndex = 0
  for (let at = 0; at < text.length; ) {
    LINE.lastIndex = at
    const line = LINE.exec(text)?.[0] ?? ''
    const next = at + Math.max(line.length, 1)
    const content = line.replace(/[\r\n]+$/, '')
    const [all = '', field] = FIELD.exec(content) ?? []
    if (content === '') end()
    else if (field === 'data') data.push(lineView(view, at + all.length, at + content.length))
    else rewriteText(rangeView(view, at + all.length, at + content.length), rewriting, NOWHERE)
    at = next
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
  const json = JSON_START.test(view.text) ? jsonLeaves(view) : undefined
  if (json) rewriteLeaves(json.leaves, rewriting, channels, NOWHERE, 1, true)
  else channels.addView('text', view, NOWHERE)
}
