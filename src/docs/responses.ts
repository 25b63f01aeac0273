// Common parts of responses in the document: errors by status, each with an example that the server really returns, and
// headers.
import { z } from 'zod'
import { COMMON_HEADERS, ROUTER_HEADERS } from '../contract/core/answer-headers.ts'
import { describedObject } from '../contract/core/described.ts'
import { envelope } from '../contract/core/error.ts'
import type { Route } from '../contract/core/route.ts'
import type { SchemaJson as Json, Schemas } from './schemas.ts'

interface ErrorKind {
  /** Its name in the document. */
  name: string
  description: string
  code: string
  message: string
  param?: string
  /** If it is not that of the status. */
  type?: string
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
