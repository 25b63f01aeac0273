// The OpenAPI 3.1 document, generated from the registries on first use, with its groups of operations.
import { z } from 'zod'
import { COMMON_HEADERS, ROUTER_HEADERS } from '../contract/core/answer-headers.ts'
import { describedObject } from '../contract/core/described.ts'
import { envelope } from '../contract/core/error.ts'
import type { Operation } from '../contract/core/operation.ts'
import { needsNoBody, type Route } from '../contract/core/route.ts'
import { readAsset } from '../lib/assets.ts'
import { once } from '../lib/once.ts'
import { createSchemas, type SchemaJson as Json, PATH_PARAMETERS, type Schemas } from './schemas.ts'

interface ErrorKind {
  /** Its name in the document. */
  name: string
  description: string
  code: string
  message: string
  param?: string
}
/** By status. */
export const ERRORS: Record<number, ErrorKind> = {
  400: {
    name: 'BadRequest',
    description: 'A field, the JSON, or the session name is invalid. `param` names it.',
    code: 'invalid_value',
    message: "'temperature' must be at most 2, got 3",
    param: 'temperature',
  },
  401: {
    name: 'Unauthorized',
    description: 'The bearer token is missing or not allowed.',
    code: 'invalid_token',
    message: "send a token: 'Authorization: Bearer <token>' (any token works unless --token is set)",
  },
  403: {
    name: 'Forbidden',
    description:
      'The `Host` header is not allowed, or a page of an origin that `--cors` does not name sent a request that changes data.',
    code: 'origin_not_allowed',
    message:
      'a page of "http://example.com" must not change data here: only pages of this server and of origins listed in --cors can',
  },
  404: {
    name: 'NotFound',
    description: 'Not found.',
    code: 'not_found',
    message: 'not found: "example"',
  },
  408: {
    name: 'RequestTimeout',
    description: 'The request body did not arrive in time.',
    code: 'request_timeout',
    message: 'the body did not arrive in time (--client-timeout)',
  },
  409: {
    name: 'Conflict',
    description: 'The request conflicts with existing data, or the session was reset during the request.',
    code: 'key_taken',
    message: '\'key\' must be unique: there is a tool with key "example" already',
    param: 'key',
  },
  413: {
    name: 'ContentTooLarge',
    description: 'The body is larger than `--max-body`.',
    code: 'request_too_large',
    message: 'the body is larger than 33554432 bytes (--max-body)',
  },
  415: {
    name: 'UnsupportedMediaType',
    description: 'The content type is not supported by this path.',
    code: 'unsupported_media_type',
    message: 'content-type "text/plain" is not supported; send application/json',
  },
  422: {
    name: 'Unprocessable',
    description: 'A guardrail blocked the request, or a form field is invalid. `param` names the field.',
    code: 'guardrail_violation',
    message: 'the input does not pass the guardrail "svc_pii_detection": it contains an e-mail address',
    param: 'guardrails[0]',
  },
  429: {
    name: 'TooManyRequests',
    description:
      'Too many sessions or waiting requests. For model calls, also a rate limit of the provider or the limit of `--max-calls`.',
    code: 'session_limit',
    message: 'there are 1000 sessions already; restart, or use one of them',
  },
  500: {
    name: 'ServerError',
    description: 'The provider failed. With `internal_error`, Understudy itself failed, which is a bug.',
    code: 'server_error',
    message: 'The server had an error while processing the request.',
  },
  502: {
    name: 'BadGateway',
    description: 'The provider could not be reached, closed the connection early, or sent an unreadable response.',
    code: 'provider_disconnected',
    message: 'the connection was reset before the response (ECONNRESET)',
  },
  503: {
    name: 'Unavailable',
    description:
      'The provider is overloaded or unavailable. With `draining`, Understudy is shutting down and creates no more sessions. `Retry-After` says when to retry.',
    code: 'server_error',
    message: 'The service is overloaded or not ready: try again later.',
  },
  504: {
    name: 'GatewayTimeout',
    description: 'No attempt finished within `timeout.call_timeout`.',
    code: 'timeout',
    message: 'openai/gpt-4o did not respond within the call_timeout of 1000 ms',
  },
}

/** All other responses of a provider, or of a scenario in its place. */
const OTHER: ErrorKind = {
  name: 'OtherError',
  description:
    'Any other error status in the same envelope: from a provider or a rule of the scenario; 500 with `internal_error`, which is a bug in Understudy; 507 with `storage_failed` if data cannot be stored, for example because the disk is full.',
  code: 'error',
  message: 'the provider returned status 529',
}

