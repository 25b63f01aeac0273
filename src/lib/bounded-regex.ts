// Regular expressions from users, run with a limit on steps. The engine of the runtime takes 2^n steps for `^(a+)+$`
// and cannot be interrupted. This one memoizes visited states, so that it takes about length times size, and stops at a
// limit where that does not help (back references, very long texts). Syntax and results are those of JavaScript's
// unicode mode.
import { parseRegex, type RegexAlternatives, type RegexNode } from './regex-syntax.ts'

/** Steps that all expressions of one call may take together. */
export const MAX_STEPS = 500_000
const MAX_INSTRUCTIONS = 20_000

/** An expression exceeded the limit of steps. */
export class RegexLimit extends Error {}

/** The remaining steps. */
export interface RegexBudget {
  steps: number
}
/** A new budget of `MAX_STEPS` steps. */
export const regexBudget = (): RegexBudget => ({ steps: MAX_STEPS })

type Step =
  | { is: 'test'; test(code: number): boolean; back: boolean }
  | { is: 'split'; first: number; second: number; number: number }
  | { is: 'jump'; to: number }
  | { is: 'save'; slot: number }
  | { is: 'clear'; from: number; to: number }
  | { is: 'moved'; slot: number }
  | { is: 'assert'; holds(text: string, at: number): boolean }
  | { is: 'look'; from: number; negate: boolean; next: number }
  | { is: 'again'; groups: readonly number[]; ignoreCase: boolean; back: boolean }
  | { is: 'match' }

interface Flags {
  i: boolean
  m: boolean
  s: boolean
}
const flagText = ({ i, m, s }: Flags) => `u${i ? 'i' : ''}${m ? 'm' : ''}${s ? 's' : ''}`

/** A test whether one character matches a part of an expression, by the rules of the runtime; `plain` is its code point. */
function characterTest(raw: string, flags: Flags, plain?: number): (code: number) => boolean {
  if (plain !== undefined && !flags.i) return (code) => code === plain
  const regex = new RegExp(`^(?:${raw})$`, flagText({ ...flags, m: false }))
  const ascii = new Int8Array(128)
  return (code) => {
    if (code >= ascii.length) return regex.test(String.fromCodePoint(code))
    ascii[code] ||= regex.test(String.fromCharCode(code)) ? 1 : -1
    return ascii[code] === 1
  }
}

const LINE_END = /[\n\r\u2028\u2029]/
const isLineEnd = (text: string, at: number) => LINE_END.test(text[at] ?? '')

/** Compiles a parsed expression into instructions. */
class Compiler {
  readonly steps: Step[] = []
  splits = 0
  slots: number

  constructor(groups: number) {
    this.slots = 2 * groups
  }

  #add(step: Step): number {
    if (this.steps.length >= MAX_INSTRUCTIONS)
      throw new RegexLimit(`its repetitions make more than ${MAX_INSTRUCTIONS} steps`)
    return this.steps.push(step) - 1
  }

  #split(): Extract<Step, { is: 'split' }> {
    const step = { is: 'split' as const, first: 0, second: 0, number: this.splits++ }
    this.#add(step)
    return step
  }

  alternatives(all: RegexAlternatives, flags: Flags, back: boolean): void {
    const ends: Extract<Step, { is: 'jump' }>[] = []
    for (const [index, nodes] of all.entries()) {
      const split = index < all.length - 1 ? this.#split() : undefined
      if (split) split.first = this.steps.length
      for (const node of back ? nodes.toReversed() : nodes) this.#node(node, flags, back)
      if (!split) continue
      const end = { is: 'jump' as const, to: 0 }
      this.#add(end)
      ends.push(end)
      split.second = this.steps.length
    }
    for (const end of ends) end.to = this.steps.length
  }

  match(): void {
    this.#add({ is: 'match' })
  }

  #node(node: RegexNode, flags: Flags, back: boolean): void {
    switch (node.type) {
      case 'character':
        this.#add({ is: 'test', test: characterTest(node.raw, flags, node.code), back })
        return
      case 'group': {
        const { capture, alternatives } = node
        if (capture !== undefined) this.#add({ is: 'save', slot: 2 * capture + (back ? 1 : 0) })
        this.alternatives(alternatives, modified(flags, node.flags), back)
        if (capture !== undefined) this.#add({ is: 'save', slot: 2 * capture + (back ? 0 : 1) })
        return
      }
      case 'reference':
        this.#add({ is: 'again', groups: node.captures, ignoreCase: flags.i, back })
        return
      case 'repeat':
        this.#repeated(node, flags, back)
        return
      case 'edge':
        this.#add({ is: 'assert', holds: edge(node.kind, flags) })
        return
      case 'look':
        this.#look(node, flags)
    }
  }

  #look({ negate, behind, alternatives }: Extract<RegexNode, { type: 'look' }>, flags: Flags): void {
    const look = { is: 'look' as const, from: 0, negate, next: 0 }
    this.#add(look)
    look.from = this.steps.length
    this.alternatives(alternatives, flags, behind)
    this.match()
    look.next = this.steps.length
  }

  #repeated({ node, min, max, greedy, captures }: Extract<RegexNode, { type: 'repeat' }>, flags: Flags, back: boolean) {
    const [from, to] = captures
    const once = () => {
      if (to > from) this.#add({ is: 'clear', from: 2 * from, to: 2 * to })
      this.#node(node, flags, back)
    }
    for (let count = 0; count < min; count++) {
      const before = this.steps.length
      once()
      // A part without instructions has none however often it is repeated.
      if (this.steps.length === before) break
    }
    const slot = this.slots++
    const turn = () => {
      const split = this.#split()
      const [begin, leave] = greedy ? (['first', 'second'] as const) : (['second', 'first'] as const)
      split[begin] = this.steps.length
      // An iteration that consumes nothing does not count.
      this.#add({ is: 'save', slot })
      once()
      this.#add({ is: 'moved', slot })
      return { split, leave }
    }
    if (max === Number.POSITIVE_INFINITY) {
      const head = this.steps.length
      const { split, leave } = turn()
      this.#add({ is: 'jump', to: head })
      split[leave] = this.steps.length
      return
    }
    const turns = Array.from({ length: max - min }, turn)
    for (const { split, leave } of turns) split[leave] = this.steps.length
  }
}

