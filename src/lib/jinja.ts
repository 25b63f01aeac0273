// Jinja templates with a budget. The interpreter of the library counts its steps, and work that multiplies is checked
// before it is done. Anything that formats values is charged for the length in advance; each value is evaluated once.
import { Environment, Interpreter, parse, Template, tokenize } from '@huggingface/jinja'
import type { TemplateBudget } from './template-budget.ts'

type Evaluate = Interpreter['evaluate']
type Statement = Parameters<Evaluate>[0]
type Value = ReturnType<Evaluate>

/** A node of the library's syntax tree. */
interface Node {
  readonly type: string
  readonly [field: string]: unknown
}

/** Cost of a value that is only inspected; less than that of one that a loop visits. */
const LOOK = 16
/** Steps of an item of a loop: the library makes two scopes and ten values for it, some kilobytes. */
const ITEM_STEPS = 4
/** Characters that one step inspects or writes. */
const TEXT_LOOK = 256
/** Character pairs that one step compares in a search. */
const SEARCH = 4096
/** Steps for loading the names of months. */
const DATE_STEPS = 400
const MAX_INDENT_LENGTH = 1000

/** Stands for a value that was already evaluated. */
class Evaluated {
  readonly type = 'Evaluated'
  readonly value: Value
  constructor(value: Value) {
    this.value = value
  }
}

const LITERALS = new Set(['StringLiteral', 'IntegerLiteral', 'FloatLiteral'])
/** The node with its value known. Literals stay, since some filters require them. */
const evaluated = (node: Node, value: Value): unknown => (LITERALS.has(node.type) ? node : new Evaluated(value))

/** Minimum length of a value as text, the number of values in it, and its depth. One value may be in it many times. */
interface Shape {
  length: number
  values: number
  depth: number
  /** Whether nothing in it can change. */
  fixed: boolean
}

/** Arguments of a filter or a method: by position, by name, and as syntax nodes. */
interface PassedArguments {
  args: readonly (Value | undefined)[]
  named: ReadonlyMap<string, Value>
  nodes: readonly unknown[]
}

const isText = (value: Value | undefined): value is Value & { value: string } => value?.type === 'StringValue'
const isNumber = (value: Value | undefined): value is Value & { value: number } => value?.type === 'IntegerValue'
const textOf = (value: Value | undefined): string => (isText(value) ? value.value : '')
const numberOf = (value: Value | number | undefined): number =>
  typeof value === 'number' ? value : isNumber(value) ? value.value : 0
const isList = (value: Value): value is Value & { value: Value[] } => Array.isArray(value.value)
const isMap = (value: Value): value is Value & { value: Map<string, Value> } => (value.value as unknown) instanceof Map
const isComposite = (value: Value): boolean => isList(value) || isMap(value)
const sizeOf = (value: Value): number => (isList(value) ? value.value.length : isMap(value) ? value.value.size : 0)

/** Number of occurrences of a text in another one, without overlap. */
function occurrences(text: string, searched: string): number {
  if (searched === '') return text.length + 1
  let count = 0
  for (let at = text.indexOf(searched); at >= 0; at = text.indexOf(searched, at + searched.length)) count++
  return count
}

class CountingInterpreter extends Interpreter {
  readonly #budget: TemplateBudget
  /** Expressions whose items a loop visits. */
  readonly #looped = new Set<unknown>()
  readonly #shapes = new WeakMap<object, Shape>()
  /** Methods of texts, with the texts that they belong to. */
  readonly #methods = new WeakMap<Value, { name: string; of: Value }>()

  constructor(env: Environment, budget: TemplateBudget) {
    super(env)
    this.#budget = budget
  }

  override evaluate(statement: Statement, env: Environment): Value {
    if ((statement as unknown) instanceof Evaluated) return (statement as unknown as Evaluated).value
    this.#budget.spend(1)
    if (!statement) return super.evaluate(statement, env)
    const node = statement as unknown as Node
    if (node.type === 'For') this.#looped.add(loopedIn(node))
    const result = this.#result(node, env)
    const { value } = result as { value: unknown }
    if (typeof value === 'string') {
      this.#budget.check(value.length)
      this.#budget.spend(value.length / TEXT_LOOK)
    } else if (isComposite(result)) {
      const size = sizeOf(result)
      this.#budget.spend(this.#looped.has(statement) ? size * ITEM_STEPS : size / LOOK)
      // The content of a namespace changes.
      if (result.type !== 'NamespaceValue') this.#budget.check(this.#shapeOf(result).length)
    }
    return result
  }

