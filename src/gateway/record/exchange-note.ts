// What is kept of the connection of a call, as far as the other texts of its trace do not say it already.
import { REQUEST_ID } from '../../contract/core/answer-headers.ts'
import type { ResponseEnd } from '../../contract/core/exchange.ts'
import { DROPPED, type ExchangeNote, type KeptBytes, KNOWN } from '../../contract/core/exchange-note.ts'
import { frontCoded } from '../../lib/front-coding.ts'
import { keptText } from '../../lib/kept-text.ts'
import { remembering } from '../../lib/remember.ts'
import { DONE_EVENT, encodeEvent } from '../../lib/sse.ts'
import { EVENT_STREAM, JSON_BODY } from '../stream/respond.ts'
import type { BodyPiece, SentBody } from '../stream/sent-body.ts'
import type { AnswerRecord, AttemptAnswer, SentStream, TraceRecorder } from './recording.ts'
import { addressShown, shownHeaders } from './request-headers.ts'

/** Characters that are kept of a request or a response, without what is the same in the text before. */
const MAX_CHARACTERS = 64 * 1024

/** Most calls have the address of the one before. */
const addressOf = remembering(addressShown)

/** What is known when the call ends. */
interface NoteOptions {
  /** The stored answer, as JSON. */
  answer: string
  /** Headers of the response; undefined where no more is kept of a call that went well than must be. */
  headers: Record<string, string> | undefined
}

/** The note of a call that has ended; undefined of one that came on no connection. */
export function exchangeNote(recording: TraceRecorder, { answer, headers }: NoteOptions): ExchangeNote | undefined {
  const { call, sent } = recording
  const { received, unread } = call
  if (!received) return undefined
  const ended = sent?.ended ?? endOf(recording)
  const isDropped = !headers && !sent?.nothing && ended === 'complete' && isOrdinary(recording)
  const address = addressOf(received.url)
  const isKnown = !unread && address === call.operation.path && ended === 'complete'
  if (isDropped && isKnown) return DROPPED
  // The response is the stored answer.
  if (isKnown && !sent && !headers && recording.answer?.content.kind !== 'events') return KNOWN
  const note: ExchangeNote = {}
  if (address !== call.operation.path) note.address = address
  if (unread) note.request = kept([unread], { before: call.text })
  if (ended !== 'complete') note.ended = ended
  if (sent?.nothing) note.nothing = true
  else if (isDropped) note.dropped = true
  else {
    if (headers) note.headers = headersSent(recording, headers)
    Object.assign(note, bodyNote(recording, answer))
  }
  return note
}

/** What a client sent. */
interface ReceivedBytes {
  url: string
  headers: Headers
  body: Uint8Array
}

/** What it got. */
interface SentBytes {
  status: number
  headers: Headers
  body: SentBody
  ended: ExchangeNote['ended']
}

/** The note of a call whose bytes no other text of its trace has. */
export function keptExchange(received: ReceivedBytes, { status, headers, body, ended }: SentBytes): ExchangeNote {
  const { pieces, times, more } = body
  return {
    address: addressShown(received.url),
    received: shownHeaders(received.headers),
    request: kept([received.body], { before: '' }),
    status,
    headers: shownHeaders(headers),
    ...(ended && { ended }),
    times,
    response: kept(pieces, { before: '', more }),
  }
}

/** Whether it is a stream that was made here of the stored answer, and that nothing befell: to keep many takes too long. */
const isOrdinary = ({ answer, steps }: TraceRecorder): boolean =>
  answer?.content.kind === 'events' && answer.complete && steps.faults.length === 0 && isComposed(answer.answer)

/** Whether no provider and no fault had a hand in an answer. */
const isComposed = ({ attempt, from }: AttemptAnswer): boolean =>
  (from.generated || from.fixture !== null) && attempt?.faults.length === 0

/** How the response to a call ends where nothing between it and the client broke. */
function endOf({ call, answer }: TraceRecorder): ResponseEnd {
  const kind = answer?.failure?.kind
  if (kind === 'canceled' || (answer && !answer.complete && kind === undefined)) return 'left'
  return kind === 'disconnected' && call.aborted ? 'reset' : 'complete'
}

/** The headers that the response had; those of the HTTP server are its own. */
function headersSent({ call, answer, sent }: TraceRecorder, headers: Record<string, string>): Record<string, string> {
  const usual = answer?.content.kind === 'events' ? EVENT_STREAM : JSON_BODY
  const also = call.wire?.idHeader
  const id = headers[REQUEST_ID]
  return shownHeaders(
    Object.entries({
      ...headers,
      ...(sent?.type === undefined ? usual : { 'content-type': sent.type }),
      ...(sent?.cookies && { 'set-cookie': sent.cookies.join(', ') }),
      ...(also !== undefined && id !== undefined && headers[also] === undefined && { [also]: id }),
    }),
  )
}

/** The body of the response, where it is not the stored answer, and when its pieces went out. */
function bodyNote(
  { answer: record, sent }: TraceRecorder,
  before: string,
): Pick<ExchangeNote, 'response' | 'times'> | undefined {
  if (sent?.body) {
    const { pieces, times, more } = sent.body
    const isAnswer = more === 0 && pieces.length === 1 && keptText(pieces[0] ?? '') === before
    return { times, ...(!isAnswer && { response: kept(pieces, { before, more }) }) }
  }
  if (record?.content.kind !== 'events') return undefined
  return { times: record.content.times, response: kept(piecesOf(record.content, record), { before }) }
}

/** A stream that went to its client as the gateway gave it. */
function piecesOf({ events, closing = [] }: SentStream, { complete }: AnswerRecord): string[] {
  return [...events, ...closing, ...(complete ? [DONE_EVENT] : [])].map(encodeEvent)
}

/** As much of some pieces as is kept; `more` bytes came behind them. */
function kept(pieces: readonly BodyPiece[], { before, more = 0 }: { before: string; more?: number }): KeptBytes {
  const texts = pieces.map(keptText)
  const coded = frontCoded(texts, MAX_CHARACTERS, before)
  const [head, tail, middle] = coded.slice(-3)
  const last = Number(head ?? 0) + Number(tail ?? 0) + String(middle ?? '').length
  const isWhole = more === 0 && coded.length === 3 * texts.length && last === (texts.at(-1)?.length ?? 0)
  return isWhole ? { coded } : { coded, bytes: pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), more) }
}
