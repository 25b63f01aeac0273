// One call from its body to its answer: the recipe of the gateway, each step a file beside this one.
import type { Backend } from '../contract/backend.ts'
import type { Making, Operation } from '../contract/operation.ts'
import { providerOf } from '../providers/catalogue.ts'
import { DEFAULT_SESSION, type Session } from '../sessions/sessions.ts'
import { startRecording } from './recorder.ts'
import { respond } from './respond.ts'
import { renderVariables } from './variables.ts'

/** One client request to an operation. */
export interface Call {
  operation: Operation
  session: Session
  /** The body as it came; that of a form as the JSON of its fields. */
  text: string
  /** The address that was called. */
  url: string
  /** Aborted when the client has gone. */
  signal: AbortSignal
  /** Parses and validates the body; throws `ApiError`. */
  parse(): unknown
}

/** What the gateway answers with. */
export interface Gateway {
  backend: Backend
}

/** Answers one call and records it; user mistakes are recorded too and thrown as `ApiError`. */
export async function handle(call: Call, { backend }: Gateway): Promise<Response> {
  const { operation, session, signal } = call
  const recording = startRecording(call)
  try {
    const parsed = call.parse()
    recording.describe(parsed)
    const making = makingOf(call, recording)
    const rendered = await renderVariables(operation, parsed)
    const request = operation.resolve ? await operation.resolve(rendered, making) : rendered
    const model = operation.model(request)
    providerOf(model)
    const reply = await backend.answer({
      operation,
      request,
      model,
      stream: operation.streams(request),
      prompt: operation.prompt(request),
      making,
      clock: session.clock,
      signal,
      uses: session.uses,
    })
    return await respond(reply, { call, request, making, recording })
  } catch (error) {
    await recording.refuse(error)
    throw error
  }
}

function makingOf({ session, url }: Call, { id, started }: { id: string; started: number }): Making {
  return {
    id,
    now: started,
    secret: session.secret,
    kept: session.kept,
    publicUrl: (path) => `${new URL(url).origin}${session.name === DEFAULT_SESSION ? '' : `/s/${session.name}`}${path}`,
  }
}