  #value(node: unknown, env: Environment): Value {
    return this.evaluate(node as Statement, env)
  }

  #super(node: object, env: Environment): Value {
    return super.evaluate(node as Statement, env)
  }

  /** The result of a node. Its operands are evaluated first, and checked. */
  #result(node: Node, env: Environment): Value {
    switch (node.type) {
      case 'Output':
        return this.#output(node, env)
      case 'FilterExpression':
        return this.#filtered(node, this.#value(node.operand, env), env)
      case 'FilterStatement':
        return this.#filtered(node, this.#super({ type: 'Program', body: node.body }, env), env)
      case 'BinaryExpression':
        return this.#super(this.#binary(node, env), env)
      case 'MemberExpression':
        return this.#member(node, env)
      case 'CallExpression':
        return this.#super(this.#call(node, env), env)
      case 'CallStatement':
        return this.#super({ ...node, call: this.#call(node.call as Node, env) }, env)
      default:
        return this.#super(node, env)
    }
  }

  /** A value that is written in place. */
  #output({ expression }: Node, env: Environment): Value {
    const value = this.#value(expression, env)
    if (isComposite(value)) this.#writeValue(value)
    return value
  }

  /** Charges for a text of so many characters, made of so many values. */
  #write(length: number, values = 1): void {
    this.#budget.check(length)
    this.#budget.spend(values + length / TEXT_LOOK)
  }

  #writeValue(value: Value): void {
    const { length, values } = this.#shapeOf(value)
    this.#write(length, values)
  }

  #search(text: string, searched: string): void {
    this.#budget.spend((text.length * searched.length) / SEARCH)
  }

  #filtered({ filter }: Node, operand: Value, env: Environment): Value {
    const { callee, args, ...rest } = filter as Node & { callee?: Node; args?: Node[] }
    const passed = this.#passedArguments(args ?? [], env)
    this.#checkWork(String((callee ?? rest).value), operand, passed)
    const applied = callee ? { ...rest, callee, args: passed.nodes } : filter
    return this.#super({ type: 'FilterExpression', operand: new Evaluated(operand), filter: applied }, env)
  }

  /** Arguments by position and name, with their syntax nodes. */
  #passedArguments(nodes: readonly Node[], env: Environment): PassedArguments {
    const args: Value[] = []
    const named = new Map<string, Value>()
    const evaluatedArgs = nodes.map((node) => {
      const field = INNER[node.type]
      const inner = field === undefined ? node : (node[field] as Node)
      const value = this.#value(inner, env)
      if (node.type === 'KeywordArgumentExpression') named.set(String((node.key as Node).value), value)
      else if (node.type === 'SpreadExpression' && isList(value)) for (const one of value.value) args.push(one)
      else if (node.type === 'KeywordSpreadExpression' && isMap(value))
        for (const [name, one] of value.value) named.set(name, one)
      else args.push(value)
      return field === undefined ? evaluated(node, value) : { ...node, [field]: evaluated(inner, value) }
    })
    return { args, named, nodes: evaluatedArgs }
  }

  #binary(node: Node, env: Environment): Node {
    const operator = String((node.operator as Node).value)
    if (!OPERATORS.has(operator)) return node
    const leftOperand = this.#value(node.left, env)
    const right = this.#value(node.right, env)
    if (isText(leftOperand) && isText(right)) {
      if (operator === '+' || operator === '~') this.#budget.check(leftOperand.value.length + right.value.length)
      else if (operator.endsWith('in')) this.#search(right.value, leftOperand.value)
    } else if (operator.endsWith('in')) {
      // Searched among the items, which costs as much as they do.
    } else if (operator === '~' || !(isComposite(leftOperand) && isComposite(right))) {
      // Both are formatted as text, to be joined or compared.
      const [first, second] = [this.#shapeOf(leftOperand), this.#shapeOf(right)]
      this.#write(first.length + second.length, first.values + second.values)
    }
    return { ...node, left: new Evaluated(leftOperand), right: new Evaluated(right) }
  }

  #member(node: Node, env: Environment): Value {
    const object = this.#value(node.object, env)
    let property: unknown = node.property
    const { type, value } = node.property as Node
    // The library makes a list of the characters.
    if (isText(object) && type === 'SliceExpression') this.#budget.spend(object.value.length / LOOK)
    let name = String(value)
    if (node.computed === true && type !== 'SliceExpression') {
      const key = this.#value(property, env)
      name = textOf(key)
      property = new Evaluated(key)
    }
    const found = this.#super({ ...node, object: new Evaluated(object), property }, env)
    if (found.type === 'FunctionValue' && isText(object)) this.#methods.set(found, { name, of: object })
    return found
  }

  #call(node: Node, env: Environment): Node {
    const called = this.#value(node.callee, env)
    const method = this.#methods.get(called)
    if (!method) return { ...node, callee: new Evaluated(called) }
    const passed = this.#passedArguments(node.args as Node[], env)
    this.#checkWork(method.name, method.of, passed)
    return { ...node, callee: new Evaluated(called), args: passed.nodes }
  }

  /** Charges for the result of a filter or method with these arguments before it is made. */
  #checkWork(name: string, operand: Value, { args, named }: PassedArguments): void {
    const budget = this.#budget
    const text = textOf(operand)
    const [first, second, third] = args
    switch (name) {
      case 'tojson': {
        const indent = numberOf(named.get('indent'))
        if (indent > MAX_INDENT_LENGTH) throw new Error(`an indent is at most ${MAX_INDENT_LENGTH}, got ${indent}`)
        const { length, values, depth } = this.#shapeOf(operand)
        const separators = named.get('separators')
        const between = separators ? this.#shapeOf(separators).length : 0
        this.#write(length + values * (indent * (depth + 1) + between), values)
        return
      }
      case 'string':
        this.#writeValue(operand)
        return
      case 'join': {
        const { length, values } = this.#shapeOf(operand)
        const items = isText(operand) ? text.length : sizeOf(operand)
        budget.spend(items / 4)
        this.#write(length + items * textOf(first ?? named.get('separator')).length, values)
        return
      }
      case 'indent': {
        const width = numberOf(first ?? named.get('width') ?? DEFAULT_WIDTH)
        if (width > MAX_INDENT_LENGTH) throw new Error(`an indent is at most ${MAX_INDENT_LENGTH}, got ${width}`)
        this.#write(text.length + occurrences(text, '\n') * width)
        return
      }
      case 'replace': {
        const [old, by] = [textOf(first), textOf(second)]
        this.#search(text, old)
        const count = third ?? named.get('count')
        const most = isNumber(count) && count.value >= 0 ? count.value : Number.POSITIVE_INFINITY
        const found = occurrences(text, old)
        budget.spend(found / LOOK)
        this.#write(text.length + Math.min(found, most) * Math.max(0, by.length - old.length))
        return
      }
      case 'split':
        this.#search(text, textOf(first))
        // Each part is a value of its own.
        budget.spend(isText(first) ? occurrences(text, first.value) / 4 : text.length / LOOK)
        return
      case 'sort':
      case 'dictsort':
      case 'map': {
        const path = textOf(third ?? named.get('attribute')).split('.').length
        const size = sizeOf(operand)
        budget.spend((size * Math.ceil(Math.log2(size + 2)) * path) / LOOK)
      }
    }
  }

  /** The shape of a value. One that contains itself is infinitely long. */
  #shapeOf(value: Value, outer: readonly Value[] = []): Shape {
    if (isText(value)) return { length: value.value.length + 2, values: 1, depth: 0, fixed: true }
    if (!isComposite(value)) return SCALAR
    const cached = this.#shapes.get(value)
    if (cached) return cached
    if (outer.includes(value)) return { ...SCALAR, length: Number.POSITIVE_INFINITY, fixed: false }
    const shape: Shape = { length: 2, values: 1, depth: 0, fixed: value.type !== 'NamespaceValue' }
    const inside = [...outer, value]
    const add = (inner: Value, name = 0) => {
      this.#budget.spend(1 / LOOK)
      const { length, values, depth, fixed } = this.#shapeOf(inner, inside)
      shape.length += length + name + 2
      shape.values += values
      shape.depth = Math.max(shape.depth, depth + 1)
      shape.fixed &&= fixed
    }
    if (isList(value)) for (const inner of value.value) add(inner)
    else if (isMap(value)) for (const [name, inner] of value.value) add(inner, name.length + 4)
    if (shape.fixed) this.#shapes.set(value, shape)
    return shape
  }
}

