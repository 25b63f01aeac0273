// Parses large JSON in slices, so that other calls are answered in between. The runtime parses short runs, which are
// found by the positions of lists and objects, so the runtime decides what is valid JSON.
import { MAX_DEPTH, NestedTooDeep } from './nesting.ts'
import { inSlices } from './slices.ts'

/** Characters that the runtime parses at once. */
const RUN = 50_000
/** A text of more runs than this is read in parts of so many: one with many escapes takes the longest. */
const LONG_TEXT_RUNS = 10
/** Characters of \u00e4. */
const LONGEST_ESCAPE = 6

/** How a text is parsed. */
interface ReadingOptions {
  /** Maximum number of values. */
  most?: number | undefined
  /** Characters that are parsed at once. */
  run?: number | undefined
}

/** A JSON text has more values than allowed. The message continues a sentence about the text. */
export class TooManyValues extends Error {}

/**
 * The value of a JSON text, as `JSON.parse` returns it, with a limit on the number of values (texts, numbers, lists,
 * objects and so on).
 * @throws SyntaxError if the text is not JSON
 * @throws TooManyValues
 * @throws NestedTooDeep
 */
export async function parseInSlices(text: string, options: ReadingOptions = {}): Promise<unknown> {
  const root = levelOf([], 0)
  await inSlices(reading(text, root, options), () => {})
  const [value] = root.into as unknown[]
  return value
}

/** A list or object whose start has been passed, but not its end. */
interface Level {
  /** The list or object for its items; undefined while it may be parsed together with its parent. */
  into: unknown[] | Record<string, unknown> | undefined
  isList: boolean
  /** The start of the part that is not parsed yet. */
  from: number
  /** The position of its last comma, or of its start. */
  comma: number
  /** Whether an item was parsed by itself, which a comma or the end must follow. */
  after: boolean
  /** Whether a comma was passed, which an item must follow. */
  open: boolean
}

const levelOf = (into: Level['into'], at: number, isList = true): Level => ({
  into,
  isList,
  from: at,
  comma: at - 1,
  after: false,
  open: false,
})

/** Puts the value of a text into the root. Yields after each part. */
function* reading(
  text: string,
  root: Level,
  { most = Number.POSITIVE_INFINITY, run = RUN }: ReadingOptions,
): Generator<void> {
  const levels = [root]
  const longText = Math.max(2 * LONGEST_ESCAPE, LONG_TEXT_RUNS * run)
  let level = root
  let values = 1
  let due = run
  for (let at = 0; at < text.length; at++) {
    if (at > due) {
      due = at + run
      yield
    }
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      const begin = at
      at = text.indexOf('"', at + 1)
      while (at >= 0 && isEscaped(text, at)) {
        at = text.indexOf('"', at + 1)
        if (at <= due) continue
        due = at + run
        yield
      }
      if (at < 0) throw new SyntaxError('Unterminated string')
      if (at - begin > longText && isItem(text, level, begin)) {
        yield
        readPassed(text, levels)
        yield* readLongText(text, level, { begin, end: at, size: longText })
        due = at + run
        yield
      }
    } else if (code === COMMA) {
      if (level === root) throw new SyntaxError('Unexpected token: ,')
      if (++values > most) throw tooMany(most)
      passComma(text, level, at)
      if (at - lowest(levels).from > run) readPassed(text, levels)
    } else if (code === BRACKET || code === BRACE) {
      if (++values > most) throw tooMany(most)
      level = levelOf(undefined, at + 1, code === BRACKET)
      levels.push(level)
      if (levels.length > MAX_DEPTH + 1) throw new NestedTooDeep(`is nested more than ${MAX_DEPTH} levels deep`)
      if (at - lowest(levels).from > run) readPassed(text, levels)
    } else if (code === BRACKET_END || code === BRACE_END) {
      if (level === root || level.isList !== (code === BRACKET_END)) throw unexpected(text, at)
      levels.pop()
      const outer = levels.at(-1) ?? root
      if (level.into) {
        readRest(text, level, at)
        outer.from = at + 1
        outer.after = true
      }
      level = outer
    }
  }
  if (level !== root) throw new SyntaxError('Unexpected EOF')
  readRest(text, root, text.length)
  const items = root.into as unknown[]
  if (items.length !== 1) throw new SyntaxError('Unexpected EOF')
}

const [QUOTE, COMMA, BRACKET, BRACE, BRACKET_END, BRACE_END, BACKSLASH, COLON] = Array.from('",[{]}\\:', (sign) =>
  sign.charCodeAt(0),
)

