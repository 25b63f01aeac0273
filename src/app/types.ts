// The types of the application.
import type { AccessOptions } from '../access.ts'
import type { ToolAnswers } from '../backends/fixture/tool-answers.ts'
import type { ConnectionFinder } from '../contract/core/connection.ts'
import type { Verification } from '../contract/core/verification.ts'
import type { ControlDeps, JudgeOptions, ServerInfo } from '../control/types.ts'
import type { AskModel } from '../gateway/ask.ts'
import type { Gateway } from '../gateway/types.ts'
import type { Session, Sessions } from '../sessions/sessions.ts'
import type { RefusedCalls } from './refused-calls.ts'
import type { UnknownPathLog } from './unknown-paths.ts'

/** The dependencies of the routes. */
export interface AppDeps {
  sessions: Sessions
  gateway: Gateway
  /** How evaluators call a model. */
  ask: AskModel
  /** Seeds the workspace of a new session. */
  prepare(session: Session): Promise<void>
  /** The name of the service options object in requests. */
  namespace: string
  /** Provider of models that are named without one. */
  defaultProvider: string
  access: AccessOptions & { cors: readonly string[] }
  maxBody: number
  /** Client timeout in ms. */
  clientTimeout: number
  /** Whether suspicious input is rejected instead of noted. */
  strict: boolean
  /** Whether sessions must be named where a balancer sees them. */
  instanceStrict: boolean
  fixtures: ControlDeps['fixtures']
  /** Answers tool calls from fixtures. */
  toolAnswers: ToolAnswers
  about: ServerInfo
  /** Called for every error that is not a user's mistake. */
  report(error: unknown): void
}

/** The verdicts on sessions, and the notes that they are made from. */
export interface Verdicts
  extends Pick<ControlDeps, 'judge' | 'readers' | 'workspaceCalls' | 'earlier' | 'droppedTraces'> {
  unknownPaths: UnknownPathLog
}

/** Additional dependencies of the routes beside the operations. */
export interface RouteContext {
  /** Counts every response. */
  responses: ControlDeps['responses']
  /** The session of a request, created if it does not exist. With `looks`, none is created. */
  sessionOf(request: Request, looks?: boolean): Session
  /** The response for an error, in the format of the called API. */
  render(error: unknown, request: Request): Response
  /** Sets the id of a response. */
  mark(response: Response): void
  verdicts: Verdicts
}

/** Handles requests; a plain function of its dependencies, so that tests need no server. */
export interface App {
  /** `hold` finds the connection of the request. */
  fetch(request: Request, hold?: ConnectionFinder): Promise<Response>
  /**
   * The verdict on a session, as `/_understudy/verify` returns it. No session is created.
   * @throws ApiError for an invalid session name
   */
  judge(session: string, options: JudgeOptions): Promise<Verification>
  /** Calls that reached no session, by the code of their error. */
  refused(): RefusedCalls[]
}
