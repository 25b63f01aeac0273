// What can be asked of the server, from its own OpenAPI document.
import type { Schema } from './from-schema.ts'

/** One operation of the document. */
export interface Described {
  method: string
  /** With `{name}` for parameters. */
  path: string
  query: { name: string; schema: Schema }[]
  /** Statuses that it is said to answer with. */
  statuses: readonly string[]
  /** Absent when it takes no body. */
  body?: { type: 'json' | 'form'; schema: Schema; examples: unknown[] }
}

interface Document {
  paths: Record<
    string,
    Record<
      string,
      {
        parameters?: { name: string; in: string; schema: Schema }[]
        responses: Record<string, { content: Record<string, unknown> }>
        requestBody?: { content: Record<string, { schema: Schema; examples?: Record<string, { value: unknown }> }> }
      }
    >
  >
}

/** Everything that a document describes, and how its references are followed. */
export interface Surface {
  operations: readonly Described[]
  resolve(reference: string): Schema
}

// A path that answers with events alone goes on for as long as somebody listens.
const ends = ([, { responses }]: [string, { responses: Record<string, { content: object }> }]) =>
  Object.keys(responses['200']?.content ?? {}).join() !== 'text/event-stream'

/** Reads a document. */
export function surfaceOf(text: string): Surface {
  const document = JSON.parse(text) as Document
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(ends)
      .map(([method, { parameters = [], requestBody, responses }]): Described => {
        const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? []
        const query = parameters.filter((parameter) => parameter.in === 'query')
        const statuses = Object.keys(responses)
        if (!content) return { method: method.toUpperCase(), path, query, statuses }
        const examples = Object.values(content.examples ?? {}).map(({ value }) => value)
        const body = {
          type: type === 'multipart/form-data' ? 'form' : 'json',
          schema: content.schema,
          examples,
        } as const
        return { method: method.toUpperCase(), path, query, statuses, body }
      }),
  )
  return {
    operations,
    resolve(reference) {
      const steps = reference.replace(/^#\//, '').split('/')
      return steps.reduce<unknown>((at, step) => (at as Record<string, unknown>)[step], document) as Schema
    },
  }
}

/** Whether the document says nothing of such an answer; it says nothing of paths and methods that are not there. */
export function isUndocumented(
  { operations }: Surface,
  { method, path }: { method: string; path: string },
  status: number,
) {
  // As it is called: `..` leads somewhere else.
  const { pathname } = new URL(`http://localhost${path}`)
  const steps = pathname.split('/')
  const fits = (described: Described) => {
    const own = described.path.split('/')
    return own.length === steps.length && own.every((step, index) => step.startsWith('{') || step === steps[index])
  }
  const described = operations.filter((operation) => operation.method === method && fits(operation))
  const said = [String(status), `${String(status)[0]}XX`]
  return described.length > 0 && !described.some(({ statuses }) => said.some((one) => statuses.includes(one)))
}
