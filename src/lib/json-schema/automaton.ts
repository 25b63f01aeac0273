// Regular expressions as automata, which accept just the texts that a pattern is found in.
import { type Concatenation, DFA, type Element, JS, NFA, type NoParent } from 'refa'

/** Most states of one automaton; a pattern that needs more is given up. */
export const MOST_STATES = 20_000
/** Most ways that a pattern with look-arounds inside alternatives and repetitions is taken apart into. */
const MOST_WAYS = 64
/** Repetitions of a group that holds a look-around which are tried beyond the least. */
const MORE_TURNS = 2
/** A repetition that may be longer is taken to be endless: shorter texts come first anyway, and each is checked in the end. */
const LONGEST_COUNT = 3_000

/** The automaton of a pattern would be larger than is worked with. */
export class PatternTooLarge extends Error {}

type Part = NoParent<Element>
type Parts = readonly Part[]

const ALL = { maxCharacter: 0x10ffff }
const states = () => new NFA.LimitedNodeFactory(MOST_STATES)
/** Every text. */
export const anything = () => NFA.all(ALL, states())
const nothing = () => NFA.empty(ALL, states())

function joined(left: NFA, right: NFA): NFA {
  const both = left.copy(states())
  both.append(right, states())
  return both
}
/** The texts of both. */
export function both(left: NFA, right: NFA): NFA {
  const texts = NFA.fromIntersection(left, right, states())
  texts.removeUnreachable()
  return texts
}
/** The texts of any. */
export function either(automata: readonly NFA[]): NFA {
  const all = nothing()
  for (const one of automata) all.union(one, states())
  return all
}
function complement(of: NFA): NFA {
  const table = DFA.fromFA(of, new DFA.LimitedNodeFactory(MOST_STATES))
  table.complement()
  table.minimize()
  return NFA.fromFA(table, states())
}

const looksAround = (part: Part): boolean =>
  part.type === 'Assertion' ||
  ('alternatives' in part && part.alternatives.some(({ elements }) => elements.some(looksAround)))

/** The ways through alternatives and repetitions that hold look-arounds, as plain rows. */
function waysOf(parts: Parts): Part[][] {
  let ways: Part[][] = [[]]
  for (const part of parts) {
    const choices = choicesOf(part)
    ways = ways.flatMap((way) => choices.map((choice) => [...way, ...choice]))
    if (ways.length > MOST_WAYS) throw new PatternTooLarge('it has too many ways through its look-arounds')
  }
  return ways
}

function choicesOf(part: Part): Part[][] {
  if (part.type === 'Assertion' || !looksAround(part)) return [[part]]
  if (part.type === 'Alternation') return part.alternatives.flatMap(({ elements }) => waysOf(elements))
  if (part.type !== 'Quantifier') return [[part]]
  const { min, max, alternatives } = part
  const once = alternatives.flatMap(({ elements }) => waysOf(elements))
  let turns: Part[][] = [[]]
  const choices: Part[][] = min === 0 ? [[]] : []
  for (let turn = 1; turn <= Math.min(max, min + MORE_TURNS); turn++) {
    turns = turns.flatMap((before) => once.map((next) => [...before, ...next]))
    if (turns.length > MOST_WAYS) throw new PatternTooLarge('it repeats too many look-arounds')
    if (turn >= min) choices.push(...turns)
  }
  return choices
}

/** The texts of parts without their look-arounds. */
function plain(parts: Parts): NFA {
  const texts = NFA.emptyWord(ALL, states())
  for (const part of parts) {
    if (part.type === 'Assertion') continue
    const counted = countedCharacters(part)
    const elements = [part] as NoParent<Concatenation>['elements']
    const next =
      counted ??
      NFA.fromRegex(
        [{ type: 'Concatenation', elements }],
        ALL,
        { infinityThreshold: LONGEST_COUNT, unknowns: 'disable' },
        states(),
      )
    texts.appendInto(next, states())
  }
  return texts
}

/** `[a-z]{1000}` as a chain of states: the library would copy what it has at each turn. */
function countedCharacters(part: Part): NFA | undefined {
  if (part.type !== 'Quantifier' || part.alternatives.length !== 1) return undefined
  const [one, ...more] = part.alternatives[0]?.elements ?? []
  if (one?.type !== 'CharacterClass' || more.length > 0 || one.characters.isEmpty) return undefined
  const { min, max } = part
  const endless = max >= LONGEST_COUNT
  const builder = new NFA.Builder(states())
  let last = builder.initial
  if (min === 0) builder.makeFinal(last)
  for (let count = 1; count <= (endless ? Math.max(1, min) : max); count++) {
    const next = builder.createNode()
    builder.linkNodes(last, next, one.characters)
    last = next
    if (count >= min) builder.makeFinal(last)
  }
  if (endless) builder.linkNodes(last, last, one.characters)
  return NFA.fromBuilder(builder, ALL)
}

