// Records what a call's connection carried, unless other fields of the trace already have it.
import { REQUEST_ID } from '../../contract/core/answer-headers.ts'
import type { ResponseEnd } from '../../contract/core/exchange.ts'
import { DROPPED, type ExchangeNote, type KeptBytes, KNOWN } from '../../contract/core/exchange-note.ts'
import { frontCoded } from '../../lib/front-coding.ts'
import { keptText } from '../../lib/kept-text.ts'
import { DONE_EVENT, encodeEvent } from '../../lib/sse.ts'
import { EVENT_STREAM, JSON_BODY } from '../stream/respond.ts'
import type { BodyChunk, SentBody } from '../stream/sent-body.ts'
import type { TraceRecorder } from './recorder.ts'
import type { AnswerRecord, AttemptAnswer, SentStream } from './recording.ts'
import type { TraceRedaction } from './redaction.ts'
import { addressShown, shownHeaders } from './request-headers.ts'

/** Maximum size of a kept request or response, in characters, without what repeats the previous text. */
const MAX_CHARACTERS = 64 * 1024

/** What is known when the call ends. */
interface NoteOptions {
  /** The stored response as JSON. */
  answer: string
  /** Headers of the response; undefined when a successful call keeps only the minimum. */
  headers: Record<string, string> | undefined
  /** The stored request. */
  request: string
  /** Changes the pieces of a body to the form in which they are stored. */
  redaction: Pick<TraceRedaction, 'pieces'> | undefined
}

/** The note of a call that has ended; undefined for an internal call. */
export function exchangeNote(
  recording: TraceRecorder,
  { answer, headers, request, redaction }: NoteOptions,
): ExchangeNote | undefined {
  const { call, sent } = recording
  const { received, unread } = call
  if (!received) return undefined
  const ended = sent?.ended ?? endOf(recording)
  const isOfMany = isOrdinary(recording) || (redaction !== undefined && isUnchanged(recording))
  const isDropped = !headers && !sent?.nothing && ended === 'complete' && isOfMany
  const address = addressShown(received.url)
  const isUsual = !unread && address === call.operation.path && ended === 'complete'
  if (isDropped && isUsual) return DROPPED
  // The response is the stored one.
  if (isUsual && !sent && !headers && recording.answer?.content.kind !== 'events') return KNOWN
  const note: ExchangeNote = {}
  if (address !== call.operation.path) note.address = address
  if (unread) note.request = keptBytes(redacted([unread], redaction), { before: request })
  if (ended !== 'complete') note.ended = ended
  if (sent?.nothing) note.nothing = true
  else if (isDropped) note.dropped = true
  else {
    if (headers) note.headers = headersSent(recording, headers)
    Object.assign(note, bodyNote(recording, answer, redaction))
  }
  return note
}

/** The request as received. */
interface ReceivedBytes {
  url: string
  headers: Headers
  body: Uint8Array
}

/** The response as sent. */
interface SentBytes {
  status: number
  headers: Headers
  body: SentBody
  ended: ExchangeNote['ended']
}

/** The note of a call whose bytes are nowhere else in its trace. */
export function keptExchange(received: ReceivedBytes, { status, headers, body, ended }: SentBytes): ExchangeNote {
  const { pieces, times, more } = body
  return {
    address: addressShown(received.url),
    received: shownHeaders(received.headers),
    request: keptBytes([received.body], { before: '' }),
    status,
    headers: shownHeaders(headers),
    ...(ended && { ended }),
    times,
    response: keptBytes(pieces, { before: '', more }),
  }
}

/** Whether it is a whole stream without faults. While cassettes are in use, they have its bytes. */
const isUnchanged = ({ answer, steps }: TraceRecorder): boolean =>
  answer?.content.kind === 'events' &&
  answer.complete &&
  steps.faults.length === 0 &&
  steps.attempts.every(({ faults }) => faults.length === 0)

/** Whether it is an unmodified stream of the stored response. Keeping many of those takes too long. */
const isOrdinary = ({ answer, steps }: TraceRecorder): boolean =>
  answer?.content.kind === 'events' && answer.complete && steps.faults.length === 0 && isComposed(answer.answer)

/** Whether a response was generated or came from a fixture, without faults. */
const isComposed = ({ attempt, from }: AttemptAnswer): boolean =>
  (from.generated || from.fixture !== null) && attempt?.faults.length === 0

/** How a response ended, when nothing between gateway and client broke it. */
function endOf({ call, answer }: TraceRecorder): ResponseEnd {
  const kind = answer?.failure?.kind
  if (kind === 'canceled' || (answer && !answer.complete && kind === undefined)) return 'left'
  return kind === 'disconnected' && call.aborted ? 'reset' : 'complete'
}

/** The headers of the response, without those that the HTTP server adds. */
function headersSent({ call, answer, sent }: TraceRecorder, headers: Record<string, string>): Record<string, string> {
  const usual = answer?.content.kind === 'events' ? EVENT_STREAM : JSON_BODY
  const idHeader = call.wire?.idHeader
  const id = headers[REQUEST_ID]
  return shownHeaders(
    Object.entries({
      ...headers,
      ...(sent?.type === undefined ? usual : { 'content-type': sent.type }),
      ...(sent?.cookies && { 'set-cookie': sent.cookies.join(', ') }),
      ...(idHeader !== undefined && id !== undefined && headers[idHeader] === undefined && { [idHeader]: id }),
    }),
  )
}

/** The body of the response, when it is not the stored one, and the times at which its pieces were sent. */
function bodyNote(
  { answer: record, sent }: TraceRecorder,
  before: string,
  redaction: NoteOptions['redaction'],
): Pick<ExchangeNote, 'response' | 'times'> | undefined {
  if (sent?.body) {
    const { pieces: original, times, more } = sent.body
    const pieces = redacted(original, redaction)
    const texts = pieces.map(keptText)
    const isAnswer = more === 0 && texts.length === 1 && texts[0] === before
    return isAnswer ? { times } : { times, response: codedBytes(texts, pieces, { before, more }) }
  }
  if (record?.content.kind !== 'events') return undefined
  return {
    times: record.content.times,
    response: keptBytes(redacted(piecesOf(record.content, record), redaction), { before }),
  }
}

const redacted = (pieces: readonly BodyChunk[], redaction: NoteOptions['redaction']): readonly BodyChunk[] =>
  redaction?.pieces(pieces) ?? pieces

/** The pieces of a stream that reached its client unchanged. */
function piecesOf({ events, closing = [] }: SentStream, { complete }: AnswerRecord): string[] {
  return [...events, ...closing, ...(complete ? [DONE_EVENT] : [])].map(encodeEvent)
}

/** What is known of the pieces of a body. */
interface PieceOptions {
  /** The text that they may resemble. */
  before: string
  /** How many bytes followed them; default: none. */
  more?: number
}

const keptBytes = (pieces: readonly BodyChunk[], options: PieceOptions): KeptBytes =>
  codedBytes(pieces.map(keptText), pieces, options)

/** The texts of pieces, up to the size that is kept. */
function codedBytes(
  texts: readonly string[],
  pieces: readonly BodyChunk[],
  { before, more = 0 }: PieceOptions,
): KeptBytes {
  const coded = frontCoded(texts, MAX_CHARACTERS, before)
  const [head, tail, middle] = coded.slice(-3)
  const last = Number(head ?? 0) + Number(tail ?? 0) + String(middle ?? '').length
  const isWhole = more === 0 && coded.length === 3 * texts.length && last === (texts.at(-1)?.length ?? 0)
  return isWhole ? { coded } : { coded, bytes: pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), more) }
}
