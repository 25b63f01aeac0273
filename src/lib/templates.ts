// The template engines: plain braces, Mustache and Jinja.
import Mustache from 'mustache'
import { TEMPLATE_LIMITS, type TemplateBudget, type TemplateLimits, templateBudget } from './template-budget.ts'

/** The values of a template, and its engine. */
export interface Templating {
  engine: 'text' | 'jinja' | 'mustache'
  values: Record<string, unknown>
}

/** A function that renders a template. It throws if the template is invalid or exceeds the budget. */
export async function rendererOf(
  templating: Templating,
  limits: TemplateLimits,
): Promise<(template: string) => string> {
  const budget = templateBudget(limits)
  const render = await engineOf(templating, budget)
  return (template) => {
    const text = render(template)
    budget.finish(text.length)
    return text
  }
}

/** The start of a tag of each engine. A text without one is returned as it is, however long. */
const TAGS = { mustache: /\{\{/, jinja: /\{[{%#]/ }

/** The texts of templates, or the problem of the first invalid one. */
export async function renderAll(
  templates: Iterable<string>,
  templating: Templating,
  limits: TemplateLimits,
): Promise<{ texts: string[]; problem?: Error }> {
  const render = await rendererOf(templating, limits)
  const texts: string[] = []
  try {
    for (const template of templates) texts.push(render(template))
    return { texts }
  } catch (error) {
    return { texts, problem: error as Error }
  }
}

async function engineOf({ engine, values }: Templating, budget: TemplateBudget): Promise<(template: string) => string> {
  switch (engine) {
    case 'text':
      return (template) => fillText(template, values, budget)
    case 'mustache': {
      const writer = new CountingWriter(budget)
      return (template) => {
        if (!TAGS.mustache.test(template)) return template
        budget.read(template)
        return writer.render(template, values, {}, { escape: asText })
      }
    }
    case 'jinja': {
      const { jinjaRenderer } = await import('./jinja.ts')
      const render = jinjaRenderer(values, budget)
      return (template) => {
        // Jinja drops the line end after a template.
        if (!TAGS.jinja.test(template)) return template.endsWith('\n') ? template.slice(0, -1) : template
        budget.read(template)
        return render(template)
      }
    }
    default:
      return engine satisfies never
  }
}

/**
 * A text with each known `{{name}}` or `{{path.to.it}}` replaced by its value.
 * @throws TemplateTooLong if the result is too long
 */
export function fillText(
  text: string,
  values: Record<string, unknown>,
  budget: TemplateBudget = templateBudget(TEMPLATE_LIMITS),
): string {
  const cached = new Map<string, string | undefined>()
  let length = text.length
  return text.replace(/\{\{\s*([\w.-]+)\s*\}\}/g, (whole, name: string) => {
    if (!cached.has(name)) cached.set(name, textValue(values, name))
    const value = cached.get(name)
    if (value === undefined) return whole
    length += value.length - whole.length
    budget.check(length)
    return value
  })
}

/**
 * The text of a Mustache template that is rendered repeatedly: it is parsed once.
 * @throws TemplateTooLong if it exceeds the budget
 */
export function renderKept(template: string, view: object, budget: TemplateBudget): string {
  const tokens = Mustache.parse(template) as Parameters<Mustache.Writer['renderTokens']>[0]
  const context = new Mustache.Context(view)
  const text = new CountingWriter(budget).renderTokens(tokens, context, undefined, template, { escape: String })
  budget.finish(text.length)
  return text
}

/** Characters of a template and its output that one step processes. */
const NAME_LOOK = 64
const TEXT_WRITE = 256
/** Enclosing sections that one step searches for a name. */
const DEPTH_LOOK = 16

/** Renders within a budget: nested sections iterate over nested lists. */
class CountingWriter extends Mustache.Writer {
  // The templates of requests are not cached: every user message would be one.
  readonly templateCache = undefined
  readonly #budget: TemplateBudget
  #depth = 0

  constructor(budget: TemplateBudget) {
    super()
    this.#budget = budget
  }

  override renderTokens(...args: Parameters<Mustache.Writer['renderTokens']>): string {
    const [tokens] = args
    // A dotted name is looked up part by part.
    const [first, last] = [tokens[0], tokens.at(-1)]
    const span = first && last ? Number(last[3]) - Number(first[2]) : 0
    this.#depth++
    this.#budget.spend(1 + tokens.length * (1 + this.#depth / DEPTH_LOOK) + span / NAME_LOOK)
    const text = super.renderTokens(...args)
    this.#depth--
    this.#budget.check(text.length)
    this.#budget.spend(text.length / TEXT_WRITE)
    return text
  }
}

const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** The value of `name`, or of the path `a.b`, as text; undefined if there is none, so that the braces stay. */
function textValue(values: Record<string, unknown>, name: string): string | undefined {
  const found = ownValue(values, name) ?? name.split('.').reduce(ownValue, values as unknown)
  return found === undefined ? undefined : asText(found)
}

/** An own property of an object: `constructor` is no variable. */
const ownValue = (object: unknown, name: string): unknown =>
  typeof object === 'object' && object !== null && Object.hasOwn(object, name)
    ? (object as Record<string, unknown>)[name]
    : undefined
