// The OpenAPI 3.1 document, made from the registries when it is first asked for.
import { z } from 'zod'
import { COMMON_HEADERS, ROUTER_HEADERS } from '../contract/answer-headers.ts'
import { envelope } from '../contract/error.ts'
import type { Operation } from '../contract/operation.ts'
import type { Route } from '../contract/route.ts'
import { ERRORS } from './errors.ts'

type Json = Record<string, unknown>
type Io = 'input' | 'output'

/** What the document is made of. */
export interface DocumentSource {
  operations(): readonly Operation[]
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

const ErrorBody = z
  .object({
    code: z.string().describe('The HTTP status, as a string.'),
    message: z.string(),
    error: z.object({ message: z.string(), type: z.string(), param: z.string().nullable(), code: z.string() }),
  })
  .describe('The body of every error.')

/** JSON Schema (2020-12, the dialect of OpenAPI 3.1) of a zod schema, in the form that reads best on the page. */
export function jsonSchema(schema: z.ZodType, io: Io): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    reused: 'inline',
    override: ({ jsonSchema }) => readable(jsonSchema as Json),
  }) as Json
  return rest
}

/** Drops the bounds that only say what an integer is, and writes "or null" as a type instead of a choice of two. */
function readable(schema: Json): void {
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
  const [value, other] = (schema.anyOf ?? []) as Json[]
  if (!value || other?.type !== 'null' || (schema.anyOf as Json[]).length > 2) return
  if (typeof value.type !== 'string' || 'const' in value) {
    if (value.description) schema.description ??= value.description
    return
  }
  delete schema.anyOf
  Object.assign(schema, { ...value, ...schema, type: [value.type, 'null'] })
  if (value.enum) schema.enum = [...(value.enum as unknown[]), null]
}

const json = (schema: Json, more: Json = {}) => ({ 'application/json': { schema, ...more } })
const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` })

function errorResponses(statuses: readonly number[]): Json {
  return Object.fromEntries(
    statuses.map((status) => {
      const { description = 'Error', code = 'error', message = description, param = null } = ERRORS[status] ?? {}
      const example = envelope({ status, code, message, param })
      return [status, { description, headers: COMMON, content: json(reference('Error'), { example }) }]
    }),
  )
}

const BODY_TYPES = { json: 'application/json', multipart: 'multipart/form-data' }
const pascal = (name: string) => name.replace(/(?:^|[._/-])([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** Paths and components; `openapi`, `info` and the page around it are the plugin's work. */
export function openapiParts({ operations, routes }: DocumentSource): { paths: Json; schemas: Json } {
  const schemas: Json = { Error: jsonSchema(ErrorBody, 'output') }
  const paths: Json = {}
  for (const operation of operations()) {
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
          ...errorResponses([
            400,
            401,
            403,
            404,
            408,
            409,
            413,
            415,
            ...(operation.invalidStatus ? [operation.invalidStatus] : []),
            429,
          ]),
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

const headersOf = (headers: Readonly<Record<string, string>>): Json =>
  Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: 'string' } }]),
  )
const COMMON = headersOf(COMMON_HEADERS)
const ANSWER_HEADERS = { ...COMMON, ...headersOf(ROUTER_HEADERS) }

/** Statuses that a route may answer with because of what every route of its kind checks, and those that it names itself. */
function errorsOf({ public: open, body, method, errors = [] }: Route): number[] {
  // The session's name may be none, one session more too many, and a reset may end what is under way.
  const session = open ? [] : method === 'get' ? [400, 401] : [400, 401, 409, 429]
  const sent = body ? [400, 408, 413, 415] : []
  return [...new Set([403, ...session, ...sent, ...errors])].sort()
}

function routeObject(route: Route): Json {
  const open = route.public === true
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
  const examples = Object.fromEntries(Object.entries(route.examples ?? {}).map(([key, value]) => [key, { value }]))
  return {
    operationId:
      route.operationId ??
      `${route.method}${pascal(route.path.replace(/\/_understudy|:/g, '').replace(/^\//, ''))}${inPath.length > 0 ? 'One' : ''}`,
    tags: [route.tag],
    summary: route.summary,
    ...(open ? { security: [] } : {}),
    description: route.contract ? route.description : `${route.description ?? ''} (emulator extension)`.trim(),
    ...(inPath.length + inQuery.length > 0 ? { parameters: [...inPath, ...inQuery] } : {}),
    ...(route.body && {
      requestBody: {
        required: true,
        content: {
          [BODY_TYPES[route.bodyType ?? 'json']]: {
            schema: jsonSchema(route.body, 'input'),
            ...(route.examples && { examples }),
          },
        },
      },
    }),
    responses: {
      [route.status ?? 200]: {
        description: route.status === 204 ? 'Done.' : 'The answer.',
        headers: COMMON,
        ...(route.status !== 204 && {
          content: { [route.contentType ?? 'application/json']: { schema: jsonSchema(route.response, 'output') } },
        }),
      },
      ...errorResponses(errorsOf(route)),
    },
  }
}
