// The traces of a running server as they are saved, from its live stream.
import { EventSourceParserStream } from 'eventsource-parser/stream'
import { serverAddress } from '../../config.ts'
import type { TraceSaved } from '../../contract/core/observation.ts'
import type { TraceRecord } from '../../contract/core/trace.ts'
import { directFetch } from '../../lib/direct-fetch.ts'
import { TraceError } from '../errors.ts'
import type { CommandIo } from '../io.ts'

/** Which traces are followed. */
interface FollowOptions {
  url?: string
  token?: string
  /** Name of the session, `all` for all sessions. */
  session?: string
}

/**
 * Traces from now on.
 * @throws TraceError if there is no server, or it ends
 */
export async function* followLive(
  { env, stderr }: Pick<CommandIo, 'env' | 'stderr'>,
  options: FollowOptions,
): AsyncGenerator<TraceRecord> {
  const { url, token } = serverAddress(env, options)
  const headers = new Headers({ authorization: `Bearer ${token}` })
  const all = options.session === 'all'
  if (options.session && !all) headers.set('x-understudy-session', options.session)
  const response = await directFetch(`${url}/_understudy/live${all ? '?sessions=all' : ''}`, { headers })
  if (!response.ok || !response.body) throw new TraceError(`${url} does not stream events (status ${response.status})`)
  const events = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
  for await (const { event, data } of events) {
    if (event === 'trace-saved') yield (JSON.parse(data) as TraceSaved).trace
    if (event === 'dropped') {
      const { count } = JSON.parse(data) as { count: number }
      stderr.line(`understudy: ${count} events were dropped because they arrived faster than they were read`)
    }
  }
  throw new TraceError(`the server at ${url} has stopped`)
}
