// Common parts of responses in the document: errors by status, and headers.

import { z } from 'zod'
import { COMMON_HEADERS, ROUTER_HEADERS } from '../contract/core/answer-headers.ts'
import { describedObject } from '../contract/core/described.ts'
import { envelope } from '../contract/core/error.ts'
import type { Route } from '../contract/core/route.ts'
import { ERRORS, OTHER } from './errors.ts'
import type { SchemaJson as Json, Schemas } from './schemas.ts'

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
export const COMMON = headersOf(COMMON_HEADERS)
/** References to the headers of every router response. */
export const ANSWER_HEADERS = { ...COMMON, ...headersOf(ROUTER_HEADERS) }

/** All headers, by name. */
export const headerParts = (): Json =>
  Object.fromEntries(
    Object.entries({ ...COMMON_HEADERS, ...ROUTER_HEADERS }).map(([header, description]) => [
      nameOf(header),
      { description, schema: { type: 'string' } },
    ]),
  )

const all = [...Object.entries(ERRORS), ['default', OTHER] as const]

/** All errors, by name. */
export function errorParts(schemas: Schemas): Json {
  const schema = schemas.refer(ErrorBody, 'output', 'Error')
  const textSchema = schemas.refer(TextErrorBody, 'output', 'TextError')
  const parts = all.map(([status, { name, description, code, message, param = null, type }]) => {
    const example = envelope({ status: Number(status) || 529, code, message, param, type })
    return [name, { description, headers: COMMON, content: { 'application/json': { schema, example } } }] as const
  })
  const { message, description } = ERRORS[404] ?? OTHER
  const example = { code: '404', message, error: message }
  const asText = { description, headers: COMMON, content: { 'application/json': { schema: textSchema, example } } }
  return Object.fromEntries([...parts, [`${ERRORS[404]?.name}${AS_TEXT}`, asText]])
}

/** References to the errors of these statuses; those in `asText` have a text as `error`. */
export const errorResponses = (statuses: readonly (number | 'default')[], asText: readonly number[] = []): Json =>
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
export const ROUTER_ERRORS = [400, 401, 403, 404, 408, 409, 413, 415, ...MODEL] as const

/** The error statuses of a route: those of the checks for all routes of its kind, and its own. */
export function errorsOf(route: Route): (number | 'default')[] {
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
