// Reads a response as a correct client of its API does, with the reader that the gateway uses for providers.
import type { Operation } from '../../contract/core/operation.ts'
import type { BytesBody, Reply } from '../../contract/core/reply.ts'
import type { Wire } from '../../contract/core/wire.ts'
import { nextTurn } from '../../lib/bare-socket.ts'
import { once } from '../../lib/once.ts'
import type { StreamEvent } from '../../lib/sse.ts'
import { type Failure, failureOf } from '../outcome.ts'
import { type AnswerRules, read } from './read.ts'

/** What a client reads from a response: its value or the events so far, and what is wrong with it. */
export interface SentContent {
  value?: unknown
  /** The value as JSON, as it was sent. */
  text?: string | undefined
  events?: StreamEvent[]
  failure?: Failure | undefined
}

/** How a response is read. */
interface SentReading {
  rules: AnswerRules
  stream: boolean
  /** Called at the first content, and possibly again. */
  contentBegan(): void
}

/** How clients of a compatible API read the responses of an operation. */
export const rulesOnWire = (operation: Operation, wire: Wire): AnswerRules => ({
  name: operation.name,
  answerName: operation.answerName,
  ...(operation.binary && { binary: operation.binary }),
  events: wire.events ?? operation.events,
  wrongWith: wire.wrongWith ?? operation.wrongWith,
})

/** Never aborted: a reader always reads everything that was sent. */
const NEVER = new AbortController().signal

/** What a client reads from a whole body; `error` is what broke the connection after it, if anything. */
export function readSent(
  reply: Pick<Reply, 'status' | 'headers'>,
  { bytes, contentType }: BytesBody & { bytes: Uint8Array },
  { error, ...reading }: SentReading & { error?: unknown },
): Promise<SentContent> {
  return contentOf(
    reply,
    { kind: 'bytes', contentType, bytes: error === undefined ? bytes : brokenAfter(bytes, error) },
    reading,
  )
}

async function* brokenAfter(bytes: Uint8Array, error: unknown): AsyncGenerator<Uint8Array> {
  yield bytes
  throw error
}

/** Reads a response while it is sent, in other turns than those that send it. */
export class SentReader {
  readonly #pieces = new PieceQueue()
  readonly #read: () => Promise<SentContent>

  constructor(
    reply: Pick<Reply, 'status' | 'headers'>,
    { contentType }: Pick<BytesBody, 'contentType'>,
    reading: SentReading,
  ) {
    this.#read = once(() => contentOf(reply, { kind: 'bytes', contentType, bytes: this.#pieces.all() }, reading))
  }

  /** Adds the next piece of the body. */
  add(piece: Uint8Array): void {
    if (this.#pieces.add(piece)) void nextTurn().then(this.#read)
  }

  /** The content of the response; `error` is what broke the connection, if anything. */
  end(error?: unknown): Promise<SentContent> {
    this.#pieces.end(error)
    return this.#read()
  }
}

async function contentOf(
  { status, headers }: Pick<Reply, 'status' | 'headers'>,
  body: BytesBody,
  { rules, stream, contentBegan }: SentReading,
): Promise<SentContent> {
  const events: StreamEvent[] = []
  const reply = { status, headers, body, usage: null, fixture: null, generated: false }
  try {
    const content = await read(reply, { operation: rules, stream, signal: NEVER })
    if (content.kind === 'whole') {
      contentBegan()
      return { value: content.value, text: content.text }
    }
    for await (const batch of content.events) {
      if (batch.some(({ tokens }) => Boolean(tokens))) contentBegan()
      events.push(...batch)
    }
    return { events }
  } catch (error) {
    return { events, failure: failureOf(error, NEVER) }
  }
}

/** Pieces that wait for their reader. */
class PieceQueue {
  #waiting: Uint8Array[] = []
  #ended: { error: unknown } | undefined
  #wake: (() => void) | undefined
  #woken = false

  #isRead = false

  /** Adds a piece; returns whether nobody reads yet. A reader gets the piece in a later turn. */
  add(piece: Uint8Array): boolean {
    this.#waiting.push(piece)
    if (!this.#wake || this.#woken) return !this.#isRead
    this.#woken = true
    void nextTurn().then(() => {
      this.#woken = false
      this.#wake?.()
    })
    return false
  }

  end(error: unknown): void {
    this.#ended ??= { error }
    this.#wake?.()
  }

  async *all(): AsyncGenerator<Uint8Array> {
    this.#isRead = true
    for (;;) {
      const pieces = this.#waiting
      this.#waiting = []
      yield* pieces
      if (this.#waiting.length > 0) continue
      if (this.#ended) {
        if (this.#ended.error !== undefined) throw this.#ended.error
        return
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}
