// The OpenAPI 3.1 document, generated from the registries on first use, with its groups of operations.
import type { z } from 'zod'
import type { Operation } from '../contract/core/operation.ts'
import { needsNoBody, type Route } from '../contract/core/route.ts'
import { readAsset } from '../lib/assets.ts'
import { once } from '../lib/once.ts'
import {
  ANSWER_HEADERS,
  COMMON,
  errorParts,
  errorResponses,
  errorsOf,
  headerParts,
  ROUTER_ERRORS,
} from './responses.ts'
import { createSchemas, type SchemaJson as Json, PATH_PARAMETERS, type Schemas } from './schemas.ts'

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
