// Prompt variables: `variables` and the older `svc.inputs`, put into the texts of a call by one of three engines.
import Mustache from 'mustache'
import { ApiError } from '../contract/error.ts'
import type { FillText, Operation } from '../contract/operation.ts'
import type { Inputs, TemplateEngine } from '../contract/shared.ts'

interface TemplateFields {
  variables?: Record<string, unknown> | null
  template_engine?: TemplateEngine | null
  svc?: { inputs?: Inputs | null } | null
}

/** The request with its variables filled in; a request without any comes back as it is. */
export async function renderVariables(operation: Operation, request: unknown): Promise<unknown> {
  const { variables, template_engine: engine, svc } = request as TemplateFields
  if (!operation.fillTexts || (!variables && !svc?.inputs && !engine)) return request
  const values = { ...inputValues(svc?.inputs), ...variables }
  return operation.fillTexts(request, await filler(engine ?? 'text', values))
}

function inputValues(inputs: Inputs | null | undefined): Record<string, unknown> {
  if (!Array.isArray(inputs)) return inputs ?? {}
  return Object.fromEntries(inputs.map(({ key, value }) => [key, value]))
}

/** What puts values into texts by an engine. */
export async function filler(engine: TemplateEngine, values: Record<string, unknown>): Promise<FillText> {
  switch (engine) {
    case 'text':
      return (text) => fillText(text, values)
    case 'mustache':
      return guarded(engine, (text) => writer.render(text, values, {}, { escape: asText }))
    case 'jinja': {
      const { Template } = await import('@huggingface/jinja')
      return guarded(engine, (text) => new Template(text).render(values))
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

const guarded =
  (engine: TemplateEngine, render: FillText): FillText =>
  (text, param) => {
    try {
      return render(text)
    } catch (error) {
      const { message } = error as Error
      const shown = text.length > 80 ? `${text.slice(0, 77)}...` : text
      throw new ApiError(
        400,
        'invalid_template',
        `${param ? `'${param}'` : 'a text'} is not a valid ${engine} template: ${message}, got ${JSON.stringify(shown)}`,
        param ? { param } : {},
      )
    }
  }
