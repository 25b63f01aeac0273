// A path of the HTTP surface as data: what is served, validated and documented comes from here.
import type { z } from 'zod'

/** What a route's handler reads of a request, validated. */
export interface RouteInput<Query = unknown> {
  request: Request
  params: Record<string, string>
  query: Query
}

/** One route beside the router operations. */
export interface Route<Query = unknown> {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** With `:name` for parameters. */
  path: string
  tag: string
  summary: string
  description?: string
  query?: z.ZodType<Query>
  response: z.ZodType
  /** Type of an answer that is not JSON. */
  contentType?: string
  /** Statuses of the errors it may answer with, besides those that every path may. */
  errors?: readonly number[]
  /** Answered without a token. */
  public?: boolean
  /** The JSON value of the answer, or a response of its own; a user's mistake is thrown as `ApiError`. */
  handle(input: RouteInput<Query>): object | Promise<object>
}
