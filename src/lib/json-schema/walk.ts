// Texts that an automaton accepts, of a wanted length, with readable characters where it leaves a choice.
import { CharSet, type NFA } from 'refa'

/** Characters from the likeliest on; what is in none of them comes last. Halves of characters are never taken. */
const LIKELY = ['az', '09', 'AZ', '  ', '--', '__', '..', '!~', '\u00c0\u024f', '\u0370\uffef'].map((ends) =>
  CharSet.empty(0x10ffff).union([{ min: ends.charCodeAt(0), max: ends.charCodeAt(1) }]),
)
const WHOLE = CharSet.empty(0x10ffff).union([
  { min: 0, max: 0xd7ff },
  { min: 0xe000, max: 0x10ffff },
])

interface Edge {
  to: number
  characters: CharSet
}
interface Graph {
  edges: Edge[][]
  /** The states from which an edge leads to each. */
  sources: number[][]
  /** The states that a text may end in. */
  finals: number[]
}

function graphOf(automaton: NFA): Graph {
  automaton.removeUnreachable()
  const nodes = [...new Set([automaton.initial, ...automaton.nodes()])]
  const numbers = new Map(nodes.map((node, index) => [node, index]))
  // An automaton that counts has the same characters at every step.
  const known = new Map<CharSet, CharSet>()
  const likelyOf = (set: CharSet): CharSet => {
    const found = known.get(set)
    if (found) return found
    const whole = set.intersect(WHOLE)
    const likely = LIKELY.map((some) => whole.intersect(some)).find((some) => !some.isEmpty) ?? whole
    known.set(set, likely)
    return likely
  }
  const edges = nodes.map(({ out }) =>
    [...out].flatMap(([node, set]) => {
      const characters = likelyOf(set)
      return characters.isEmpty ? [] : [{ to: numbers.get(node) ?? 0, characters }]
    }),
  )
  const sources: number[][] = nodes.map(() => [])
  for (const [from, out] of edges.entries()) for (const { to } of out) sources[to]?.push(from)
  return { edges, sources, finals: nodes.flatMap((node, index) => (automaton.finals.has(node) ? [index] : [])) }
}

/** Edges that are looked at for all texts of an automaton. */
const MOST_STEPS = 10_000_000

/** How few characters lead to each state. */
function distances(edges: readonly Edge[][]): Float64Array {
  const all = new Float64Array(edges.length).fill(Number.POSITIVE_INFINITY)
  all[0] = 0
  const reached = [0]
  for (const state of reached) {
    for (const { to } of edges[state] ?? []) {
      if (all[to] !== Number.POSITIVE_INFINITY) continue
      all[to] = (all[state] ?? 0) + 1
      reached.push(to)
    }
  }
  return all
}

/** Whether a sorted list has a number. */
function includes(sorted: Uint32Array | undefined, wanted: number): boolean {
  if (!sorted) return false
  let low = 0
  for (let high = sorted.length; low < high; ) {
    const middle = (low + high) >> 1
    if ((sorted[middle] ?? 0) < wanted) low = middle + 1
    else high = middle
  }
  return sorted[low] === wanted
}

export interface LengthLimits {
  shortest: number
  longest: number
  /** How many characters beyond the least are looked at for a length to choose. */
  room: number
  luck(purpose: string): number
}

/** The texts are too long, or the automaton too large, to look for one. */
export class TooMuchWork extends Error {}

export interface Sampler {
  /**
   * A text, or undefined when there is none of that length.
   * @throws TooMuchWork when looking for one takes too long.
   */
  text(wanted: LengthLimits): string | undefined
}

/** For each length up to `most`, the states from which a text of just that length leads to an end. */
type LayersOf = (most: number) => readonly Uint32Array[]

/** What finds those states, as far as the rest of `most` leads to them: few, in an automaton that counts. */
function layersIn({ edges, sources, finals }: Graph, starts: Float64Array): LayersOf {
  const seenAt = new Uint32Array(edges.length)
  let layers: Uint32Array[] = []
  let within = -1
  let steps = 0
  return (most) => {
    if (within === most) return layers
    within = most
    seenAt.fill(0)
    layers = [Uint32Array.from(finals).sort()]
    for (let length = 1; length <= most; length++) {
      const found: number[] = []
      for (const state of layers[length - 1] ?? []) {
        const before = sources[state] ?? []
        steps += before.length + 1
        for (const source of before) {
          if (seenAt[source] === length || (starts[source] ?? 0) > most - length) continue
          seenAt[source] = length
          found.push(source)
        }
      }
      if (steps > MOST_STEPS) throw new TooMuchWork()
      layers.push(Uint32Array.from(found).sort())
    }
    return layers
  }
}

/** Makes texts of an automaton, which it changes. */
export function samplerOf(automaton: NFA): Sampler {
  const graph = graphOf(automaton)
  const { edges, finals } = graph
  const starts = distances(edges)
  const layersOf = layersIn(graph, starts)
  const least = Math.min(...finals.map((state) => starts[state] ?? Number.POSITIVE_INFINITY))
  /** The least length that there is a text of, and those up to `room` more; beside them, the states that lead to an end. */
  const lengthsFrom = (first: number, longest: number, room: number) => {
    // Beyond the number of states an automaton repeats itself.
    const last = Math.min(longest, first + edges.length + room)
    for (let more = room; first <= last; more = more * 2 + 1) {
      const most = Math.min(last, first + more)
      const layers = layersOf(most)
      const lengths: number[] = []
      for (let length = first; length <= most; length++) {
        if (lengths[0] !== undefined && length > lengths[0] + room) break
        if (includes(layers[length], 0)) lengths.push(length)
      }
      if (lengths.length > 0 || most === last) return { lengths, layers }
    }
    return { lengths: [], layers: [] }
  }
  return {
    text({ shortest, longest, room, luck }) {
      // No end can be reached.
      if (least === Number.POSITIVE_INFINITY) return undefined
      const { lengths, layers } = lengthsFrom(Math.max(shortest, least), longest, room)
      const length = lengths[Math.floor(luck('length') * lengths.length)]
      if (length === undefined) return undefined
      let state = 0
      let text = ''
      for (let left = length; left > 0; left--) {
        const out = (edges[state] ?? []).filter(({ to }) => includes(layers[left - 1], to))
        const edge = out.length > 1 ? out[Math.floor(luck(`edge ${left}`) * out.length)] : out[0]
        if (!edge) return undefined
        const { characters } = edge
        text += String.fromCodePoint(characterOf(characters, characters.size > 1 ? luck(`character ${left}`) : 0))
        state = edge.to
      }
      return text
    },
  }
}

function characterOf({ ranges, size }: CharSet, luck: number): number {
  let index = Math.floor(luck * size)
  for (const { min, max } of ranges) {
    if (index <= max - min) return min + index
    index -= max - min + 1
  }
  return ranges[0]?.min ?? 0
}
