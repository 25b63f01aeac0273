// Records the bytes of a response as they are sent: by reference, up to a limit.
import { NO_TIME } from '../../contract/core/exchange-note.ts'
import { type EventBatch, encodeEvent } from '../../lib/sse.ts'

/** Maximum length of `times`, which has two numbers for each turn that sent something. */
const MAX_TIMES = 4_000
/** Maximum size of the recorded pieces, in bytes or UTF-16 units. More than is kept, since repetitions take no space there. */
const MAX_RECORDED = 1 << 20

/** A piece of a body, as it was written to the connection. */
export type BodyChunk = string | Uint8Array

/** Records that this piece is sent now, as a pair of numbers. */
export function noteTime(times: number[], piece: number, now: number): void {
  if (times.length >= MAX_TIMES || times[times.length - 1] === now) return
  times.push(piece, times.length + 2 < MAX_TIMES ? now : NO_TIME)
}

/** The recorded part of a body. */
export class SentBody {
  readonly pieces: BodyChunk[] = []
  readonly times: number[] = []
  /** Bytes that were sent and are not in `pieces`. */
  more = 0
  #size = 0

  /** Adds a piece; `now` is the ms since the start of the call, undefined for the time of the previous piece. */
  add(piece: BodyChunk, now: number | undefined): void {
    this.#size += piece.length
    if (this.#size > MAX_RECORDED && this.pieces.length > 0) {
      this.more += Buffer.byteLength(piece)
      return
    }
    if (now !== undefined) noteTime(this.times, this.pieces.length, now)
    this.pieces.push(piece)
  }

  /** Adds events, and returns them. */
  addEvents(batch: EventBatch, now: number): EventBatch {
    for (const event of batch) this.add(encodeEvent(event), now)
    return batch
  }

  /** Returns a function that records each piece and passes it on. */
  noting<Piece extends BodyChunk>(elapsed: () => number): (piece: Piece) => Piece {
    return (piece) => {
      this.add(piece, elapsed())
      return piece
    }
  }
}

/** A whole body, sent in one piece when the call ends. */
export function sentWhole(piece: BodyChunk): SentBody {
  const body = new SentBody()
  body.pieces.push(piece)
  return body
}
