// One call from parsed request to answer: the recipe of the gateway, each step a file beside this one.
import type { FixtureBackend } from '../backends/fixture/backend.ts'
import type { Operation } from '../contract/operation.ts'
import { providerOf } from '../providers/providers.ts'
import type { Session } from '../sessions/sessions.ts'
import { startRecording } from './recorder.ts'
import { respond } from './respond.ts'

/** One client request to an operation, parsed. */
export interface Call<Request = unknown> {
  operation: Operation<Request>
  request: Request
  /** The body as it came. */
  text: string
  session: Session
  /** Aborted when the client has gone. */
  signal: AbortSignal
}

/** What the gateway answers with. */
export interface Gateway {
  backend: FixtureBackend
}

/** Answers one call and records it; user mistakes are recorded too and thrown as `ApiError`. */
export async function handle(call: Call, { backend }: Gateway): Promise<Response> {
  const { operation, request, session, signal } = call
  const recording = startRecording(call)
  try {
    const model = operation.model(request)
    providerOf(model)
    const reply = await backend.answer({
      operation,
      request,
      model,
      stream: operation.streams(request),
      prompt: operation.prompt(request),
      body: request,
      id: recording.id,
      clock: session.clock,
      signal,
      uses: session.uses,
    })
    return await respond(reply, call, recording)
  } catch (error) {
    await recording.refuse(error)
    throw error
  }
}
