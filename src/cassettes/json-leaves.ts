// The strings, numbers and names in a JSON text, where they stand. It reads truncated JSON too, since streams end anywhere.
import { jsonStringView, rangeView, type TextView } from './views.ts'

/** An object or list that contains a value. */
export interface JsonParent {
  parent: JsonParent | undefined
  /** The name in the parent, or the index in its list. */
  key: string | number
  isList: boolean
  /** The name or index of the value that is read. */
  current: string | number
  /** Values of its fields that tell apart what a stream sends in turns, such as `index`. */
  identity: string
  /** Where its lists begin and end, by name. */
  lists: Map<string, [start: number, end: number]> | undefined
}

/** A string, a number, or `true` and `false`. */
export interface JsonLeaf {
  /** `name` is the name of a field. */
  is: 'text' | 'name' | 'number' | 'boolean'
  parent: JsonParent | undefined
  /** Its name, or its index in a list. */
  key: string | number
  /** The decoded text of a string, or the number as it stands there. */
  view: TextView
  /** The text that contains it. */
  root: TextView
}

/** The leaves of a JSON text, in order, and how many values follow each other in it. */
export interface JsonLeaves {
  leaves: readonly JsonLeaf[]
  values: number
}

const SPACE = /[ \t\r\n]*/y
const LITERAL = /(?:true|false|null)(?![\w])/y
const NUMBER = /-?\d[\d.eE+-]*/y
/** What a truncated text may end with. */
const CUT_LITERAL = /(?:t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?|-)$/y
/** Fields that tell apart the outputs that a stream sends in turns. The type is read only from the event itself. */
const IDENTITY = new Set(['index', 'output_index', 'content_index', 'summary_index', 'item_id'])

/** The end of a string whose text begins at a position: that of its quotation mark, or the end of the text. */
function stringEnd(text: string, from: number): number {
  SPECIAL.lastIndex = from
  for (let found = SPECIAL.exec(text); found; found = SPECIAL.exec(text)) {
    if (found[0] === '"') return found.index
    SPECIAL.lastIndex = found.index + 2
  }
  return text.length
}
const SPECIAL = /["\\]/g

/**
 * The leaves of a text of one or more JSON values, such as lines of JSON; undefined if it is not JSON. Values outside of objects and
 * lists are no JSON here. It takes one pass without recursion.
 */
export function jsonLeaves(root: TextView): JsonLeaves | undefined {
  const { text } = root
  const leaves: JsonLeaf[] = []
  const starts: number[] = []
  let top: JsonParent | undefined
  let expectsName = false
  let values = 0
  let at = 0
  const match = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    return pattern.exec(text)?.[0]
  }
  const note = (value: string) => {
    if (!top || top.isList) return
    const name = String(top.current)
    if (IDENTITY.has(name) || (name === 'type' && top.parent === undefined)) top.identity += `${name}=${value};`
  }
  for (;;) {
    at += match(SPACE)?.length ?? 0
    const character = text[at]
    if (character === undefined) return values > 0 ? { leaves, values } : undefined
    if (character === '{' || character === '[') {
      const isList = character === '['
      top = { parent: top, key: top?.current ?? '', isList, current: isList ? 0 : '', identity: '', lists: undefined }
      expectsName = !isList
      if (!top.parent) values++
      starts.push(at)
      at++
    } else if (!top) return undefined
    else if (character === '}' || character === ']') {
      if (top.isList !== (character === ']')) return undefined
      const start = starts.pop() ?? at
      at++
      const { parent, key }: JsonParent = top
      if (top.isList && parent && !parent.isList) {
        parent.lists ??= new Map()
        parent.lists.set(String(key), [start, at])
      }
      top = parent
      expectsName = false
    } else if (character === ',') {
      at++
      if (top.isList) top.current = Number(top.current) + 1
      else expectsName = true
    } else if (character === ':') {
      if (top.isList) return undefined
      at++
      expectsName = false
    } else if (character === '"') {
      const end = stringEnd(text, at + 1)
      const string = jsonStringView(root, at + 1, end)
      if (expectsName) {
        leaves.push({ is: 'name', parent: top, key: '', view: string, root })
        top.current = string.text
      } else {
        leaves.push({ is: 'text', parent: top, key: top.current, view: string, root })
        if (string.text.length < 80) note(string.text)
      }
      at = end + 1
    } else {
      const literal = match(LITERAL)
      const number = literal === undefined ? match(NUMBER) : undefined
      const found: string | undefined = literal ?? number
      if (found === undefined) return match(CUT_LITERAL) === undefined ? undefined : { leaves, values }
      if (expectsName) return undefined
      if (found !== 'null')
        leaves.push({
          is: number === undefined ? 'boolean' : 'number',
          parent: top,
          key: top.current,
          view: rangeView(root, at, at + found.length),
          root,
        })
      note(found)
      at += found.length
    }
  }
}
