// Prompt variables: `variables` and the older `svc.inputs`, put into the texts of a call by one of three engines.
import Mustache from 'mustache'
import { ApiError } from '../contract/error.ts'
import type { Operation } from '../contract/operation.ts'
import type { Inputs, TemplateEngine } from '../contract/shared.ts'

interface Templated {
  variables?: Record<string, unknown> | null
  template_engine?: TemplateEngine | null
  svc?: { inputs?: Inputs | null } | null
}

type Fill = (text: string) => string

/** The request with its variables filled in; a request without any comes back as it is. */
export async function renderVariables(operation: Operation, request: unknown): Promise<unknown> {
  const { variables, template_engine: engine, svc } = request as Templated
  if (!operation.fillTexts || (!variables && !svc?.inputs && !engine)) return request
  const values = { ...inputValues(svc?.inputs), ...variables }
  return operation.fillTexts(request, await filler(engine ?? 'text', values))
}

function inputValues(inputs: Inputs | null | undefined): Record<string, unknown> {
  if (!Array.isArray(inputs)) return inputs ?? {}
  return Object.fromEntries(inputs.map(({ key, value }) => [key, value]))
}

async function filler(engine: TemplateEngine, values: Record<string, unknown>): Promise<Fill> {
  switch (engine) {
    case 'text':
      return (text) =>
        text.replace(/\{\{\s*([\w.-]+)\s*\}\}/g, (whole, name: string) => textValue(values, name) ?? whole)
    case 'mustache':
      return guarded(engine, (text) => Mustache.render(text, values, {}, { escape: asText }))
    case 'jinja': {
      const { Template } = await import('@huggingface/jinja')
      return guarded(engine, (text) => new Template(text).render(values))
    }
    default:
      return engine satisfies never
  }
}

const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** The value of `name`, or of the path `a.b`, as text; undefined where there is none, so that the braces stay. */
function textValue(values: Record<string, unknown>, name: string): string | undefined {
  const found =
    name in values
      ? values[name]
      : name.split('.').reduce<unknown>((value, step) => (value as Record<string, unknown> | null)?.[step], values)
  return found === undefined ? undefined : asText(found)
}

const guarded =
  (engine: TemplateEngine, render: Fill): Fill =>
  (text) => {
    try {
      return render(text)
    } catch (error) {
      const { message } = error as Error
      const shown = text.length > 80 ? `${text.slice(0, 77)}...` : text
      throw new ApiError(400, 'invalid_template', `${JSON.stringify(shown)} is no valid ${engine} template: ${message}`)
    }
  }
