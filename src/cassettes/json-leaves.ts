// The strings, numbers and names in a JSON text, where they stand. It reads truncated JSON too, since streams end anywhere.
import { jsonStringView, type TextView } from './views.ts'

/** An object or list that contains a value. */
export class JsonParent {
  readonly parent: JsonParent | undefined
  /** The name in the parent, or the index in its list. */
  readonly key: string | number
  readonly isList: boolean
  /** The name or index of the value that is read. */
  current: string | number
  /** Values of its fields that tell apart what a stream sends in turns, such as `index`. */
  identity = ''
  /** Where its lists begin and end, by name. */
  lists: Map<string, [start: number, end: number]> | undefined

  constructor(parent: JsonParent | undefined, isList: boolean) {
    this.parent = parent
    this.key = parent?.current ?? ''
    this.isList = isList
    this.current = isList ? 0 : ''
  }

  /** Whether it is the value of a name, or stands in it. */
  isIn(name: string): boolean {
    return this.key === name || (this.parent?.isIn(name) ?? false)
  }
}

/** A string, the name of a field, a number, or `true` and `false`, with its place. A stream has thousands, so it is a class without closures. */
export class JsonLeaf implements TextView {
  readonly is: 'text' | 'name' | 'number' | 'boolean'
  readonly parent: JsonParent
  /** Its name, or its index in a list. */
  readonly key: string | number
  /** The text that contains it. */
  readonly root: TextView
  /** Where it stands there, a text without its quotation marks. */
  readonly start: number
  readonly end: number
  #view: TextView | undefined
  /** The decoded text of a string, or the number as it stands there. */
  readonly text: string

  constructor(root: TextView, is: JsonLeaf['is'], parent: JsonParent, [start, end]: readonly [number, number]) {
    this.root = root
    this.is = is
    this.parent = parent
    this.key = parent.current
    this.start = start
    this.end = end
    const raw = root.text.slice(start, end)
    if (raw.includes('\\')) this.#view = jsonStringView(root, start, end)
    this.text = this.#view?.text ?? raw
  }

  replace(start: number, end: number, by: string): void {
    if (this.is === 'number' || this.is === 'boolean') this.root.replace(this.start, this.end, by)
    else {
      this.#view ??= jsonStringView(this.root, this.start, this.end)
      this.#view.replace(start, end, by)
    }
  }

  /** The name of its field; that of the list for an item of a list. Undefined for a name, and without one. */
  get name(): string | undefined {
    if (this.is === 'name') return undefined
    let { key } = this
    for (let owner: JsonParent | undefined = this.parent; owner?.isList; owner = owner.parent) key = owner.key
    return key === '' ? undefined : String(key)
  }

  /** The type of the event, or of the whole body, in which it stands. */
  get event(): string | undefined {
    let owner = this.parent
    while (owner.parent) owner = owner.parent
    return /(?:^|;)type=([^;]*);/.exec(owner.identity)?.[1]
  }

  /** Names and indexes from the root to it; undefined for a name. */
  path(): (string | number)[] | undefined {
    if (this.is === 'name') return undefined
    const path = [this.key]
    for (let owner = this.parent; owner.parent; owner = owner.parent) path.unshift(owner.key)
    return path
  }
}

const LITERAL = /(?:true|false|null)(?![\w])/y
/** A number, where it begins. */
export const NUMBER = /-?\d[\d.eE+-]*/y
/** Such a number is whole (RFC 8259, section 6). */
const WHOLE_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
/** What a truncated text may end with. */
const CUT_LITERAL = /(?:t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?|-)$/y
/** Fields that tell apart the outputs that a stream sends in turns. The type is read only from the event itself. */
const IDENTITY = new Set(['index', 'output_index', 'content_index', 'summary_index', 'item_id'])

