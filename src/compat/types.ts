// What a door is: a foreign API whose paths lead to the router's operations.
import type { z } from 'zod'
import type { Operation } from '../contract/core/operation.ts'
import type { Route } from '../contract/core/route.ts'
import type { Wire } from '../contract/core/wire.ts'
import type { Endpoint } from '../endpoints/index.ts'

/** What the routes of doors need. */
export interface CompatApiDeps {
  /** Provider of the models that are named without one. */
  defaultProvider: string
}

/** One door. */
export interface CompatApi {
  name: string
  /** What documents call it. */
  tag: string
  /** What all of its paths begin with. */
  prefix: string
  /** Whether it is meant by a request of a path of another door. */
  claims?(request: Pick<Request, 'headers'>): boolean
  /** The operations by path. */
  paths: Readonly<Record<string, Endpoint>>
  /** How answers are put: at a path, or wherever it is not known. */
  wire(path?: string): Wire
  /** An operation as documents show it, when its requests and answers are others here. */
  shown?(operation: Operation): Operation
  /** What the body of an error is like. */
  errorBody(): z.ZodType
  /** What it has beside the operations. */
  routes(deps: CompatApiDeps): readonly Route[]
  /** Paths of other doors that it shares. */
  shares?: readonly string[]
}
