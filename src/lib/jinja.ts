// Jinja templates within a budget: the interpreter of the library counts what it does.
import { Environment, Interpreter, parse, Template, tokenize } from '@huggingface/jinja'
import type { TemplateBudget } from './template-budget.ts'

type Evaluate = Interpreter['evaluate']
type Statement = Parameters<Evaluate>[0]

/** Values that are only looked at cost less than those that are gone through one by one. */
const LOOK = 16
const TEXT_LOOK = 256
const LONGEST_INDENT = 1000

class CountingInterpreter extends Interpreter {
  readonly #budget: TemplateBudget
  /** Expressions whose items loops go through. */
  readonly #looped = new Set<unknown>()

  constructor(env: Environment, budget: TemplateBudget) {
    super(env)
    this.#budget = budget
  }

  override evaluate(statement: Statement, env: Environment): ReturnType<Evaluate> {
    this.#budget.spend(1)
    if (statement?.type === 'For') this.#looped.add(loopedIn(statement))
    if (statement?.type === 'FilterExpression') this.#checkIndent(statement, env)
    const result = super.evaluate(statement, env)
    const { value } = result as { value: unknown }
    if (typeof value === 'string') {
      this.#budget.check(value.length)
      this.#budget.spend(value.length / TEXT_LOOK)
    } else if (Array.isArray(value) || value instanceof Map) {
      const size = Array.isArray(value) ? value.length : value.size
      this.#budget.spend(this.#looped.has(statement) ? size : size / LOOK)
    }
    return result
  }

  /** The library makes the indent before anybody can look at its length. */
  #checkIndent(statement: object, env: Environment): void {
    const { filter } = statement as { filter: { callee?: { value?: string }; args?: FilterArgument[] } }
    if (filter.callee?.value !== 'indent') return
    for (const given of filter.args ?? []) {
      const width = super.evaluate(given.type === 'KeywordArgumentExpression' ? given.value : given, env).value
      if (typeof width === 'number' && width > LONGEST_INDENT)
        throw new Error(`an indent is at most ${LONGEST_INDENT}, got ${width}`)
    }
  }
}

type FilterArgument = NonNullable<Statement> & { value?: Statement }

const loopedIn = (loop: object): unknown => {
  const { iterable } = loop as { iterable: { type: string; lhs?: unknown } }
  return iterable.type === 'SelectExpression' ? iterable.lhs : iterable
}

/** What renders jinja templates with these values; a value may have the name of a function. */
export function jinjaRenderer(values: Record<string, unknown>, budget: TemplateBudget): (template: string) => string {
  const all = { ...globalsOf(budget), ...values }
  return (template) => {
    const env = new Environment()
    for (const [name, value] of Object.entries(all)) {
      env.variables.delete(name)
      env.set(name, value)
    }
    const program = parse(tokenize(template, { lstrip_blocks: true, trim_blocks: true }))
    return String(new CountingInterpreter(env, budget).run(program).value)
  }
}

/** The functions and constants that every template has. */
const globalsOf = (budget: TemplateBudget): Record<string, unknown> => ({
  ...{ true: true, false: false, none: null, True: true, False: false, None: null },
  raise_exception(message: string) {
    throw new Error(message)
  },
  range(from: number, to?: number, step = 1) {
    if (step === 0) throw new Error('range() step must not be zero')
    const [start, stop] = to === undefined ? [0, from] : [from, to]
    const length = Math.max(0, Math.ceil((stop - start) / step)) || 0
    budget.spend(length)
    return Array.from({ length }, (_, index) => start + index * step)
  },
  strftime_now: (format: string) => new Template('{{ strftime_now(format) }}').render({ format }),
})