const ErrorBody = describedObject('The body of every error.', {
  code: z.string().describe('The HTTP status, as a string.'),
  message: z.string().describe('A readable message with the invalid value and the valid choices.'),
  error: describedObject("The error in OpenAI's format.", {
    message: z.string().describe('The same message, in the place where OpenAI clients expect it.'),
    type: z.string().describe('The error type, such as `invalid_request_error`.'),
    param: z.string().nullable().describe('Path of the invalid field, such as `messages[0].role`.'),
    code: z.string().describe('Machine-readable error code, such as `invalid_value`.'),
  }),
})

/** The suffix of a schema whose `error` is a text. */
const AS_TEXT = 'AsText'
const TextErrorBody = ErrorBody.omit({ error: true })
  .extend({ error: z.string().describe('The same message, in the place where clients of this path expect it.') })
  .describe('The body of an error whose `error` is a string.')

/** The name of a header in the components. */
const nameOf = (header: string) => header.replace(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase())
const headersOf = (headers: Readonly<Record<string, string>>): Json =>
  Object.fromEntries(Object.keys(headers).map((header) => [header, { $ref: `#/components/headers/${nameOf(header)}` }]))

/** References to the headers of every response. */
const COMMON = headersOf(COMMON_HEADERS)
/** References to the headers of every router response. */
const ANSWER_HEADERS = { ...COMMON, ...headersOf(ROUTER_HEADERS) }

/** All headers, by name. */
const headerParts = (): Json =>
  Object.fromEntries(
    Object.entries({ ...COMMON_HEADERS, ...ROUTER_HEADERS }).map(([header, description]) => [
      nameOf(header),
      { description, schema: { type: 'string' } },
    ]),
  )

const all = [...Object.entries(ERRORS), ['default', OTHER] as const]

/** All errors, by name. */
function errorParts(schemas: Schemas): Json {
  const schema = schemas.refer(ErrorBody, 'output', 'Error')
  const textSchema = schemas.refer(TextErrorBody, 'output', 'TextError')
  const parts = all.map(([status, { name, description, code, message, param = null }]) => {
    const example = envelope({ status: Number(status) || 529, code, message, param })
    return [name, { description, headers: COMMON, content: { 'application/json': { schema, example } } }] as const
  })
  const { message, description } = ERRORS[404] ?? OTHER
  const example = { code: '404', message, error: message }
  const asText = { description, headers: COMMON, content: { 'application/json': { schema: textSchema, example } } }
  return Object.fromEntries([...parts, [`${ERRORS[404]?.name}${AS_TEXT}`, asText]])
}

/** References to the errors of these statuses; those in `asText` have a text as `error`. */
const errorResponses = (statuses: readonly (number | 'default')[], asText: readonly number[] = []): Json =>
  Object.fromEntries(
    all
      .filter(([status]) => statuses.map(String).includes(status))
      .map(([status, { name }]) => {
        const suffix = asText.map(String).includes(status) ? AS_TEXT : ''
        return [status, { $ref: `#/components/responses/${name}${suffix}` }]
      }),
  )

const MODEL = [422, 429, 500, 502, 503, 504, 'default'] as const
/** Error statuses of every router operation. */
const ROUTER_ERRORS = [400, 401, 403, 404, 408, 409, 413, 415, ...MODEL] as const

/** The error statuses of a route: those of the checks for all routes of its kind, and its own. */
function errorsOf(route: Route): (number | 'default')[] {
  const { public: open, path, query, body, method, anySize, errors = [] } = route
  const { session = open ? 'none' : method === 'get' ? 'seen' : 'used' } = route
  const token = open ? [] : [401]
  // The session name may be invalid, there may be too many sessions, and the program may be shutting down.
  const named = session === 'none' ? [] : session === 'seen' ? [400] : [400, 429, 503]
  const queryErrors = query ? [400] : []
  const sent = body ? [400, 408, 415, ...(anySize ? [] : [413])] : []
  // A reset ends calls in progress.
  const reset = /^\/(?:v2|a2a)\//.test(path) ? [409] : []
  return [403, ...token, ...named, ...queryErrors, ...sent, ...reset, ...errors, 'default']
}

