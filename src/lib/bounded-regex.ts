// Regular expressions of people, run in steps that are counted. The engine of the runtime takes 2^n steps for `^(a+)+$`, and
// nobody can stop it. This one remembers where it has been, so that it takes about length times size, and gives up at a limit
// where that does not help (back references, very long texts). Syntax and results are those of JavaScript's unicode mode.
import type { AST } from '@eslint-community/regexpp'
import { lazy } from './lazy.ts'

const regexpp = lazy<typeof import('@eslint-community/regexpp')>(() => require('@eslint-community/regexpp'))

/** Steps of one call, for all its expressions together. */
export const MAX_STEPS = 500_000
const MAX_INSTRUCTIONS = 20_000

/** An expression has taken more steps than there are. */
export class RegexLimit extends Error {}

/** The steps that are left. */
export interface RegexBudget {
  steps: number
}
export const regexBudget = (): RegexBudget => ({ steps: MAX_STEPS })

/** A compiled expression; `exec` gives the named groups of its first match, undefined where there is none. */
export interface BoundedRegex {
  exec(text: string, budget: RegexBudget): Record<string, string | undefined> | undefined
}

type Step =
  | { is: 'char'; code: number; back: boolean }
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

/** Whether one character is what a part of an expression means, as the runtime has it. */
function characterTest(raw: string, flags: Flags): (code: number) => boolean {
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

/** Puts a parsed expression into steps. */
class Compiler {
  readonly steps: Step[] = []
  splits = 0
  slots: number
  readonly #groups: readonly AST.CapturingGroup[]

  constructor(groups: readonly AST.CapturingGroup[]) {
    this.#groups = groups
    this.slots = 2 * groups.length
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

  alternatives(all: readonly AST.Alternative[], flags: Flags, back: boolean): void {
    const ends: Extract<Step, { is: 'jump' }>[] = []
    for (const [index, { elements }] of all.entries()) {
      const split = index < all.length - 1 ? this.#split() : undefined
      if (split) split.first = this.steps.length
      for (const element of back ? elements.toReversed() : elements) this.#element(element, flags, back)
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

  #element(element: AST.Element, flags: Flags, back: boolean): void {
    switch (element.type) {
      case 'Character':
        if (!flags.i) this.#add({ is: 'char', code: element.value, back })
        else this.#add({ is: 'test', test: characterTest(element.raw, flags), back })
        return
      case 'CharacterSet':
      case 'CharacterClass':
      case 'ExpressionCharacterClass':
        this.#add({ is: 'test', test: characterTest(element.raw, flags), back })
        return
      case 'Group':
        this.alternatives(element.alternatives, modified(flags, element.modifiers), back)
        return
      case 'CapturingGroup': {
        const slot = 2 * this.#groups.indexOf(element)
        this.#add({ is: 'save', slot: back ? slot + 1 : slot })
        this.alternatives(element.alternatives, flags, back)
        this.#add({ is: 'save', slot: back ? slot : slot + 1 })
        return
      }
      case 'Backreference': {
        const groups = [element.resolved].flat().map((group) => this.#groups.indexOf(group))
        this.#add({ is: 'again', groups, ignoreCase: flags.i, back })
        return
      }
      case 'Quantifier':
        this.#repeated(element, flags, back)
        return
      case 'Assertion':
        this.#assertion(element, flags)
    }
  }

  #assertion(element: AST.Assertion, flags: Flags): void {
    if (element.kind === 'lookahead' || element.kind === 'lookbehind') {
      const look = { is: 'look' as const, from: 0, negate: element.negate, next: 0 }
      this.#add(look)
      look.from = this.steps.length
      this.alternatives(element.alternatives, flags, element.kind === 'lookbehind')
      this.match()
      look.next = this.steps.length
      return
    }
    this.#add({ is: 'assert', holds: edge(element, flags) })
  }

  #repeated({ element, min, max, greedy }: AST.Quantifier, flags: Flags, back: boolean): void {
    const inside = this.#groups.flatMap(({ start, end }, index) =>
      start >= element.start && end <= element.end ? [index] : [],
    )
    const [first] = inside
    const once = () => {
      if (first !== undefined) this.#add({ is: 'clear', from: 2 * first, to: 2 * (first + inside.length) })
      this.#element(element, flags, back)
    }
    for (let count = 0; count < min; count++) once()
    const slot = this.slots++
    const turn = () => {
      const split = this.#split()
      const [begin, leave] = greedy ? (['first', 'second'] as const) : (['second', 'first'] as const)
      split[begin] = this.steps.length
      // A turn that takes nothing is none.
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

function modified(flags: Flags, modifiers: AST.Modifiers | null | undefined): Flags {
  const { add, remove } = modifiers ?? {}
  const set = (on: boolean, added: boolean | undefined, removed: boolean | undefined) => (on || !!added) && !removed
  return {
    i: set(flags.i, add?.ignoreCase, remove?.ignoreCase),
    m: set(flags.m, add?.multiline, remove?.multiline),
    s: set(flags.s, add?.dotAll, remove?.dotAll),
  }
}

/** Whether there is the beginning, the end or the edge of a word at a place. */
function edge(element: AST.EdgeAssertion | AST.WordBoundaryAssertion, flags: Flags) {
  if (element.kind === 'start') return (text: string, at: number) => at === 0 || (flags.m && isLineEnd(text, at - 1))
  if (element.kind === 'end')
    return (text: string, at: number) => at === text.length || (flags.m && isLineEnd(text, at))
  const negate = element.kind === 'word' && element.negate
  const word = characterTest('\\w', flags)
  const isWord = (text: string, at: number) => at >= 0 && at < text.length && word(codeAt(text, at, false))
  return (text: string, at: number) => ((at > 0 && word(codeAt(text, at, true))) !== isWord(text, at)) !== negate
}

/** The character behind a place, or before it. */
function codeAt(text: string, at: number, back: boolean): number {
  if (!back) return text.codePointAt(at) ?? 0
  const before = at > 1 ? (text.codePointAt(at - 2) ?? 0) : 0
  return before > 0xffff ? before : text.charCodeAt(at - 1)
}
const widthOf = (code: number) => (code > 0xffff ? 2 : 1)

/** Steps without which nothing is remembered: most texts need fewer. */
const FEW_STEPS = 2_000
const PAGE_BITS = 2_048
/** What a page of memory costs, in steps. */
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

  /** The choices that were met. */
  readonly pages = new Map<number, Uint32Array>()
  #taken = 0

  #spend(steps: number): void {
    this.#budget.steps -= steps
    if (this.#budget.steps < 0) throw new RegexLimit(`it takes more than ${MAX_STEPS} steps`)
  }

  /** Whether a choice was met at this place before; it is remembered. */
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

  /** Whether it matches from a step and a place on: where the groups then are is in `slots`, which are as they were when not. */
  run(from: number, start: number, slots: number[], pages: Map<number, Uint32Array>): boolean {
    const { steps } = this.#program
    const text = this.#text
    // Where to go on when it does not match: a step and a place, or a slot and what was in it as -1 - slot.
    const stack: number[] = []
    let [pc, at] = [from, start]
    const set = (slot: number, value: number) => {
      stack.push(-1 - slot, slots[slot] ?? -1)
      slots[slot] = value
    }
    for (;;) {
      this.#taken++
      this.#spend(1)
      const step = steps[pc] as Step
      let ok = true
      switch (step.is) {
        case 'match':
          return true
        case 'char':
        case 'test': {
          ok = step.back ? at > 0 : at < text.length
          if (!ok) break
          const code = codeAt(text, at, step.back)
          ok = step.is === 'char' ? code === step.code : step.test(code)
          at += step.back ? -widthOf(code) : widthOf(code)
          pc++
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
          pc++
          break
        case 'clear':
          for (let slot = step.from; slot < step.to; slot++) if (slots[slot] !== -1) set(slot, -1)
          pc++
          break
        case 'moved':
          ok = slots[step.slot] !== at
          pc++
          break
        case 'assert':
          ok = step.holds(text, at)
          pc++
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
          pc++
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

/** The characters that every match begins with, for the engine of the runtime: it finds where one may begin, in time that is linear. */
function beginning(alternatives: readonly AST.Alternative[], flags: Flags): RegExp | undefined {
  const [only] = alternatives
  if (!only || alternatives.length > 1) return undefined
  const isOne = ({ type }: AST.Element) => type === 'Character' || type === 'CharacterSet' || type === 'CharacterClass'
  const end = only.elements.findIndex((element) => !isOne(element))
  const leading = end < 0 ? only.elements : only.elements.slice(0, end)
  return leading.length === 0 ? undefined : new RegExp(leading.map(({ raw }) => raw).join(''), `${flagText(flags)}g`)
}

/**
 * Compiles an expression of the unicode mode.
 * @throws SyntaxError when it is none
 * @throws RegexLimit when its repetitions make it too large
 */
export function boundedRegex(source: string, { ignoreCase = false } = {}): BoundedRegex {
  const { RegExpParser, visitRegExpAST } = regexpp()
  const flags: Flags = { i: ignoreCase, m: false, s: false }
  // The runtime decides what an expression is.
  new RegExp(source, flagText(flags))
  const { alternatives, ...tree } = new RegExpParser().parsePattern(source, undefined, undefined, { unicode: true })
  const groups: AST.CapturingGroup[] = []
  let refers = false
  visitRegExpAST({ ...tree, alternatives } as AST.Pattern, {
    onCapturingGroupEnter: (group) => void groups.push(group),
    onBackreferenceEnter() {
      refers = true
    },
  })
  const program = new Compiler(groups)
  program.alternatives(alternatives, flags, false)
  program.match()
  const begin = beginning(alternatives, flags)
  const [first] = alternatives[0]?.elements ?? []
  const anchored = alternatives.length === 1 && first?.type === 'Assertion' && first.kind === 'start'

  return {
    exec(text, budget) {
      const search = new Search(program, text, budget, !refers)
      const slots: number[] = new Array(program.slots).fill(-1)
      for (let at = 0; at <= text.length; at += widthOf(codeAt(text, at, false))) {
        if (begin) {
          begin.lastIndex = at
          const found = begin.exec(text)
          if (!found) return undefined
          at = found.index
        }
        if (search.run(0, at, slots, search.pages)) return namedGroups(groups, slots, text)
        if (anchored) return undefined
      }
      return undefined
    },
  }
}

function namedGroups(groups: readonly AST.CapturingGroup[], slots: readonly number[], text: string) {
  const named: Record<string, string | undefined> = {}
  for (const [index, { name }] of groups.entries()) {
    if (name === null) continue
    const [from = -1, to = -1] = slots.slice(2 * index, 2 * index + 2)
    const value = from >= 0 && to >= 0 ? text.slice(from, to) : undefined
    // Alternatives may give one name to several groups.
    if (value !== undefined || !(name in named)) named[name] = value
  }
  return named
}
