// Generates texts for a pattern: its parts in order, with readable characters where there is a choice. Look-arounds are
// ignored, so the caller must test each text with the real expression.
import { parseRegex, type RegexAlternatives, type RegexNode } from '../regex-syntax.ts'
import { SchemaError, TooLarge } from './prepare.ts'
import { MAX_TEXT_LENGTH } from './strings.ts'

/** Further requirements of a text, and the source of choices. */
interface PatternOptions {
  /** JSON pointer to the pattern in the schema. */
  path: string
  /** Minimum and maximum number of characters. */
  shortest: number
  longest: number
  /** Index of the list item that contains the text. */
  turn: number
  /** A number in [0, 1), constant for the same position and purpose. */
  random(purpose: string): number
}

/** Maximum number of texts of one pattern for one position, and of their characters. */
const MAX_TEXTS = 40
const MAX_CHARACTERS = 200_000
/** Maximum number of parts that are generated for them: some tenths of a second. */
const MAX_PARTS = 1_000_000
/** Maximum repetitions of a part without a measured length. */
const MAX_EMPTY_TURNS = 1_000
/** Texts with only the likeliest characters; later ones have signs too, which look-aheads may require. */
const PLAIN_TEXTS = 8

const characters = (first: number, last: number): string =>
  Array.from({ length: last - first + 1 }, (_, index) => String.fromCodePoint(first + index)).join('')
