// The OpenAPI 3.1 document, made from the registries when it is first asked for.
import { z } from 'zod'
import { envelope } from '../contract/error.ts'
import type { Operation } from '../contract/operation.ts'
import type { Route } from '../contract/route.ts'

type Json = Record<string, unknown>
type Io = 'input' | 'output'

/** What the document is made of. */
export interface Documented {
  operations: readonly Operation[]
  routes: readonly Route[]
  version: string
}

export const INFO = (version: string) => ({
  title: 'Understudy',
  version,
  description:
    'A local stand-in for a model gateway and workspace API. Answers come from fixtures, or are synthesized deterministically; every call is recorded as a trace.',
  license: { name: 'MIT', identifier: 'MIT' },
})

const STATUS_TEXT: Record<number, string> = {
  400: 'A field or the JSON is not valid; `param` names it.',
  401: 'No token, or not one of those allowed.',
  403: 'The `Host` header is not one of this server.',
  404: 'Nothing goes by that name.',
  405: 'The path does not take this method.',
  413: 'The body is larger than `--max-body`.',
  415: 'The content type is not the one this path takes.',
  422: 'A field is not valid; `param` names it.',
  429: 'Too many sessions.',
}
const ERROR_SAMPLE = {
  status: 400,
  message: "'temperature' must be at most 2, got 3",
  param: 'temperature',
  code: 'invalid_value',
}

const ErrorBody = z
  .object({
    code: z.string().describe('The HTTP status, as a string.'),
    message: z.string(),
    error: z.object({ message: z.string(), type: z.string(), param: z.string().nullable(), code: z.string() }),
  })
  .describe('The body of every error.')

/** JSON Schema (2020-12, the dialect of OpenAPI 3.1) of a zod schema, without the marker of its dialect. */
export function jsonSchema(schema: z.ZodType, io: Io): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any', reused: 'inline' }) as Json
  return rest
}

const json = (schema: Json, more: Json = {}) => ({ 'application/json': { schema, ...more } })
const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` })

function errorResponses(statuses: readonly number[]): Json {
  const content = json(reference('Error'), { example: envelope(ERROR_SAMPLE) })
  return Object.fromEntries(
    statuses.map((status) => [status, { description: STATUS_TEXT[status] ?? 'Error', content }]),
  )
}

const BODY_TYPES = { json: 'application/json', multipart: 'multipart/form-data' }
const pascal = (name: string) => name.replace(/(?:^|[._/-])([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** Paths and components; `openapi`, `info` and the page around it are the plugin's work. */
export function openapiParts({ operations, routes }: Documented): { paths: Json; schemas: Json } {
  const schemas: Json = { Error: jsonSchema(ErrorBody, 'output') }
  const paths: Json = {}
  for (const operation of operations) {
    const name = pascal(operation.name)
    schemas[`${name}Request`] = jsonSchema(operation.request, 'input')
    schemas[`${name}Response`] = jsonSchema(operation.response, 'output')
    if (operation.chunk) schemas[`${name}Chunk`] = jsonSchema(operation.chunk, 'output')
    const examples = Object.fromEntries(Object.entries(operation.examples).map(([key, value]) => [key, { value }]))
    paths[operation.path] = {
      post: {
        operationId: operation.name.replace(/\.(\w)/g, (_, letter: string) => letter.toUpperCase()),
        tags: [operation.tag],
        summary: operation.summary,
        description: operation.description,
        requestBody: {
          required: true,
          content: { [BODY_TYPES[operation.body]]: { schema: reference(`${name}Request`), examples } },
        },
        responses: {
          200: {
            description: operation.chunk
              ? 'The whole answer, or with `stream: true` its events as server-sent events, closed by `data: [DONE]`.'
              : 'The answer.',
            headers: ANSWER_HEADERS,
            content: {
              ...json(reference(`${name}Response`)),
              ...(operation.chunk ? { 'text/event-stream': { schema: reference(`${name}Chunk`) } } : {}),
            },
          },
          ...errorResponses([operation.invalidStatus ?? 400, 401, 403, 404, 413, 415, 429]),
        },
      },
    }
  }
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    const existing = (paths[path] ?? {}) as Json
    paths[path] = { ...existing, [route.method]: routeObject(route) }
  }
  return { paths, schemas }
}

const ANSWER_HEADERS = Object.fromEntries(
  Object.entries({
    trace: 'Id of the trace of this call.',
    attempts: 'Attempts made.',
    fallback: 'Position of the model that answered: 0 is the primary one.',
    cache: 'hit, miss or off.',
    model: 'The model that answered.',
    session: 'The session of this call.',
    faults: 'Faults applied, by rule.',
    fixture: 'The fixture that answered, or synthesized.',
  }).map(([name, description]) => [`x-understudy-${name}`, { description, schema: { type: 'string' } }]),
)

function routeObject(route: Route): Json {
  const inPath = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  const query = route.query ? (jsonSchema(route.query, 'input').properties as Record<string, Json>) : {}
  const inQuery = Object.entries(query).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: false,
    ...(description ? { description } : {}),
    schema,
  }))
  return {
    operationId: `${route.method}${pascal(route.path.replace(/\/_understudy|:/g, '').replace(/^\//, ''))}${inPath.length > 0 ? 'One' : ''}`,
    tags: [route.tag],
    summary: route.summary,
    description: `${route.description ?? ''} (emulator extension)`.trim(),
    ...(route.public ? { security: [] } : {}),
    ...(inPath.length + inQuery.length > 0 ? { parameters: [...inPath, ...inQuery] } : {}),
    responses: {
      200: {
        description: 'The answer.',
        content: { [route.contentType ?? 'application/json']: { schema: jsonSchema(route.response, 'output') } },
      },
      ...errorResponses([401, 403, ...(route.errors ?? [])].sort()),
    },
  }
}
