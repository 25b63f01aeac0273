// Parses regular expressions of JavaScript's unicode mode. The runtime decides what is valid, and what a single
// character matches; this only finds the structure.

/** Alternatives of a group, each a sequence of parts. */
export type RegexAlternatives = readonly (readonly RegexNode[])[]

/** One part of an expression. */
export type RegexNode =
  /** One character, escape or class; `code` is the code point of a plain character. */
  | { type: 'character'; raw: string; code: number | undefined }
  /** A group; `capture` is the index of a capturing one, from 0, `flags` the flags that it sets and clears (`i-s`). */
  | { type: 'group'; alternatives: RegexAlternatives; capture: number | undefined; flags: string }
  /** A look-ahead or look-behind. */
  | { type: 'look'; alternatives: RegexAlternatives; behind: boolean; negate: boolean }
  /** The start, the end, a word boundary or a position without one. */
  | { type: 'edge'; kind: '^' | '$' | '\\b' | '\\B' }
  /** A back reference, to the groups that it may mean. */
  | { type: 'reference'; captures: readonly number[] }
  /** A repetition; `captures` are the index of the first group in it and that of the first group after it. */
  | {
      type: 'repeat'
      node: RegexNode
      min: number
      max: number
      greedy: boolean
      captures: readonly [from: number, to: number]
    }

/** A parsed expression; `names` has the name of each capturing group. */
interface RegexSyntax {
  alternatives: RegexAlternatives
  names: readonly (string | undefined)[]
}

const ESCAPE =
  /\\(?:u\{[\da-f]+\}|u[d][89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|u[\da-f]{4}|x[\da-f]{2}|c[a-z]|p\{[^}]*\}|k<[^>]*>|[1-9]\d*|.)/
const CLASS = /\[(?:\\.|[^\]\\])*\]/
const OPEN = /\((?:\?(?:<?[=!]|<[^>]*>|[ims]*(?:-[ims]*)?:))?/
const REPEAT = /[*+?]\??|\{\d+(?:,\d*)?\}\??/
const TOKENS = new RegExp([ESCAPE, CLASS, OPEN, REPEAT, /./].map(({ source }) => source).join('|'), 'gisu')

const COUNTS: Record<string, [min: number, max: number]> = {
  '*': [0, Number.POSITIVE_INFINITY],
  '+': [1, Number.POSITIVE_INFINITY],
  '?': [0, 1],
}

/** Minimum and maximum number of repetitions of a quantifier; undefined for other tokens. */
function countsOf(token: string): [min: number, max: number] | undefined {
  const fixed = COUNTS[token.charAt(0)]
  if (fixed) return fixed
  const [, min = '', comma, max = ''] = /^\{(\d+)(,?)(\d*)\}/.exec(token) ?? []
  if (min === '') return undefined
  return [Number(min), comma === '' ? Number(min) : max === '' ? Number.POSITIVE_INFINITY : Number(max)]
}

/** The code point of a literal character, escaped or not. */
const literalCode = (token: string): number | undefined =>
  /^(?:\\[^A-Za-z0-9]|[^\\[.])$/su.test(token)
    ? token.codePointAt(token.length > 1 && token[0] === '\\' ? 1 : 0)
    : undefined

const groupName = (token: string): string | undefined =>
  /^\(\?<([^=!].*)>$/su
    .exec(token)?.[1]
    ?.replace(/\\u(?:\{(.*?)\}|(.{4}))/gu, (_, braced?: string, four?: string) =>
      String.fromCodePoint(Number.parseInt(braced ?? four ?? '', 16)),
    )

/**
 * Parses an expression of unicode mode.
 * @throws SyntaxError if the runtime rejects it
 */
export function parseRegex(source: string): RegexSyntax {
  new RegExp(source, 'u')
  const tokens = source.match(TOKENS) ?? []
  const names: (string | undefined)[] = []
  const references: [name: string, captures: number[]][] = []
  let at = 0

  const alternatives = (): RegexNode[][] => {
    let sequence: RegexNode[] = []
    const all = [sequence]
    for (let token = tokens[at]; token !== undefined && token !== ')'; token = tokens[at]) {
      at++
      if (token === '|') all.push((sequence = []))
      else sequence.push(repeated(token))
    }
    return all
  }
  const repeated = (token: string): RegexNode => {
    const from = names.length
    const node = single(token)
    const repeat = tokens[at] ?? ''
    const counts = countsOf(repeat)
    if (!counts) return node
    at++
    const [min, max] = counts
    return { type: 'repeat', node, min, max, greedy: !/.\?$/.test(repeat), captures: [from, names.length] }
  }
  const single = (token: string): RegexNode => {
    if (token === '^' || token === '$' || token === '\\b' || token === '\\B') return { type: 'edge', kind: token }
    if (token.startsWith('(')) return grouped(token)
    if (/^\\[1-9]/.test(token)) return { type: 'reference', captures: [Number(token.slice(1)) - 1] }
    if (!token.startsWith('\\k')) return { type: 'character', raw: token, code: literalCode(token) }
    const captures: number[] = []
    references.push([groupName(`(?${token.slice(2)}`) ?? '', captures])
    return { type: 'reference', captures }
  }
  const grouped = (token: string): RegexNode => {
    const look = /^\(\?(<?)([=!])$/.exec(token)
    const capturing = token === '(' || (!look && token.startsWith('(?<'))
    const capture = capturing ? names.push(groupName(token)) - 1 : undefined
    const inner = alternatives()
    at++
    if (look) return { type: 'look', alternatives: inner, behind: look[1] === '<', negate: look[2] === '!' }
    return { type: 'group', alternatives: inner, capture, flags: capturing ? '' : token.slice(2, -1) }
  }

  const all = alternatives()
  for (const [name, captures] of references)
    for (const [index, one] of names.entries()) if (one === name) captures.push(index)
  return { alternatives: all, names }
}