const tooMany = (most: number) => new TooManyValues(`has more than ${most} values`)
const unexpected = (text: string, at: number) => new SyntaxError(`Unexpected token: ${text[at]}`)
const isBlank = (text: string) => /^[ \t\n\r]*$/.test(text)

/** Whether a quotation mark is escaped: an odd number of backslashes precedes it. */
function isEscaped(text: string, at: number): boolean {
  let before = at
  while (text.charCodeAt(before - 1) === BACKSLASH) before--
  return (at - before) % 2 === 1
}

/** Whether the text that begins here is an item of its list or the value of a field, and no name of one. */
function isItem(text: string, { isList, from, comma }: Level, begin: number): boolean {
  if (isList) return true
  let before = begin - 1
  while (before > Math.max(from - 1, comma) && isBlank(text.charAt(before))) before--
  return text.charCodeAt(before) === COLON
}

interface LongText {
  begin: number
  end: number
  /** Characters of a part. */
  size: number
}

/** Reads a text in parts, none of which ends in the middle of an escape, and puts it into its list or object. */
function* readLongText(text: string, level: Level, { begin, end, size }: LongText): Generator<void> {
  if (level.after) throw unexpected(text, begin)
  const parts: string[] = []
  let isPlain = true
  for (let from = begin + 1; from < end; ) {
    const to = from + size < end ? partEnd(text, from, from + size) : end
    const part = JSON.parse(`"${text.slice(from, to)}"`) as string
    // A text without escapes is a part of the whole, which need not be copied.
    isPlain &&= part.length === to - from
    parts.push(part)
    from = to
    yield
  }
  put(level, `${text.slice(level.from, begin)}null`, isPlain ? text.slice(begin + 1, end) : parts.join(''))
  level.from = end + 1
  level.after = true
}

/** Where a part ends that begins between two escapes and has about so many characters. */
function partEnd(text: string, from: number, to: number): number {
  const last = to - LONGEST_ESCAPE + text.slice(to - LONGEST_ESCAPE, to).lastIndexOf('\\')
  if (last < to - LONGEST_ESCAPE) return to
  let before = last
  while (before > from && text.charCodeAt(before - 1) === BACKSLASH) before--
  return (last - before) % 2 === 0 ? last : to
}

/** The innermost level of those that are parsed item by item, which are the outer ones. */
function lowest(levels: readonly Level[]): Level {
  let found = levels[0] as Level
  for (const level of levels) {
    if (!level.into) break
    found = level
  }
  return found
}

function passComma(text: string, level: Level, at: number): void {
  if (level.after) {
    if (!isBlank(text.slice(level.from, at))) throw unexpected(text, level.from)
    level.from = at + 1
    level.after = false
    level.open = true
  }
  level.comma = at
}

/** Parses all items that have been passed. What has started is parsed item by item from now on. */
function readPassed(text: string, levels: readonly Level[]): void {
  for (const [index, level] of levels.entries()) {
    if (level.comma > level.from) {
      readRun(text, level, level.comma)
      level.from = level.comma + 1
      level.open = true
    }
    const inner = levels[index + 1]
    if (!inner || inner.into) continue
    if (level.after) throw unexpected(text, inner.from - 1)
    inner.into = inner.isList ? [] : {}
    put(level, `${text.slice(level.from, inner.from - 1)}null`, inner.into)
    level.from = inner.from
  }
}

function readRest(text: string, level: Level, end: number): void {
  const isDone = level.after || !level.open
  if (isDone && isBlank(text.slice(level.from, end))) return
  if (level.after) throw unexpected(text, end)
  readRun(text, level, end)
}

/** The items from the first unparsed position to an end. */
function readRun(text: string, level: Level, end: number): void {
  const run = text.slice(level.from, end)
  if (isBlank(run)) throw unexpected(text, end)
  put(level, run)
}

/** Adds the items of a run to their list or object; `instead` replaces a single item. */
function put({ into, isList }: Level, run: string, instead?: object | string): void {
  if (isList) {
    const items = JSON.parse(`[${run}]`) as unknown[]
    const list = into as unknown[]
    if (instead && items.length !== 1) throw new SyntaxError('Unexpected token')
    for (const item of items) list.push(instead ?? item)
    return
  }
  const fields = JSON.parse(`{${run}}`) as Record<string, unknown>
  const object = into as Record<string, unknown>
  for (const name of Object.keys(fields)) {
    const value = instead ?? fields[name]
    if (name === '__proto__')
      Object.defineProperty(object, name, { value, configurable: true, enumerable: true, writable: true })
    else object[name] = value
  }
}
