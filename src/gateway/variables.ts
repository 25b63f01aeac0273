// Prompt variables: fills `variables` and the older `svc.inputs` into the texts of a call with one of three engines.
import { inWorker } from '../answers/in-worker.ts'
import { ApiError } from '../contract/core/error.ts'
import type { FillText } from '../contract/core/operation.ts'
import type { Inputs, TemplateEngine } from '../contract/router/shared.ts'
import { TemplateTooLong } from '../lib/template-budget.ts'
import { renderAll, rendererOf, type Templating } from '../lib/templates.ts'
import { packTexts, unpackTexts } from '../workers/packed-texts.ts'
import type { JobOwner } from '../workers/pool.ts'
import type { Call } from './call.ts'

/** The parts of a call that its variables need. */
type RenderedCall = Pick<Call, 'operation' | 'session' | 'text' | 'signal'>

interface TemplateFields {
  variables?: Record<string, unknown> | null
  template_engine?: TemplateEngine | null
  svc?: { inputs?: Inputs | null } | null
}

/** Maximum request length, in characters, that is rendered on the main thread. */
const MAX_MAIN_THREAD_LENGTH = 50_000
/** Larger work, about ten milliseconds, starts again in a worker. */
const MAIN_THREAD_LIMITS = { steps: 4_000, characters: 1_000_000 }

/** Whether a request has variables to fill in. */
export function hasVariables({ operation }: Pick<Call, 'operation'>, request: object): boolean {
  const { variables, template_engine, svc }: TemplateFields = request
  return operation.fillTexts !== undefined && Boolean(variables || svc?.inputs || template_engine)
}

/** The request of a call with its variables filled in. */
export async function renderVariables(call: RenderedCall, request: object): Promise<object> {
  const { operation } = call
  if (!operation.fillTexts) return request
  const { variables, template_engine, svc }: TemplateFields = request
  const values = { ...inputValues(svc?.inputs), ...variables }
  const engine = template_engine ?? 'text'
  if (call.text.length <= MAX_MAIN_THREAD_LENGTH) {
    const fill = await filler(engine, values)
    try {
      return operation.fillTexts(request, fill) as object
    } catch (error) {
      if (!(error instanceof TemplateTooLong)) throw error
    }
  }
  const templates: string[] = []
  const params: string[] = []
  operation.fillTexts(request, (text, param = '') => {
    templates.push(text)
    params.push(param)
    return text
  })
  const owner = { ...ownerOf(call), param: sharedPath(params) }
  return operation.fillTexts(request, await fillerInWorker(templates, { engine, values }, owner)) as object
}

/** The innermost field that contains all paths: `messages` for `messages[0].content` and `messages[1].content`. */
function sharedPath([first = '', ...others]: readonly string[]): string | undefined {
  const parts = first.split(/(?=[.[])/)
  while (!others.every((path) => isInside(path, parts.join('')))) parts.pop()
  return parts.join('') || undefined
}

const isInside = (path: string, outer: string): boolean =>
  path.startsWith(outer) && (outer === '' || /^(?:[.[]|$)/.test(path.slice(outer.length)))

/** Created late, because most calls never create their signal. */
const ownerOf = ({ signal, session }: RenderedCall): JobOwner => ({ signal, limits: session.jobLimits })

function inputValues(inputs: Inputs | null | undefined): Record<string, unknown> {
  if (!Array.isArray(inputs)) return inputs ?? {}
  return Object.fromEntries(inputs.map(({ key, value }) => [key, value]))
}

/** Fills values into these texts, which must then be requested in this order. Long ones are rendered in a worker. */
export async function fillerOf(
  templates: readonly string[],
  templating: Templating,
  owner: JobOwner,
): Promise<FillText> {
  const length = templates.reduce((sum, text) => sum + text.length, 0)
  if (length <= MAX_MAIN_THREAD_LENGTH) {
    const { texts, problem } = await renderAll(templates, templating, MAIN_THREAD_LIMITS)
    if (!(problem instanceof TemplateTooLong))
      return fillerFrom(texts, { engine: templating.engine, problem: problem?.message })
  }
  return fillerInWorker(templates, templating, owner)
}

/** Fills values into texts on the main thread. */
async function filler(engine: TemplateEngine, values: Record<string, unknown>): Promise<FillText> {
  const render = await rendererOf({ engine, values }, MAIN_THREAD_LIMITS)
  return (text, param) => {
    try {
      return render(text)
    } catch (error) {
      if (error instanceof TemplateTooLong) throw error
      throw invalid({ engine, text, param }, error as Error)
    }
  }
}

/** Fills values into these texts in a worker; they must then be requested in this order. */
async function fillerInWorker(
  templates: readonly string[],
  { engine, values }: Templating,
  { signal, limits, param }: JobOwner & { param?: string | undefined },
): Promise<FillText> {
  const stopped = (why: string) =>
    new ApiError(400, 'invalid_template', `the ${engine} templates take ${why}`, param ? { param } : {})
  const work = { ...packTexts(templates), engine, values }
  const { problem, ...packed } = await inWorker('renderTemplates', work, { signal, limits, stopped })
  return fillerFrom(unpackTexts(packed), { engine, problem })
}

/** Returns these texts one after another, then throws for the problem of the next one. */
function fillerFrom(
  texts: Iterable<string>,
  { engine, problem }: { engine: TemplateEngine; problem: string | undefined },
): FillText {
  const rendered = texts[Symbol.iterator]()
  return (text, param) => {
    const next = rendered.next()
    if (next.done) throw invalid({ engine, text, param }, { message: problem ?? 'it was not rendered' })
    return next.value
  }
}

function invalid(
  { engine, text, param }: { engine: TemplateEngine; text: string; param: string | undefined },
  { message }: { message: string },
): ApiError {
  const shown = JSON.stringify(text.length > 80 ? `${text.slice(0, 77)}...` : text)
  const problem = `${param ? `'${param}'` : 'a text'} is not a valid ${engine} template: ${message}, got ${shown}`
  return new ApiError(400, 'invalid_template', problem, param ? { param } : {})
}