/** Names and descriptions; the last one is of what extends the specification in the group. */
const GROUPS: readonly [name: string, description: string, extensions: string][] = [
  ['Router', 'The model gateway.', 'Serves the images that responses link to.'],
  ['Agents', 'Agents and their tasks.', 'List, update, and version agents; follow, cancel, and approve tasks; A2A.'],
  ['Datasets', 'Datasets and their datapoints.', 'Create, list, and delete datasets and datapoints; versions.'],
  [
    'Knowledge',
    'Files and the knowledge bases that make them searchable.',
    'Files, knowledge bases, datasources, chunks, and search.',
  ],
  [
    'Evaluators',
    'Checks of a text by a model or a JSON Schema.',
    'List, update, delete, and run evaluators; get single versions.',
  ],
  ['Human review sets', 'Which spans human reviewers evaluate.', 'List, update, and delete review sets.'],
  ['Tools', 'Functions that models can call.', 'Create, update, and delete tools; list versions.'],
  ['Contacts', 'The end users of the calling application.', 'List, update, and delete contacts.'],
  ['Feedback', 'Ratings of generated responses, dispatched as events.', 'Read submitted feedback.'],
  ['Projects', '', 'Projects, the first segment of a storage path.'],
  ['Memory', '', 'Memories of agents, by store and entity.'],
  ["Anthropic's API", '', 'The Anthropic-compatible Messages API at `/v1/messages`.'],
  ["OpenAI's API", '', "The router operations at OpenAI's paths, for clients of the OpenAI API."],
  ['Emulator', '', 'Traces, scenarios, fixtures, sessions, clocks, verification, and health.'],
]

/** The prefix of groups that are not in the specification. */
export const EXTENSION = 'Extension: '

/** The group of a route. */
const tagOf = ({ tag, contract }: Pick<Route, 'tag' | 'contract'>): string => (contract ? tag : `${EXTENSION}${tag}`)

/** The groups in the order of the document. */
export const TAGS = [
  ...GROUPS.flatMap(([name, description]) => (description === '' ? [] : [{ name, description }])),
  ...GROUPS.map(([name, , description]) => ({ name: `${EXTENSION}${name}`, description })),
]

/** A real response of each operation: test/api/openapi-examples.test.ts writes and checks it. */
const EXAMPLES = 'test/golden/openapi-examples.json'
const examples = once(() => JSON.parse(new TextDecoder().decode(readAsset(EXAMPLES))) as Record<string, unknown>)
const exampleOf = (id: string) => (id in examples() ? { example: examples()[id] } : {})

/** The inputs of the document. */
export interface DocumentSource {
  operations(): readonly Operation[]
  routes: readonly Route[]
  /** Operations at other paths, in a group of their own; `same` are those with the same requests. */
  aliases(): readonly { path: string; door: string; tag: string; operation: Operation; same: boolean }[]
  /** The error format at the paths with a prefix, by the name of its schema, if it differs. */
  errorShapes: readonly { prefix: string; name: string; schema(): z.ZodType }[]
  version: string
}

/** The `info` object of the OpenAPI document. */
export const INFO = (version: string) => ({
  title: 'Understudy',
  description:
    'A local stand-in for a model gateway and workspace API. Responses come from fixtures or are generated deterministically. Every call is recorded as a trace.',
  version,
  license: { name: 'MIT', identifier: 'MIT' },
})

const BYTES = { type: 'string', format: 'binary' }
const BODY_TYPES = { json: 'application/json', multipart: 'multipart/form-data' }
const pascal = (name: string) => name.replace(/(?:^|[._/-])([a-z])/g, (_, letter: string) => letter.toUpperCase())
const examplesOf = (examples: Readonly<Record<string, object>>): Json =>
  Object.fromEntries(Object.entries(examples).map(([name, value]) => [name, { value }]))

/** Paths and components of the document. */
export function openapiParts(source: DocumentSource): { paths: Json; components: Json } {
  const { operations, routes, aliases, errorShapes } = source
  const schemas = createSchemas()
  const responses = errorParts(schemas)
  const paths: Json = {}
  const foreign = new Map(
    errorShapes.map(({ prefix, name, schema }) => [prefix, foreignErrors(schemas.refer(schema(), 'output', name))]),
  )
  const errorsAt = (path: string) => [...foreign].find(([prefix]) => path.startsWith(prefix))?.[1]
  for (const operation of operations()) paths[operation.path] = { post: operationObject(operation, schemas) }
  for (const { path, door, tag, operation, same } of aliases()) {
    const id = `${door}${pascal(`.${operation.name}`)}`
    // Streams of foreign APIs end as those do: with an end mark only if there is no last event.
    const marked = same && operation.events?.last === undefined
    const described = operationObject(operation, schemas, { errors: errorsAt(path), marked, ...(!same && { id }) })
    const about = same
      ? `Same as ${operation.path}. Also accepts model names without a provider.`
      : operation.description
    const description = `${about} (emulator extension)`
    paths[path] = { post: { ...described, operationId: id, description, tags: [tagOf({ tag })] } }
  }
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    const described = routeObject(route, schemas, errorsAt(path))
    paths[path] = { ...(paths[path] as Json | undefined), [route.method]: described }
  }
  return { paths, components: { schemas: schemas.all(), responses, headers: headerParts() } }
}

