// What a call says of the client behind it: its connection, which repetition it is, its idempotency key.
import type { ClientNote } from '../contract/finding.ts'
import { fingerprint } from '../lib/ids.ts'
import type { Call } from './call.ts'
import { isDated } from './retry.ts'

/** Headers that count repetitions from 0, by SDKs of model providers, proxies and gRPC. */
const COUNTS = ['x-stainless-retry-count', 'x-retry-count', 'grpc-previous-rpc-attempts']
/** AWS counts attempts from 1: `attempt=2; max=3`. */
const AWS_ATTEMPT = /\battempt=(\d+)/

/** The note of a call that has ended; `told` are the headers of its answer when that is a refusal. */
export function clientNote(
  { headers, hold, session, retained, text }: Call,
  answerHeaders: Record<string, string>,
): ClientNote {
  const key = headers.get('idempotency-key')
  const note: ClientNote = {
    connection: hold?.peer?.() ?? null,
    retry: retryOf(headers),
    key: key === null ? null : fingerprint(key),
    until: session.calls,
  }
  if (!retained) note.request = fingerprint(text)
  if (answerHeaders['x-should-retry'] !== undefined) note.advised = true
  if (session.clock.kind === 'virtual' && isDated(answerHeaders)) note.dated = true
  return note
}

function retryOf(headers: Headers): number | null {
  for (const name of COUNTS) {
    const text = headers.get(name)
    if (text !== null && /^\d{1,4}$/.test(text)) return Number(text)
  }
  const attempt = AWS_ATTEMPT.exec(headers.get('amz-sdk-request') ?? '')?.[1]
  return attempt === undefined ? null : Math.max(0, Number(attempt) - 1)
}