const SCALAR: Shape = { length: 24, values: 1, depth: 0, fixed: true }
const OPERATORS = new Set(['+', '~', '==', '!=', 'in', 'not in'])
/** Keys under which arguments contain their values. */
const INNER: Record<string, string> = {
  KeywordArgumentExpression: 'value',
  SpreadExpression: 'argument',
  KeywordSpreadExpression: 'argument',
}
const DEFAULT_WIDTH = 4

const loopedIn = ({ iterable }: Node): unknown => {
  const { type, lhs } = iterable as Node
  return type === 'SelectExpression' ? lhs : iterable
}

const BODIES = ['body', 'defaultBlock', 'alternate']
/** Statements that write no value. */
const SILENT = new Set(['Set', 'Macro', 'Break', 'Continue', 'Comment', 'StringLiteral'])

/** Marks the expressions of a tree that are written in place: the interpreter formats their results. */
function markOutputs(node: Node): void {
  for (const field of Object.values(node)) {
    if (field instanceof Map) for (const pair of field) for (const one of pair) markWithin(one)
    else for (const one of Array.isArray(field) ? field : [field]) markWithin(one)
  }
  for (const name of BODIES) {
    const body = node[name]
    if (Array.isArray(body)) (node as Record<string, unknown>)[name] = body.map(markedOutput)
  }
}
const markWithin = (value: unknown) => {
  if (typeof value === 'object' && value !== null && 'type' in value) markOutputs(value as Node)
}
/** It has the class of the statement, which the library checks. */
const markedOutput = (statement: Node): Node =>
  SILENT.has(statement.type)
    ? statement
    : Object.assign(Object.create(Object.getPrototypeOf(statement)), { type: 'Output', expression: statement })

