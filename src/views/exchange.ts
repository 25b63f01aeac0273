// Assembles the wire data of a call from what is stored.
import type { Bytes, Exchange, SentChunk } from '../contract/core/exchange.ts'
import type { ExchangeNote, KeptBytes } from '../contract/core/exchange-note.ts'
import { NO_TIME } from '../contract/core/exchange-note.ts'
import type { Operation } from '../contract/core/operation.ts'
import type { StoredTrace } from '../contract/core/trace.ts'
import type { TraceStore } from '../db/trace-store.ts'
import { frontDecoded } from '../lib/front-coding.ts'
import { keptBytes } from '../lib/kept-text.ts'
import { sumOf } from '../lib/values.ts'
import { bytesIn, joinedBytes, toBase64 } from './wire-text.ts'

/** A store of traces, and the registry of their operations. */
export interface CallReader {
  traces: TraceStore
  operation(name: string): Operation | undefined
}

/** The wire data of a call, byte by byte. */
export function exchangeOf(trace: StoredTrace, { traces, operation }: CallReader): Exchange {
  const stored = traces.exchange(trace.id)
  if (!stored) return { object: 'exchange', request: null, response: null, ended: null }
  const { note, request, answer } = stored
  const body = note.request ? kept(note.request, request) : whole([request])
  return {
    object: 'exchange',
    request: {
      method: 'POST',
      address: note.address ?? operation(trace.operation)?.path ?? '',
      headers: note.received ?? trace.request_headers,
      body: joined(body.texts),
      bytes: body.bytes,
      truncated: body.truncated,
    },
    response: note.nothing ? null : responseOf(trace, note, answer),
    ended: note.ended ?? 'complete',
  }
}

function responseOf(trace: StoredTrace, note: ExchangeNote, answer: string): Exchange['response'] {
  const { status = trace.status } = note
  if (note.dropped) return { status, headers: null, body: null, bytes: null, truncated: false }
  const { texts, bytes, truncated } = note.response ? kept(note.response, answer) : whole([answer])
  const times = timesOf(note.times ?? [], texts.length)
  const body = texts.map((text, index): SentChunk => ({ at_ms: times[index] ?? null, ...keptBytes(text) }))
  return { status, headers: note.headers ?? null, body, bytes, truncated }
}

/** Texts of bytes, and their length. */
const whole = (texts: readonly string[]) => {
  const bytes = sumOf(texts, (text) => bytesIn(keptBytes(text)).byteLength)
  return { texts, bytes, truncated: false }
}

function kept({ coded, bytes }: KeptBytes, before: string): ReturnType<typeof whole> {
  const texts = frontDecoded(coded, before)
  return bytes === undefined ? whole(texts) : { texts, bytes, truncated: true }
}

/** Pieces joined. */
function joined(texts: readonly string[]): Bytes {
  const [first] = texts
  if (first === undefined) return { text: '' }
  return texts.length === 1 ? keptBytes(first) : { base64: toBase64(joinedBytes(texts.map(keptBytes))) }
}

/** The time of each piece, if it was stored. */
function timesOf(times: readonly number[], pieces: number): (number | null)[] {
  const found: (number | null)[] = []
  for (let at = 0; at < times.length; at += 2) {
    const [from = 0, time = NO_TIME] = times.slice(at, at + 2)
    const to = Math.min(times[at + 2] ?? pieces, pieces)
    for (let index = from; index < to; index++) found[index] = time === NO_TIME ? null : time
  }
  return found
}