const foreignErrors = (schema: Json): Json => {
  const content = { 'application/json': { schema } }
  return {
    '4XX': { description: 'An error in the request, in the format of this API.', content },
    '5XX': { description: 'An upstream failure or an internal error, in the format of this API.', content },
  }
}

function operationObject(
  operation: Operation,
  schemas: Schemas,
  {
    errors = errorResponses(ROUTER_ERRORS),
    id: given,
    marked = true,
  }: { errors?: Json | undefined; id?: string; marked?: boolean } = {},
): Json {
  const { name: dotted, tag, summary, description, body, request, response, chunk, examples } = operation
  const name = pascal(given ?? dotted)
  const id = given ?? dotted.replace(/\.(\w)/g, (_, letter: string) => letter.toUpperCase())
  const { extension, binary } = operation
  return {
    operationId: id,
    tags: [extension ? tagOf({ tag }) : tag],
    summary,
    description: extension ? `${description} (emulator extension)` : description,
    requestBody: {
      required: true,
      content: {
        [BODY_TYPES[body]]: {
          schema: schemas.refer(request, 'input', `${name}Request`),
          examples: examplesOf(examples),
        },
      },
    },
    responses: {
      200: {
        description: chunk
          ? `The complete response, or with \`stream: true\`, server-sent events${marked ? ' that end with `data: [DONE]`' : ''}.`
          : 'The response.',
        headers: ANSWER_HEADERS,
        content: {
          ...(binary
            ? Object.fromEntries(binary.types.map((type) => [type, { schema: BYTES }]))
            : {
                'application/json': { schema: schemas.refer(response, 'output', `${name}Response`), ...exampleOf(id) },
              }),
          ...(chunk && { 'text/event-stream': { schema: schemas.refer(chunk, 'output', `${name}Chunk`) } }),
        },
      },
      ...errors,
    },
  }
}

function routeObject(route: Route, schemas: Schemas, errors = errorResponses(errorsOf(route), route.textErrors)): Json {
  const { operationId: id } = route
  const parameters = parametersOf(route, schemas)
  return {
    operationId: id,
    tags: [tagOf(route)],
    summary: route.summary,
    ...(route.public && { security: [] }),
    description: route.contract ? route.description : `${route.description ?? ''} (emulator extension)`.trim(),
    ...(parameters.length > 0 && { parameters }),
    ...(route.body && {
      requestBody: {
        required: !needsNoBody(route),
        content: {
          [BODY_TYPES[route.bodyType ?? 'json']]: {
            schema: schemas.refer(route.body, 'input', `${pascal(id)}Request`),
            ...(route.examples && { examples: examplesOf(route.examples) }),
          },
        },
      },
    }),
    responses: { ...answersOf(route, schemas), ...errors },
  }
}

/** The successful responses of a route, by status. */
function answersOf(route: Route, schemas: Schemas): Json {
  const { operationId: id, status = 200, contentType = 'application/json', alsoWith = {} } = route
  if (status === 204) return { [status]: { description: 'Success. No content.', headers: COMMON } }
  const schema = schemas.refer(route.response, 'output', route.answerName ?? `${pascal(id)}Response`)
  const content = { [contentType]: { schema, ...exampleOf(id) } }
  const described = Object.entries({ [status]: 'The response.', ...alsoWith })
  return Object.fromEntries(described.map(([one, description]) => [one, { description, headers: COMMON, content }]))
}

const NUMBERS: readonly unknown[] = ['integer', 'number']

function parametersOf({ path, query }: Route, schemas: Schemas): Json[] {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
    description: PATH_PARAMETERS[name],
  }))
  const properties = (io: 'input' | 'output') =>
    query ? (schemas.inline(query, io).properties as Record<string, Json>) : {}
  const read = properties('output')
  const inQuery = Object.entries(properties('input')).map(([name, { description, ...written }]) => {
    // Query parameters are text; those that are parsed as numbers are documented as numbers.
    const { description: _, ...schema } = NUMBERS.includes(read[name]?.type) ? (read[name] ?? {}) : written
    return { name, in: 'query', required: false, ...(description !== undefined && { description }), schema }
  })
  return [...inPath, ...inQuery]
}
