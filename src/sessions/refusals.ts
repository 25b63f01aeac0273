// Errors of sessions that are not available.
import { ApiError } from '../contract/core/error.ts'
import { quote } from '../schema/validation.ts'
import { DEFAULT_SESSION } from './session.ts'

// Parts between slashes, such as the file and the title of a test. URLs cannot contain the two parts that are all dots.
// In the file name of a session, a capital letter takes two characters, and no file system has room for more than 255 with the endings of its files.
const NAME = /^(?=.{1,110}$)(?!\.\.?(?:\/|$))[A-Za-z0-9._-]+(?:\/(?!\.\.?(?:\/|$))[A-Za-z0-9._-]+)*$/
/** Whether a name is valid for a session other than the default one. */
export const isName = (name: string) => NAME.test(name) && name !== DEFAULT_SESSION

/** @throws ApiError 400 for an invalid session name */
export function checkName(name: string): void {
  if (NAME.test(name)) return
  const message = `session name ${quote(name)} must be 1 to 110 letters, digits, '.', '_', '-' or '/', without an empty part, '.' or '..' between slashes`
  throw new ApiError(400, 'invalid_session', message, { param: 'name' })
}
/** The error 404 for an unknown session. */
export const sessionNotFound = (name: string) =>
  new ApiError(404, 'session_not_found', `there is no session named ${JSON.stringify(name)}`, { param: 'session' })

/** The error 507 of one session whose file cannot be used. Other sessions are not affected. */
export class UnusableSession extends ApiError {
  /** Name of the session. */
  readonly session: string
  constructor(session: string, message: string) {
    super(507, 'storage_failed', `session ${JSON.stringify(session)} ${message}`, { param: 'session' })
    this.session = session
  }
}

/** The error for a restored session whose file is not as it was left. */
export const unrestorable = (name: string, problem: string) =>
  new UnusableSession(
    name,
    `cannot be had: ${problem}; mend that and call again, or delete the session (DELETE /_understudy/sessions/${name})`,
  )

/** The error for a session whose file cannot be written or removed. */
export const unwritable = (name: string, problem: string) =>
  new UnusableSession(name, `${problem}; mend that and call again`)

/** The error for a session whose file belongs to another program, which is left alone. */
export const foreignFile = (name: string, file: string) =>
  new UnusableSession(
    name,
    `cannot be used: ${file} is not a session file of understudy; move it away, or use another session name`,
  )

/** The error 429 `session_limit`, with the value of `--max-sessions`. */
export function tooMany(most: number): ApiError {
  const message = `there are ${most} sessions already, as many as --max-sessions allows: delete one (DELETE /_understudy/sessions/<name>), use one of them, or let idle ones be dropped with --session-ttl`
  return new ApiError(429, 'session_limit', message)
}

/** The error 503 `draining` of a server that is shutting down. */
export function shuttingDown(): ApiError {
  const message = 'this instance is being stopped and begins no more sessions: call again, elsewhere'
  return new ApiError(503, 'draining', message, { headers: { 'retry-after': '1' } })
}

/** The error 409 `session_exists`. */
export function alreadyThere(name: string): ApiError {
  const message = `there is a session named ${JSON.stringify(name)} already: reset or delete it, or take another name`
  return new ApiError(409, 'session_exists', message, { param: 'name' })
}

/** The error 400 `default_session`. */
export const undeletable = () =>
  new ApiError(400, 'default_session', 'the default session cannot be deleted; it can be reset')
