// The bytes of a response as they are sent, noted as they go: by reference, as far as they may be kept.
import { NO_TIME } from '../../contract/core/exchange-note.ts'

/** Numbers of times, two for each turn in which something went out. */
const MAX_TIMES = 4_000
/** Bytes, or UTF-16 units, that are held: more of them than are kept, since what repeats takes no room there. */
const MAX_HELD = 1 << 20

/** A piece of a body, as it was given to the connection. */
export type BodyChunk = string | Uint8Array

/** Events that are there at once, after which the clock is looked at all the same: they may be sent in several turns. */
export const EVENTS_OF_A_TURN = 64

/** Notes, in pairs, that the piece of this number goes out now. */
export function noteTime(times: number[], piece: number, now: number): void {
  if (times.length >= MAX_TIMES || times[times.length - 1] === now) return
  times.push(piece, times.length + 2 < MAX_TIMES ? now : NO_TIME)
}

/** What is sent of a body. */
export class SentBody {
  readonly pieces: BodyChunk[] = []
  readonly times: number[] = []
  /** Bytes of what was sent and is not among the pieces. */
  more = 0
  #held = 0

  /** The next piece, and the ms from the start of the call at which it goes out; undefined when that is as the one before. */
  add(piece: BodyChunk, now: number | undefined): void {
    this.#held += piece.length
    if (this.#held > MAX_HELD && this.pieces.length > 0) {
      this.more += Buffer.byteLength(piece)
      return
    }
    if (now !== undefined) noteTime(this.times, this.pieces.length, now)
    this.pieces.push(piece)
  }

  /** Adds pieces as they pass. */
  noting<Piece extends BodyChunk>(elapsed: () => number): (piece: Piece) => Piece {
    return (piece) => {
      this.add(piece, elapsed())
      return piece
    }
  }
}

/** What is sent of a whole body, in one piece when the call ends. */
export function sentWhole(piece: BodyChunk): SentBody {
  const body = new SentBody()
  body.pieces.push(piece)
  return body
}
