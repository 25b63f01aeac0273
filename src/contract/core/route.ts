// A path of the HTTP surface as data: what is served, validated and documented comes from here.
import type { z } from 'zod'

/** What a route's handler reads of a request, validated. */
export interface RouteInput<Query = unknown, Body = unknown> {
  request: Request
  params: Record<string, string>
  query: Query
  body: Body
}

/** One route beside the router operations. */
export interface Route<Query = unknown, Body = unknown> {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** With `:name` for parameters. */
  path: string
  tag: string
  summary: string
  description?: string
  query?: z.ZodType<Query>
  body?: z.ZodType<Body>
  /** How the body comes, JSON when left out; `multipart` fields are given by name, a file as a `File`. */
  bodyType?: 'json' | 'multipart'
  /** Whether the limit of `--max-body` does not hold: what the program has written itself, it must be able to read. */
  anySize?: boolean
  /** Whether the handler reads the body itself, which `body` then only documents. */
  readsBody?: boolean
  /** A body, by name, for the page that documents it. */
  examples?: Record<string, object>
  /** Whether it belongs to the API that is emulated; everything else is marked as an extension. */
  contract?: boolean
  /** Unique name in the OpenAPI document, by which generated clients call it: it stays as it is. */
  operationId: string
  response: z.ZodType
  /** What the document calls the schema of the answer, when several routes have the same; made of `operationId` when left out. */
  answerName?: string
  /** Status of a good answer, 200 when left out; the answer to 204 has no body. */
  status?: 201 | 204
  /** Other statuses of the same answer, by what they say. */
  alsoWith?: Readonly<Record<number, string>>
  /** Type of an answer that is not JSON. */
  contentType?: string
  /** Statuses of the errors it may answer with, besides those that every path may. */
  errors?: readonly number[]
  /** Statuses of the errors whose `error` is a text. */
  textErrors?: readonly number[]
  /**
   * What it makes of the session that a request names: `used` makes one that is not there, `seen` only looks at it, and `none`
   * takes no note of it. A GET looks when left out, and all else uses.
   */
  session?: 'used' | 'seen' | 'none'
  /** Answered without a token. */
  public?: boolean
  /**
   * Looks for what the path names, and throws its 404. Asked when the query or the body is refused: whoever calls a path that is not there
   * is told that first.
   */
  find?(input: Pick<RouteInput, 'request' | 'params'>): unknown
  /** The JSON value of the answer, or a response of its own; a user's mistake is thrown as `ApiError`. */
  handle(input: RouteInput<Query, Body>): object | Promise<object>
}

/** Whether a request without a body is as one with an empty object: nothing in it is required. */
export const needsNoBody = ({ body, bodyType = 'json' }: Pick<Route, 'body' | 'bodyType'>): boolean =>
  bodyType === 'json' && body !== undefined && body.safeParse({}).success

/** A route among others: what it reads of a request is validated by its own schemas. */
export const asRoute = <Query, Body>(route: Route<Query, Body>): Route => route as unknown as Route
