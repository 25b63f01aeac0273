// What the application is made of.
import type { AccessOptions } from '../access.ts'
import type { ToolAnswers } from '../backends/fixture/tool-answers.ts'
import type { ConnectionFinder } from '../contract/core/connection.ts'
import type { ControlDeps, ServerInfo } from '../control/types.ts'
import type { AskModel } from '../gateway/ask.ts'
import type { Gateway } from '../gateway/types.ts'
import type { Session, Sessions } from '../sessions/sessions.ts'

/** What the routes work on. */
export interface AppDeps {
  sessions: Sessions
  gateway: Gateway
  /** How evaluators ask a model. */
  ask: AskModel
  /** Fills the workspace of a session that is new. */
  prepare(session: Session): Promise<void>
  /** What requests call the service options object. */
  namespace: string
  /** Provider of the models that are named without one. */
  defaultProvider: string
  access: AccessOptions & { cors: readonly string[] }
  maxBody: number
  /** Longest that a client is waited for, in ms. */
  clientTimeout: number
  /** Whether what looks like a mistake is refused instead of noted. */
  strict: boolean
  /** Whether sessions must be named where a balancer sees them. */
  instanceStrict: boolean
  fixtures: ControlDeps['fixtures']
  /** Answers calls of tools from fixtures. */
  toolAnswers: ToolAnswers
  about: ServerInfo
  /** Told of every error that is not a user's mistake. */
  report(error: unknown): void
}

/** What the routes beside the operations need besides. */
export interface RouteContext {
  /** Counts every response. */
  responses: ControlDeps['responses']
  /** The session that a request means, made when it is not there; for one that only `looks`, nothing is made. */
  sessionOf(request: Request, looks?: boolean): Session
  /** The response of an error, as the door that the request came by has it. */
  render(error: unknown, request: Request): Response
  /** Gives a response the id that it has for its client. */
  mark(response: Response): void
}

/** Answers requests; a plain function of its dependencies, so that tests need no server. */
export interface App {
  /** `hold` finds the connection that the request came on. */
  fetch(request: Request, hold?: ConnectionFinder): Promise<Response>
}