const PRINTABLE = characters(0x20, 0x7e)
/** Characters, the likeliest first; those in none of them come last. */
const LIKELY = ['abcdefghijklmnopqrstuvwxyz', '0123456789', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', ' ', '-', '_', '.', PRINTABLE]
/** All code points except surrogates, for expressions that require rare ones. */
const RARE = [
  [0xa0, 0x24f],
  [0x370, 0x52f],
  [0x1f300, 0x1faff],
  [0x530, 0xd7ff],
  [0xe000, 0x1ffff],
  [0, 0x1f],
] as const

/** The likeliest characters that match a part of a pattern; empty if it matches none. */
function charactersFor(raw: string, plain: boolean): string[] {
  const expression = new RegExp(raw, 'gu')
  for (const some of plain ? LIKELY : [PRINTABLE]) {
    const found = some.match(expression)
    if (found) return found
  }
  for (const [first, last] of RARE) {
    const found = characters(first, last).match(expression)
    if (found) return found
  }
  return []
}

/** Minimum and maximum number of characters. */
interface Size {
  min: number
  max: number
}
const together = (sizes: readonly Size[]): Size =>
  sizes.reduce(({ min, max }, size) => ({ min: min + size.min, max: max + size.max }), { min: 0, max: 0 })
const times = (size: number, count: number) => (size === 0 || count === 0 ? 0 : size * count)

/** Generates texts of one pattern. */
class Drawing {
  readonly #path: string
  readonly #alternatives: RegexAlternatives
  readonly #sizes = new Map<RegexNode, Size>()
  readonly #characters = new Map<string, string[]>()
  /** The generated text of each group, for back references. */
  #captured = new Map<number, string>()
  #parts = 0
  #plain = true
  #random: () => number = () => 0
  /** Minimum and maximum number of characters of a text, without back references. */
  readonly size: Size

  constructor(source: string, path: string) {
    this.#path = path
    this.#alternatives = parseRegex(source).alternatives
    this.size = this.#sizeOfAny(this.#alternatives)
  }

  /** A text of about `length` characters; undefined if there is none. */
  text(length: number, { plain, random }: { plain: boolean; random(): number }): string | undefined {
    this.#captured = new Map()
    if (plain !== this.#plain) this.#characters.clear()
    this.#plain = plain
    this.#random = random
    return this.#any(this.#alternatives, length)
  }

  #sizeOfAny(alternatives: RegexAlternatives): Size {
    const sizes = alternatives.map((nodes) => together(nodes.map((node) => this.#sizeOf(node))))
    return { min: Math.min(...sizes.map(({ min }) => min)), max: Math.max(...sizes.map(({ max }) => max)) }
  }

  #sizeOf(node: RegexNode): Size {
    return this.#sizes.getOrInsertComputed(node, () => this.#measured(node))
  }

  #measured(node: RegexNode): Size {
    if (node.type === 'character') return { min: 1, max: 1 }
    if (node.type === 'group') return this.#sizeOfAny(node.alternatives)
    if (node.type !== 'repeat') return { min: 0, max: 0 }
    const { min, max } = this.#sizeOf(node.node)
    return { min: times(min, node.min), max: times(max, node.max) }
  }

  /** A whole number from `least` to `most`. */
  #between(least: number, most: number): number {
    return least + Math.floor(this.#random() * (most - least + 1))
  }

  #any(alternatives: RegexAlternatives, length: number): string | undefined {
    const fitting = alternatives.filter((nodes) => {
      const { min, max } = together(nodes.map((node) => this.#sizeOf(node)))
      return min <= length && length <= max
    })
    const choices = fitting.length > 0 ? fitting : alternatives
    return this.#sequence(choices[this.#between(0, choices.length - 1)] ?? [], length)
  }

  /** Parts in order. The characters beyond their minimum lengths are distributed at random. */
  #sequence(nodes: readonly RegexNode[], length: number): string | undefined {
    const sizes = nodes.map((node) => this.#sizeOf(node))
    const rooms = sizes.map(({ min, max }) => max - min)
    const behind = rooms.map(() => 0)
    for (let index = rooms.length - 2; index >= 0; index--)
      behind[index] = (behind[index + 1] ?? 0) + (rooms[index + 1] ?? 0)
    let spare = Math.max(0, length - together(sizes).min)
    let text = ''
    for (const [index, node] of nodes.entries()) {
      const most = Math.min(rooms[index] ?? 0, spare)
      const extra = this.#between(Math.min(most, Math.max(0, spare - (behind[index] ?? 0))), most)
      const part = this.#part(node, (sizes[index]?.min ?? 0) + extra)
      if (part === undefined) return undefined
      text += part
      spare -= extra
    }
    return text
  }

  #part(node: RegexNode, length: number): string | undefined {
    if (++this.#parts > MAX_PARTS)
      throw new TooLarge('the pattern is too large: a text takes more work than is done for one', this.#path)
    switch (node.type) {
      case 'character':
        return this.#character(node.raw)
      case 'group': {
        const text = this.#any(node.alternatives, length)
        if (node.capture !== undefined && text !== undefined) this.#captured.set(node.capture, text)
        return text
      }
      case 'reference':
        return node.captures.map((capture) => this.#captured.get(capture)).find((text) => text !== undefined) ?? ''
      case 'repeat':
        return this.#sequence(new Array<RegexNode>(this.#turns(node, length)).fill(node.node), length)
      default:
        return ''
    }
  }

  /** The number of repetitions that yields a length. */
  #turns({ node, min, max }: Extract<RegexNode, { type: 'repeat' }>, length: number): number {
    const size = this.#sizeOf(node)
    // Back references, whose texts are not measured, or nothing.
    if (size.max === 0) return Math.min(min, MAX_EMPTY_TURNS)
    const least = Math.max(min, Math.min(1, length), Math.ceil(length / size.max))
    const most = size.min === 0 ? Math.min(max, Math.max(least, length)) : Math.min(max, Math.floor(length / size.min))
    return Math.min(this.#between(least, Math.max(least, most)), MAX_TEXT_LENGTH)
  }

  #character(raw: string): string | undefined {
    const choices = this.#characters.getOrInsertComputed(raw, () => charactersFor(raw, this.#plain))
    return choices[Math.floor((choices.length > 1 ? this.#random() : 0) * choices.length)]
  }
}

/**
 * Texts of one pattern (in unicode mode), short ones first; not all of them match.
 * @throws SchemaError if no text is short enough
 * @throws TooLarge if the pattern or its text is too large
 */
export function* patternTexts(pattern: string, options: PatternOptions): Generator<string> {
  const { path, shortest, longest, turn, random } = options
  const drawing = new Drawing(pattern, path)
  const { min, max } = drawing.size
  if (min > MAX_TEXT_LENGTH)
    throw new TooLarge(
      `the pattern is too large: a text has at least ${min} characters, a sample at most ${MAX_TEXT_LENGTH}`,
      path,
    )
  if (min > longest) throw noText([pattern], options)
  const first = Math.min(Math.max(min, shortest), max)
  let drawn = 0
  for (let round = 0; round < MAX_TEXTS && drawn < MAX_CHARACTERS; round++) {
    const room = round < 4 ? 2 : Math.min(2 ** (round >> 1), Math.max(64, shortest))
    const last = Math.max(first, Math.min(max, longest, first + room))
    let looks = 0
    const chance = () => random(`pattern ${turn} ${round} ${looks++}`)
    const length = first + Math.floor(chance() * (last - first + 1))
    const text = drawing.text(length, { plain: round < PLAIN_TEXTS, random: chance })
    if (text === undefined) return
    drawn += text.length
    yield text
  }
}

/** The error when no text was found, with the required length. */
export const noText = (
  patterns: readonly string[],
  { path, shortest, longest }: Pick<PatternOptions, 'path' | 'shortest' | 'longest'>,
) => {
  const length = Number.isFinite(longest)
    ? `of ${shortest} to ${longest} characters `
    : shortest > 0
      ? `of at least ${shortest} characters `
      : ''
  const quoted = patterns.map((pattern) => JSON.stringify(pattern)).join(' and ')
  return new SchemaError(`no text ${length}was found that matches ${quoted}`, path)
}
