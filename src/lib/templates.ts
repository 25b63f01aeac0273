// The engines by which templates are filled in: plain braces, mustache and jinja.
import Mustache from 'mustache'
import { type TemplateBudget, type TemplateLimits, templateBudget } from './template-budget.ts'

/** What values a template is filled with, and how. */
export interface Templating {
  engine: 'text' | 'jinja' | 'mustache'
  values: Record<string, unknown>
}

/** What makes a text of a template; it throws what is wrong with one, and when all together take too much. */
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

/** Texts of templates, up to the first that is broken: what is wrong with that. */
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
      return (template) => fillText(template, values)
    case 'mustache': {
      const writer = new CountingWriter(budget)
      return (template) => writer.render(template, values, {}, { escape: asText })
    }
    case 'jinja': {
      const { jinjaRenderer } = await import('./jinja.ts')
      return jinjaRenderer(values, budget)
    }
    default:
      return engine satisfies never
  }
}

/** A text with each `{{name}}` or `{{path.to.it}}` that is known replaced by its value. */
export const fillText = (text: string, values: Record<string, unknown>): string =>
  text.replace(/\{\{\s*([\w.-]+)\s*\}\}/g, (whole, name: string) => textValue(values, name) ?? whole)

/** Renders within a budget: sections in sections go through lists of lists. */
class CountingWriter extends Mustache.Writer {
  // The templates of requests are not kept: every user message would be one.
  readonly templateCache = undefined
  readonly #budget: TemplateBudget

  constructor(budget: TemplateBudget) {
    super()
    this.#budget = budget
  }

  override renderTokens(...given: Parameters<Mustache.Writer['renderTokens']>): string {
    this.#budget.spend(1 + given[0].length)
    const text = super.renderTokens(...given)
    this.#budget.check(text.length)
    return text
  }
}

const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** The value of `name`, or of the path `a.b`, as text; undefined where there is none, so that the braces stay. */
function textValue(values: Record<string, unknown>, name: string): string | undefined {
  const found = ownValue(values, name) ?? name.split('.').reduce(ownValue, values as unknown)
  return found === undefined ? undefined : asText(found)
}

/** The property that an object has of its own: `constructor` is no variable. */
const ownValue = (object: unknown, name: string): unknown =>
  typeof object === 'object' && object !== null && Object.hasOwn(object, name)
    ? (object as Record<string, unknown>)[name]
    : undefined
