// Back references: no automaton remembers what a group has matched, so each is replaced by some text that the group may match.
import { type AST, RegExpParser, visitRegExpAST } from '@eslint-community/regexpp'

interface Replacement {
  start: number
  end: number
  instead: string
}
/** Which of its texts each group has in one reading, by where the group stands; none for one that something may leave out. */
type Reading = ReadonlyMap<AST.CapturingGroup, string | undefined>

/** Groups with references to them that are read as left out as well. */
const MOST_OPTIONAL = 3

/**
 * Readings of a pattern (of the unicode mode) without back references. The first is too wide: each is its group once more, and
 * what must not follow is left out when it refers back. The others say each group and its references by a text of it. What
 * comes out of any is to be tried with the real expression. One reading, the pattern, when there are no back references.
 * @param textsOf some texts that a part of a pattern matches
 */
export function withoutReferences(source: string, textsOf: (part: string) => readonly string[]): string[] {
  const pattern = new RegExpParser().parsePattern(source, undefined, undefined, { unicode: true })
  const references: AST.Backreference[] = []
  visitRegExpAST(pattern, { onBackreferenceEnter: (reference) => void references.push(reference) })
  if (references.length === 0) return [source]
  const rewrite = (from: number, to: number, reading: Reading): string => {
    const inside = references.filter(({ start, end }) => start >= from && end <= to)
    const again = (group: AST.CapturingGroup) => `(?:${rewrite(bodyStart(group), group.end - 1, reading)})`
    const found = inside.map((reference) => replacementOf(reference, reading, again))
    for (const [group, text] of reading) {
      const { start, end } = group
      if (text !== undefined && start >= from && end <= to) found.push({ start, end, instead: literal(text) })
    }
    return replaced(source, { from, to }, found)
  }
  const groups = [...new Set(references.map(groupOf))].filter((group) => group !== undefined)
  // A group inside another is decided first.
  groups.sort((a, b) => a.end - b.end)
  const readings = (turn: number): Reading => {
    const reading = new Map<AST.CapturingGroup, string | undefined>()
    for (const group of groups) {
      const texts = textsOf(rewrite(bodyStart(group), group.end - 1, reading))
      reading.set(group, texts[turn % Math.max(1, texts.length)])
    }
    return reading
  }
  const all = [0, 1, 2].map(readings)
  const first = all[0] ?? new Map<AST.CapturingGroup, string>()
  // In `(a)|b\1` the group has matched nothing, and the reference to it neither.
  if (groups.length <= MOST_OPTIONAL) {
    for (const left of groups) all.push(new Map([...first, [left, undefined]]))
  }
  const wide: Reading = new Map()
  return [...new Set([wide, ...all].map((reading) => rewrite(0, source.length, reading)))]
}

const groupOf = ({ resolved }: AST.Backreference): AST.CapturingGroup | undefined => [resolved].flat()[0]
const bodyStart = ({ start, raw }: AST.CapturingGroup): number =>
  start + (/^\((?:\?<[^>]*>)?/.exec(raw)?.[0].length ?? 1)
const literal = (text: string) => `(?:${RegExp.escape(text)})`

function replacementOf(
  reference: AST.Backreference,
  reading: Reading,
  again: (group: AST.CapturingGroup) => string,
): Replacement {
  const group = groupOf(reference)
  const known = group && reading.has(group)
  const refused = negationAround(reference)
  // What must not follow any text of a group cannot be said by one of them.
  if (refused && (!known || (group && group.start >= refused.start && group.end <= refused.end)))
    return { start: refused.start, end: refused.end, instead: '(?:)' }
  const { start, end } = reference
  // What stands before the end of its group refers to nothing yet.
  if (!group || start < group.end) return { start, end, instead: '(?:)' }
  return { start, end, instead: known ? literal(reading.get(group) ?? '') : again(group) }
}

function negationAround(node: AST.Node): AST.Node | undefined {
  let found: AST.Node | undefined
  for (let at: AST.Node | null = node; at; at = at.parent) {
    if (at.type === 'Assertion' && 'negate' in at && at.kind !== 'word' && at.negate) found = at
  }
  return found
}

/** Part of a text with some replaced; what stands inside of what is replaced goes with it. */
function replaced(source: string, { from, to }: { from: number; to: number }, found: readonly Replacement[]): string {
  let text = ''
  let at = from
  for (const { start, end, instead } of found.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    if (start < at) continue
    text += source.slice(at, start) + instead
    at = end
  }
  return text + source.slice(at, to)
}
