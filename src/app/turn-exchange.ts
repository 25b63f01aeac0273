// Stores the wire data of a call that started a task's turn with the trace of that turn: after the faults of a
// scenario, as the client receives it.
import type { ExchangeNote } from '../contract/core/exchange-note.ts'
import { keptExchange } from '../gateway/record/exchange-note.ts'
import { SentBody, sentWhole } from '../gateway/stream/sent-body.ts'
import { streamOf } from '../lib/byte-stream.ts'
import { sinceInstant } from '../lib/clock.ts'
import type { BegunTurn, TurnCalls } from '../observers/task-readers.ts'

/** Paths whose calls may start a turn. */
const MAY_BEGIN = /^\/(?:v2\/agents|a2a)\//

/** The dependencies. */
interface TurnExchangeDeps {
  turns: TurnCalls
  /** A request as its client sent it. */
  asReceived(request: Request): Pick<Request, 'url' | 'headers'>
  /** Sets the id of a response. */
  mark(response: Response): void
}

/** Handles a request, and stores its wire data if it started a turn. */
export const withTurnExchange =
  ({ turns, asReceived, mark }: TurnExchangeDeps) =>
  async (request: Request, answer: () => Response | Promise<Response>): Promise<Response> => {
    if (request.method !== 'POST' || !MAY_BEGIN.test(new URL(request.url).pathname)) return answer()
    const copy = request.clone()
    const response = await answer()
    const turn = turns.get(request.signal)
    if (!turn) {
      // It is not read any more.
      void copy.body?.cancel().catch(() => {})
      return response
    }
    mark(response)
    const note = async (body: SentBody, ended?: ExchangeNote['ended']) => {
      const { url, headers } = asReceived(request)
      const received = { url, headers, body: await copy.bytes() }
      const kept = keptExchange(received, { status: response.status, headers: response.headers, body, ended })
      const { session, trace } = turn
      // A reset session has no such trace any more.
      await session.transact(() => session.traces.connect(trace, kept)).catch(() => {})
    }
    if (response.body && response.headers.get('content-type')?.startsWith('text/event-stream'))
      return new Response(streamOf(piecesOf(response.body, { turn, note })), response)
    const bytes = await response.bytes()
    await note(sentWhole(bytes))
    return new Response(bytes, response)
  }

/** The chunks of a stream, which are stored when the last one is sent or the client disconnects. */
async function* piecesOf(
  stream: ReadableStream<Uint8Array>,
  { turn, note }: { turn: BegunTurn; note(body: SentBody, ended?: ExchangeNote['ended']): Promise<void> },
): AsyncGenerator<Uint8Array, undefined> {
  const body = new SentBody()
  let ended: ExchangeNote['ended'] = 'left'
  try {
    // Ends the stream if the client disconnects.
    for await (const value of stream) {
      body.add(value, sinceInstant(turn.session.clock, turn.started))
      yield value
    }
    ended = undefined
  } catch (error) {
    ended = 'reset'
    throw error
  } finally {
    await note(body, ended)
  }
}
