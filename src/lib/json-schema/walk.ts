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
  final: Uint8Array
}

function graphOf(automaton: NFA): Graph {
  automaton.removeUnreachable()
  const nodes = [...new Set([automaton.initial, ...automaton.nodes()])]
  const numbers = new Map(nodes.map((node, index) => [node, index]))
  const edges = nodes.map(({ out }) =>
    [...out].flatMap(([node, set]) => {
      const whole = set.intersect(WHOLE)
      const likely = LIKELY.map((some) => whole.intersect(some)).find((some) => !some.isEmpty)
      return whole.isEmpty ? [] : [{ to: numbers.get(node) ?? 0, characters: likely ?? whole }]
    }),
  )
  return { edges, final: Uint8Array.from(nodes, (node) => Number(automaton.finals.has(node))) }
}

/** Steps of work for one text: states times length. */
const MOST_STEPS = 20_000_000

export interface Wanted {
  shortest: number
  longest: number
  /** How many characters beyond the least are looked at for a length to choose. */
  room: number
  luck(purpose: string): number
}

export interface Sampler {
  /** A text, or undefined when there is none of that length. */
  text(wanted: Wanted): string | undefined
}

/** Makes texts of an automaton, which it changes. */
export function samplerOf(automaton: NFA): Sampler {
  const { edges, final } = graphOf(automaton)
  // For each length, the states from which a text of just that length leads to an end.
  const ends: Uint8Array[] = [final]
  let steps = 0
  const endsIn = (length: number): Uint8Array | undefined => {
    while (ends.length <= length) {
      const before = ends[ends.length - 1] ?? final
      steps += edges.length
      if (steps > MOST_STEPS) return undefined
      ends.push(Uint8Array.from(edges, (out) => Number(out.some(({ to }) => before[to] === 1))))
    }
    return ends[length]
  }
  return {
    text({ shortest, longest, room, luck }) {
      const lengths: number[] = []
      // Beyond the number of states an automaton repeats itself.
      const last = Math.min(longest, shortest + edges.length + room)
      for (let length = shortest; length <= last; length++) {
        const able = endsIn(length)
        if (!able) break
        if (able[0]) lengths.push(length)
        if (lengths[0] !== undefined && length >= lengths[0] + room) break
      }
      const length = lengths[Math.floor(luck('length') * lengths.length)]
      if (length === undefined) return undefined
      let state = 0
      let text = ''
      for (let left = length; left > 0; left--) {
        const able = ends[left - 1]
        const out = (edges[state] ?? []).filter(({ to }) => able?.[to])
        const edge = out[Math.floor(luck(`edge ${left}`) * out.length)]
        if (!edge) return undefined
        text += String.fromCodePoint(characterOf(edge.characters, luck(`character ${left}`)))
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