/** The flags inside a group that sets or clears some of them, such as `i-s`. */
function modified(flags: Flags, switched: string): Flags {
  const [on = '', off = ''] = switched.split('-')
  const set = (flag: 'i' | 'm' | 's') => (flags[flag] || on.includes(flag)) && !off.includes(flag)
  return { i: set('i'), m: set('m'), s: set('s') }
}

/** Whether an assertion holds at a position: the start or end of the text, or a word boundary. */
function edge(kind: Extract<RegexNode, { type: 'edge' }>['kind'], flags: Flags) {
  if (kind === '^') return (text: string, at: number) => at === 0 || (flags.m && isLineEnd(text, at - 1))
  if (kind === '$') return (text: string, at: number) => at === text.length || (flags.m && isLineEnd(text, at))
  const negate = kind === '\\B'
  const word = characterTest('\\w', flags)
  const isWord = (text: string, at: number) => at >= 0 && at < text.length && word(codeAt(text, at, false))
  return (text: string, at: number) => ((at > 0 && word(codeAt(text, at, true))) !== isWord(text, at)) !== negate
}

/** The character after a position, or before it. */
function codeAt(text: string, at: number, back: boolean): number {
  if (!back) return text.codePointAt(at) ?? 0
  const before = at > 1 ? (text.codePointAt(at - 2) ?? 0) : 0
  return before > 0xffff ? before : text.charCodeAt(at - 1)
}
const widthOf = (code: number) => (code > 0xffff ? 2 : 1)

/** Steps below which nothing is memoized: most texts need fewer. */
const FEW_STEPS = 2_000
const PAGE_BITS = 2_048
/** The cost of a page of memory, in steps. */
const PAGE_STEPS = 64

/** One search in one text. */
class Search {
  readonly #program: Compiler
  readonly #text: string
  readonly #budget: RegexBudget
  readonly #remembers: boolean

  constructor(program: Compiler, text: string, budget: RegexBudget, remembers: boolean) {
    this.#program = program
    this.#text = text
    this.#budget = budget
    this.#remembers = remembers
  }

  /** The states that were visited. */
  readonly pages = new Map<number, Uint32Array>()
  #taken = 0

  #spend(steps: number): void {
    this.#budget.steps -= steps
    if (this.#budget.steps < 0) throw new RegexLimit(`it takes more than ${MAX_STEPS} steps`)
  }

