// The parts of a record in the tuple of its row (trace-row.ts): each a tuple itself.
import { DROPPED, type ExchangeNote, KNOWN } from '../contract/exchange-note.ts'
import type { ClientNote } from '../contract/finding.ts'
import type { AttemptRecord } from '../contract/trace.ts'

/** What was packed here. */
export type Packed = ReturnType<typeof JSON.parse>

/** Without what is null at its end; what is missing before it is null, since `undefined` in a list makes JSON three times as slow. */
export function trimmed(tuple: unknown[]): unknown[] {
  while (tuple.length > 0 && tuple[tuple.length - 1] == null) tuple.length--
  for (let place = 0; place < tuple.length; place++) tuple[place] ??= null
  return tuple
}
/** Null for a list that is empty. */
export const filled = <Item>(list: readonly Item[]) => (list.length === 0 ? null : list)

/** An attempt; most are the first one, of the model that answered. */
export const packedAttempt = (attempt: AttemptRecord, model: string | null): unknown[] =>
  trimmed([
    attempt.target === model ? null : attempt.target,
    attempt.position,
    attempt.number,
    attempt.why === 'first' ? null : attempt.why,
    attempt.wait_ms,
    attempt.started_ms,
    attempt.first_content_ms,
    attempt.duration_ms,
    attempt.outcome === 'answered' ? null : attempt.outcome,
    attempt.status === 200 ? null : attempt.status,
    attempt.request_id,
    attempt.error,
    filled(attempt.faults),
    attempt.fixture,
  ])

/** An attempt as it was. */
export function unpackedAttempt(packed: Packed, model: string | null): AttemptRecord {
  const [target, position, number, why, wait_ms, started_ms, first_content_ms = null, duration_ms, ...rest] = packed
  const [outcome, status, request_id = null, error = null, faults, fixture] = rest
  return {
    target: target ?? model,
    position,
    number,
    why: why ?? 'first',
    faults: faults ?? [],
    wait_ms,
    started_ms,
    first_content_ms,
    duration_ms,
    outcome: outcome ?? 'answered',
    status: status ?? 200,
    request_id,
    error,
    ...(fixture !== undefined && { fixture }),
  }
}

/** What is kept of the connection of a call; mostly nothing but that there was one. */
export function packedExchange(note: ExchangeNote | undefined): string | null {
  if (note === undefined) return null
  return note === DROPPED ? PACKED_DROPPED : note === KNOWN ? NOTHING_MORE : packedNote(note)
}

function packedNote(note: ExchangeNote): string {
  const tuple = trimmed([
    note.address,
    note.headers,
    note.times,
    note.response?.coded,
    note.response?.bytes,
    note.request?.coded,
    note.request?.bytes,
    note.ended,
    note.nothing,
    note.dropped,
    note.received,
    note.status,
  ])
  return tuple.length === 0 ? NOTHING_MORE : JSON.stringify(tuple)
}
const NOTHING_MORE = '[]'
const PACKED_DROPPED = packedNote(DROPPED)

/** The same as it was. */
export function unpackedExchange(packed: string): ExchangeNote {
  const [address, headers, times, sent, sentBytes, received, receivedBytes, ended, nothing, dropped, ...more]: Packed =
    JSON.parse(packed)
  const [receivedHeaders, status] = more
  return {
    ...(address != null && { address }),
    ...(headers != null && { headers }),
    ...(times != null && { times }),
    ...(sent != null && { response: { coded: sent, bytes: sentBytes ?? undefined } }),
    ...(received != null && { request: { coded: received, bytes: receivedBytes ?? undefined } }),
    ...(ended != null && { ended }),
    ...(nothing != null && { nothing }),
    ...(dropped != null && { dropped }),
    ...(receivedHeaders != null && { received: receivedHeaders }),
    ...(status != null && { status }),
  }
}

/** The note of a client. */
export const packedClient = (client: ClientNote): unknown[] =>
  trimmed([
    client.connection,
    client.retry,
    client.key,
    client.until,
    client.headers,
    client.request,
    client.advised,
    client.dated,
    client.timeout,
    client.hung,
    client.caller,
    client.question,
  ])

/** The note as it was made, and as those of version 9 are stored. */
export function unpackedClient(packed: Packed): ClientNote | null {
  if (!Array.isArray(packed)) return packed as ClientNote | null
  const [connection = null, retry = null, key = null, until, headers, request, ...rest] = packed
  const [advised, dated, timeout, hung, caller, question] = rest
  return {
    connection,
    retry,
    key,
    ...(caller != null && { caller }),
    until,
    ...(request != null && { request }),
    ...(question != null && { question }),
    ...(advised && { advised }),
    ...(dated && { dated }),
    ...(timeout && { timeout }),
    ...(hung && { hung }),
    ...(headers && { headers }),
  }
}