/** The end of a string whose text begins at a position: that of its quotation mark, or the end of the text. */
export function stringEnd(text: string, from: number): number {
  const quote = text.indexOf('"', from)
  if (quote < 0) return text.length
  if (text[quote - 1] !== '\\') return quote
  SPECIAL.lastIndex = from
  for (let found = SPECIAL.exec(text); found; found = SPECIAL.exec(text)) {
    if (found[0] === '"') return found.index
    SPECIAL.lastIndex = found.index + 2
  }
  return text.length
}
const SPECIAL = /["\\]/g

const isSpace = (character: string | undefined) =>
  character === ' ' || character === '\n' || character === '\r' || character === '\t'

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0]
}

/** Whether a value may tell apart what a stream sends in turns. */
export const isIdentity = ({ parent, key }: Pick<JsonLeaf, 'parent' | 'key'>): boolean =>
  !parent.isList && (IDENTITY.has(String(key)) || (key === 'type' && !parent.parent))

/** Keeps what tells the value apart from others of the stream. */
function identify(parent: JsonParent, value: string): void {
  const key = parent.current
  if (value.length <= MAX_IDENTITY_LENGTH && isIdentity({ parent, key })) parent.identity += `${key}=${value};`
}
const MAX_IDENTITY_LENGTH = 80

/**
 * The leaves of a text of one or more JSON values, such as lines of JSON, in order, and how many values follow each other in it; undefined if
 * it is not JSON. Values outside of objects and lists are no JSON here. It takes one pass without recursion.
 */
export function jsonLeaves(root: TextView): { leaves: readonly JsonLeaf[]; values: number } | undefined {
  const { text } = root
  const leaves: JsonLeaf[] = []
  const starts: number[] = []
  let top: JsonParent | undefined
  let expectsName = false
  /** Whether a comma, a colon or an end has to come: a text in brackets is not JSON for that alone. */
  let isAfterValue = false
  let values = 0
  for (let at = 0; ; ) {
    while (isSpace(text[at])) at++
    const character = text[at]
    if (character === undefined) return values > 0 ? { leaves, values } : undefined
    if (character === '{' || character === '[') {
      if (top && isAfterValue) return undefined
      isAfterValue = false
      top = new JsonParent(top, character === '[')
      if (!top.parent) values++
      expectsName = !top.isList
      starts.push(at++)
    } else if (!top) return undefined
    else if (character === '"') {
      if (isAfterValue) return undefined
      isAfterValue = true
      const end = stringEnd(text, at + 1)
      const leaf: JsonLeaf = new JsonLeaf(root, expectsName ? 'name' : 'text', top, [at + 1, end])
      leaves.push(leaf)
      if (expectsName) top.current = leaf.text
      else identify(top, leaf.text)
      at = end + 1
    } else if (character === ',') {
      isAfterValue = false
      at++
      if (top.isList) top.current = Number(top.current) + 1
      else expectsName = true
    } else if (character === ':') {
      if (top.isList) return undefined
      isAfterValue = false
      at++
      expectsName = false
    } else if (character === '}' || character === ']') {
      if (top.isList !== (character === ']')) return undefined
      const start = starts.pop() ?? at
      at++
      const { parent, key, isList }: JsonParent = top
      if (isList && parent && !parent.isList) {
        parent.lists ??= new Map()
        parent.lists.set(String(key), [start, at])
      }
      top = parent
      expectsName = false
      isAfterValue = true
    } else {
      const literal = matchAt(LITERAL, text, at)
      const found = literal ?? matchAt(NUMBER, text, at)
      if (found === undefined) return matchAt(CUT_LITERAL, text, at) === undefined ? undefined : { leaves, values }
      if (expectsName || isAfterValue) return undefined
      isAfterValue = true
      if (literal === undefined && !WHOLE_NUMBER.test(found) && at + found.length < text.length) return undefined
      if (found !== 'null')
        leaves.push(new JsonLeaf(root, literal === undefined ? 'number' : 'boolean', top, [at, at + found.length]))
      identify(top, found)
      at += found.length
    }
  }
}
