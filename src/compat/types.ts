// The interface of a compatible API: another API whose paths lead to the router's operations.
import type { z } from 'zod'
import type { Operation } from '../contract/core/operation.ts'
import type { Route } from '../contract/core/route.ts'
import type { Wire } from '../contract/core/wire.ts'
import type { Endpoint } from '../endpoints/index.ts'

/** What the routes of compatible APIs need. */
export interface CompatApiDeps {
  /** Provider of models without a provider name. */
  defaultProvider: string
}

/** A compatible API. */
export interface CompatApi {
  name: string
  /** Its name in documents. */
  tag: string
  /** The common beginning of its paths. */
  prefix: string
  /** Whether a request for a path of another compatible API belongs to this one. */
  claims?(request: Pick<Request, 'headers'>): boolean
  /** Its operations by path. */
  paths: Readonly<Record<string, Endpoint>>
  /** How responses are converted at a path, or by default. */
  wire(path?: string): Wire
  /** An operation as documents show it, if its requests and responses differ here. */
  shown?(operation: Operation): Operation
  /** The schema of an error. */
  errorBody(): z.ZodType
  /** Routes other than the operations. */
  routes(deps: CompatApiDeps): readonly Route[]
  /** Paths of other compatible APIs that it shares. */
  shares?: readonly string[]
}