  /** Whether a state was visited at this position before. Marks it as visited. */
  #met(pages: Map<number, Uint32Array>, number: number, at: number): boolean {
    const bit = at * this.#program.splits + number
    const key = Math.floor(bit / PAGE_BITS)
    let page = pages.get(key)
    if (!page) {
      this.#spend(PAGE_STEPS)
      page = new Uint32Array(PAGE_BITS / 32)
      pages.set(key, page)
    }
    const [word, mask] = [(bit % PAGE_BITS) >> 5, 1 << (bit & 31)]
    if ((page[word] ?? 0) & mask) return true
    page[word] = (page[word] ?? 0) | mask
    return false
  }

  /**
   * Whether it matches from an instruction and a position. If so, `slots` has the positions of the groups; otherwise it
   * is unchanged.
   */
  run(from: number, start: number, slots: number[], pages: Map<number, Uint32Array>): boolean {
    const { steps } = this.#program
    const text = this.#text
    // Where to continue after a failure: an instruction and a position, or a slot (as -1 - slot) and its former value.
    const stack: number[] = []
    let [pc, at] = [from, start]
    const set = (slot: number, value: number) => {
      stack.push(-1 - slot, slots[slot] ?? -1)
      slots[slot] = value
    }
    for (;;) {
      this.#taken++
      this.#spend(1)
      const step = steps[pc++] as Step
      let ok = true
      switch (step.is) {
        case 'match':
          return true
        case 'test': {
          ok = step.back ? at > 0 : at < text.length
          if (!ok) break
          const code = codeAt(text, at, step.back)
          ok = step.test(code)
          at += step.back ? -widthOf(code) : widthOf(code)
          break
        }
        case 'split':
          if (this.#remembers && this.#taken > FEW_STEPS && this.#met(pages, step.number, at)) ok = false
          else {
            stack.push(step.second, at)
            pc = step.first
          }
          break
        case 'jump':
          pc = step.to
          break
        case 'save':
          set(step.slot, at)
          break
        case 'clear':
          for (let slot = step.from; slot < step.to; slot++) if (slots[slot] !== -1) set(slot, -1)
          break
        case 'moved':
          ok = slots[step.slot] !== at
          break
        case 'assert':
          ok = step.holds(text, at)
          break
        case 'look': {
          const inner = [...slots]
          ok = this.run(step.from, at, inner, new Map()) !== step.negate
          if (ok && !step.negate)
            for (const [slot, value] of inner.entries()) if (value !== slots[slot]) set(slot, value)
          pc = step.next
          break
        }
        case 'again': {
          const group = step.groups.find((one) => (slots[2 * one] ?? -1) >= 0 && (slots[2 * one + 1] ?? -1) >= 0)
          const same = group === undefined ? '' : text.slice(slots[2 * group], slots[2 * group + 1])
          this.#spend(same.length >> 4)
          const found = step.back ? text.slice(Math.max(0, at - same.length), at) : text.slice(at, at + same.length)
          ok = found === same || (step.ignoreCase && found.toLowerCase() === same.toLowerCase())
          at += step.back ? -same.length : same.length
        }
      }
      while (!ok) {
        const value = stack.pop()
        const key = stack.pop()
        if (value === undefined || key === undefined) return false
        if (key < 0) slots[-1 - key] = value
        else {
          pc = key
          at = value
          ok = true
        }
      }
    }
  }
}

/**
 * The characters that every match starts with, for the engine of the runtime, which finds candidates in linear time.
 */
function beginning(alternatives: RegexAlternatives, flags: Flags): RegExp | undefined {
  const [only, ...others] = alternatives
  if (!only || others.length > 0) return undefined
  let leading = ''
  for (const node of only) {
    if (node.type !== 'character') break
    leading += node.raw
  }
  return leading === '' ? undefined : new RegExp(leading, `${flagText(flags)}g`)
}

/**
 * Compiles an expression in unicode mode.
 * @throws SyntaxError if the runtime rejects it
 * @throws RegexLimit if its repetitions make it too large
 */
export function boundedRegex(source: string, { ignoreCase = false } = {}) {
  const flags: Flags = { i: ignoreCase, m: false, s: false }
  const { alternatives, names } = parseRegex(source)
  const program = new Compiler(names.length)
  program.alternatives(alternatives, flags, false)
  program.match()
  const remembers = !program.steps.some(({ is }) => is === 'again')
  const begin = beginning(alternatives, flags)
  const [first] = alternatives[0] ?? []
  const anchored = alternatives.length === 1 && first?.type === 'edge' && first.kind === '^'

  return {
    /** The named groups of the first match; undefined if there is none. */
    exec(text: string, budget: RegexBudget): Record<string, string | undefined> | undefined {
      const search = new Search(program, text, budget, remembers)
      const slots: number[] = new Array(program.slots).fill(-1)
      for (let at = 0; at <= text.length; at += widthOf(codeAt(text, at, false))) {
        if (begin) {
          begin.lastIndex = at
          const found = begin.exec(text)
          if (!found) return undefined
          at = found.index
        }
        if (search.run(0, at, slots, search.pages)) return namedGroups(names, slots, text)
        if (anchored) return undefined
      }
      return undefined
    },
  }
}

/** A compiled expression. */
export type BoundedRegex = ReturnType<typeof boundedRegex>

function namedGroups(names: readonly (string | undefined)[], slots: readonly number[], text: string) {
  const named: Record<string, string | undefined> = {}
  for (const [index, name] of names.entries()) {
    if (name === undefined) continue
    const [from = -1, to = -1] = slots.slice(2 * index, 2 * index + 2)
    const value = from >= 0 && to >= 0 ? text.slice(from, to) : undefined
    // Alternatives may use the same name for several groups.
    if (value !== undefined || !(name in named)) named[name] = value
  }
  return named
}