function parsed(template: string): ReturnType<typeof parse> {
  const tokens = tokenize(template, { lstrip_blocks: true, trim_blocks: true })
  try {
    return parse(tokens)
  } catch (error) {
    // The library reads beyond the last token there.
    if (error instanceof TypeError)
      throw new SyntaxError("it ends within a statement or before its 'end', such as 'endif'")
    throw error
  }
}

/** A renderer of Jinja templates with these values. A value may have the name of a function. */
export function jinjaRenderer(values: Record<string, unknown>, budget: TemplateBudget): (template: string) => string {
  const all = { ...globalsOf(budget), ...values }
  return (template) => {
    const env = new Environment()
    for (const [name, value] of Object.entries(all)) {
      env.variables.delete(name)
      env.set(name, value)
    }
    const program = parsed(template)
    markOutputs(program as unknown as Node)
    return String(new CountingInterpreter(env, budget).run(program).value)
  }
}

/** The functions and constants that every template has. */
const globalsOf = (budget: TemplateBudget): Record<string, unknown> => ({
  ...{ true: true, false: false, none: null, True: true, False: false, None: null },
  raise_exception(message: unknown) {
    throw new Error(typeof message === 'string' ? message : 'raise_exception() was called')
  },
  range(from: unknown, to?: unknown, step: unknown = 1) {
    const [start, stop] = to === undefined ? [0, from] : [from, to]
    if (typeof start !== 'number' || typeof stop !== 'number' || typeof step !== 'number')
      throw new Error('range() takes numbers')
    if (step === 0) throw new Error('range() step must not be zero')
    const length = Math.max(0, Math.ceil((stop - start) / step)) || 0
    budget.spend(length)
    return Array.from({ length }, (_, index) => start + index * step)
  },
  strftime_now(format: unknown) {
    if (typeof format !== 'string') throw new Error('strftime_now() takes a text')
    budget.spend(DATE_STEPS + format.length)
    return new Template('{{ strftime_now(format) }}').render({ format })
  },
})
