// A path of the HTTP API as data, for serving, validation and documentation.
import type { z } from 'zod'

/** The validated input of a route's handler. */
export interface RouteInput<Query = unknown, Body = unknown> {
  request: Request
  params: Record<string, string>
  query: Query
  body: Body
}

/** A route that is not a router operation. */
export interface Route<Query = unknown, Body = unknown> {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** With `:name` for parameters. */
  path: string
  tag: string
  summary: string
  description?: string
  query?: z.ZodType<Query>
  body?: z.ZodType<Body>
  /** Encoding of the body, default JSON. `multipart` fields are passed by name, a file as a `File`. */
  bodyType?: 'json' | 'multipart'
  /** Whether the limit of `--max-body` does not apply: the program must be able to read what it has written. */
  anySize?: boolean
  /** Whether the handler reads the body itself, so that `body` only documents it. */
  readsBody?: boolean
  /** Example bodies by name, for the API documentation. */
  examples?: Record<string, object>
  /** Whether it belongs to the emulated API; everything else is marked as an extension. */
  contract?: boolean
  /** Unique name in the OpenAPI document. Generated clients use it, so it must not change. */
  operationId: string
  response: z.ZodType
  /** The name of the response schema in the document, if several routes share it; default: from `operationId`. */
  answerName?: string
  /** Status of a successful response, default 200. A 204 response has no body. */
  status?: 201 | 204
  /** Other statuses of the same response, with descriptions. */
  alsoWith?: Readonly<Record<number, string>>
  /** Type of a response that is not JSON. */
  contentType?: string
  /** Statuses of its errors, besides those that every path can have. */
  errors?: readonly number[]
  /** Statuses of the errors whose `error` is a text. */
  textErrors?: readonly number[]
  /**
   * How it uses the session of a request: `used` creates a missing one, `seen` only reads it, and `none` ignores it.
   * Default: `seen` for GET, `used` otherwise.
   */
  session?: 'used' | 'seen' | 'none'
  /** Whether it needs no token. */
  public?: boolean
  /**
   * Finds what the path names, and throws its 404. Called when the query or the body is invalid, so that a 404 takes
   * precedence.
   */
  find?(input: Pick<RouteInput, 'request' | 'params'>): unknown
  /**
   * The JSON value of the response, or a response of its own.
   * @throws ApiError for a user's mistake
   */
  handle(input: RouteInput<Query, Body>): object | Promise<object>
}

/** Routes that are loaded together, by the first request that one of them may take. */
export interface RouteGroup {
  /** The first one or two segments of their paths, such as `/files` or `/v2/tools`. */
  readonly under: readonly string[]
  routes(): readonly Route[]
}

/** Whether a request without a body is treated as one with an empty object, because nothing in it is required. */
export const needsNoBody = ({ body, bodyType = 'json' }: Pick<Route, 'body' | 'bodyType'>): boolean =>
  bodyType === 'json' && body !== undefined && body.safeParse({}).success

/** A route with its types erased. Its own schemas validate its input. */
export const asRoute = <Query, Body>(route: Route<Query, Body>): Route => route as unknown as Route