interface Around {
  /** What may stand before the parts, and behind them. */
  before: NFA
  after: NFA
}

/**
 * The texts of some parts with what may stand behind them; look-aheads see that too. A look-behind sees what stands before,
 * which is exact unless look-aheads stand there as well: what is found is tried with the real expression in the end.
 */
function textsOf(parts: Parts, { before, after }: Around): NFA {
  return either(waysOf(parts).map((way) => textsOfWay(way, { before, after })))
}

/** Whether a part is `^` or `$`. */
const isEdge = (part: Part | undefined, kind: 'ahead' | 'behind'): boolean => {
  if (part?.type !== 'Assertion' || part.kind !== kind || !part.negate || part.alternatives.length !== 1) return false
  const [one, ...more] = part.alternatives[0]?.elements ?? []
  return one?.type === 'CharacterClass' && one.characters.isAll && more.length === 0
}

function textsOfWay(parts: Parts, around: Around): NFA {
  let way = parts
  let { before, after } = around
  // The common case is exact and cheap: nothing stands before a pattern that begins with `^`, nor behind one that ends with `$`.
  for (; isEdge(way[0], 'behind'); way = way.slice(1)) before = both(before, NFA.emptyWord(ALL))
  for (; isEdge(way.at(-1), 'ahead'); way = way.slice(0, -1)) after = both(after, NFA.emptyWord(ALL))
  const behind = way.flatMap((part, index) =>
    part.type === 'Assertion' && part.kind === 'behind' ? [{ part, index }] : [],
  )
  const whole = joined(before, lookedAhead(way, after))
  return behind.reduce((texts, { part, index }) => {
    const ends = either(
      part.alternatives.map(({ elements }) => textsOf(elements, { before: anything(), after: NFA.emptyWord(ALL) })),
    )
    const seen = part.negate ? complement(ends) : ends
    const start = both(joined(before, plain(way.slice(0, index))), seen)
    return both(texts, joined(start, lookedAhead(way.slice(index), after)))
  }, whole)
}

/** The texts of parts and what stands behind them, look-aheads kept, look-behinds left out. */
function lookedAhead(way: Parts, after: NFA): NFA {
  let texts = after
  let pending: Part[] = []
  const flush = () => {
    if (pending.length > 0) texts = joined(plain(pending), texts)
    pending = []
  }
  for (const part of way.toReversed()) {
    if (part.type !== 'Assertion') pending.unshift(part)
    else if (part.kind === 'ahead') {
      flush()
      const seen = either(
        part.alternatives.map(({ elements }) => textsOf(elements, { before: NFA.emptyWord(ALL), after: anything() })),
      )
      texts = both(part.negate ? complement(seen) : seen, texts)
    }
  }
  flush()
  return texts
}

/**
 * The parts for a pattern whose automaton would be too large: with fewer turns of their bounded repetitions. What a look-around
 * counts is not counted then: each text is tried in the end.
 */
const narrowed = (parts: Parts, counts = true): Part[] =>
  parts.map((part) => {
    if (!('alternatives' in part)) return part
    const inside = counts && part.type !== 'Assertion'
    const alternatives = part.alternatives.map((one) => ({ ...one, elements: narrowed(one.elements, inside) }))
    if (part.type !== 'Quantifier') return { ...part, alternatives }
    if (!Number.isFinite(part.max) || part.max <= part.min + MORE_TURNS) return { ...part, alternatives }
    return { ...part, alternatives, max: counts ? part.min + MORE_TURNS : Number.POSITIVE_INFINITY }
  })

/**
 * The automaton of the texts in which a pattern (of the unicode mode, without back references) is found.
 * @param narrow whether it counts less, since it would be too large else
 * @throws PatternTooLarge or the library's error for too many nodes
 */
export function automatonOf(source: string, narrow: boolean): NFA {
  const { expression } = JS.Parser.fromLiteral({ source, flags: 'u' }).parse({ maxNodes: MOST_STATES })
  return either(
    expression.alternatives.map(({ elements }) =>
      textsOf(narrow ? narrowed(elements) : elements, { before: anything(), after: anything() }),
    ),
  )
}
