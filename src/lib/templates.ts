// The engines by which templates are filled in: plain braces, mustache and jinja.
import Mustache from 'mustache'

/** What values a template is filled with, and how. */
export interface Templating {
  engine: 'text' | 'jinja' | 'mustache'
  values: Record<string, unknown>
}

/** What makes a text of a template; it throws what is wrong with one. */
export async function rendererOf({ engine, values }: Templating): Promise<(template: string) => string> {
  switch (engine) {
    case 'text':
      return (template) => fillText(template, values)
    case 'mustache':
      return (template) => writer.render(template, values, {}, { escape: asText })
    case 'jinja': {
      const { Template } = await import('@huggingface/jinja')
      return (template) => new Template(template).render(values)
    }
    default:
      return engine satisfies never
  }
}

/** A text with each `{{name}}` or `{{path.to.it}}` that is known replaced by its value. */
export const fillText = (text: string, values: Record<string, unknown>): string =>
  text.replace(/\{\{\s*([\w.-]+)\s*\}\}/g, (whole, name: string) => textValue(values, name) ?? whole)

// The templates of requests are not kept: every user message would be one.
const writer = Object.assign(new Mustache.Writer(), { templateCache: undefined })

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
