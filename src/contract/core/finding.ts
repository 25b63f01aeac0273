// What a judge says of a client without being asked, and what it knows of each of its calls.
import { z } from 'zod'

/** What can be found; a scenario accepts some by these words. */
export const FindingKind = z
  .enum([
    'early-retry',
    'retry-storm',
    'gave-up',
    'swallowed',
    'ignored-status',
    'no-backoff',
    'retry-amplification',
    'not-canceled',
    'no-timeout',
    'deadline-exceeded',
    'compaction-loop',
    'executed-truncated',
    'cache-prefix-broken',
    'unknown-path',
    'not-exercised',
  ])
  .describe(
    [
      'early-retry: the client retried before the time in Retry-After had passed.',
      'retry-storm: the client repeated the same failing request many times without growing pauses.',
      'gave-up: a request never succeeded, and the client stopped trying.',
      'swallowed: a response was incomplete, and nothing shows that it was retried.',
      'ignored-status: the client repeated a request after a non-retryable error such as 400 or 401.',
      'no-backoff: the client repeated a failing request three times or more, each within 250 ms.',
      'retry-amplification: one request caused more attempts than `max_attempts` of the scenario, or more than 20.',
      'not-canceled: the client repeated a call without canceling the first one, which was still in progress.',
      'no-timeout: the client was still waiting for a silent call after the hang limit of exec.',
      'deadline-exceeded: a skipped wait was longer than the timeout of the client.',
      'compaction-loop: the client sent a conversation three times in a row that was too long, without shortening it.',
      'executed-truncated: the client sent a tool result for a call whose arguments were cut off.',
      'cache-prefix-broken: the beginning of the prompt changed from call to call of a conversation, so that prompt caches are of no use.',
      'unknown-path: the client called a path that does not exist.',
      'not-exercised: only under `accept`: a run in which no fault was injected is not inconclusive.',
    ].join(' '),
  )
export type FindingKind = z.infer<typeof FindingKind>

/** One finding with its evidence. */
export const Finding = z.object({
  kind: FindingKind,
  severity: z.enum(['error', 'warning']).describe('Errors make the verdict fail. Warnings do so only in strict mode.'),
  accepted: z.boolean().describe('Whether the scenario accepts this finding, so that it does not affect the verdict.'),
  message: z.string().describe('Description of the finding.'),
  operation: z.string().nullable().describe('Name of the operation, if there is one.'),
  count: z.int().min(1).describe('Number of occurrences.'),
  traces: z.array(z.string()).describe('Ids of the traces that are evidence, at most 20.'),
  at: z.iso.datetime().nullable().describe('Time of the first occurrence.'),
  figures: z.record(z.string(), z.number()).describe('Figures of the evidence. Times are in milliseconds.'),
})
export type Finding = z.infer<typeof Finding>

/** What a call says of the client behind it, and what the client was told, as far as a judge needs it. */
export interface ClientMark {
  /** The connection that it came on; null when it came on none. */
  connection: string | null
  /** Which repetition it says it is: 0 for a first try; null when it does not say. */
  retry: number | null
  /** A fingerprint of its idempotency key. */
  key: string | null
  /** A fingerprint of the API key that it was made with, never the key itself; absent when it had none, or that was not kept. */
  caller?: string
}

/** A call of the workspace, as far as a judge needs it. Times are in ms since the epoch, `began` and `ended` on the session's clock. */
export interface WorkspaceCallNote {
  operation: string
  method: string
  /** A fingerprint of all that was sent. */
  request: string
  /** Calls of the workspace are numbered as they come, and `until` is that of the last one that had come when this ended. */
  number: number
  until: number
  began: number
  ended: number
  arrived: number
  left: number
  outcome: 'succeeded' | 'http_error' | 'canceled'
  status: number
  /** How long the response told the client to wait; null when it said nothing that this client could act on. */
  wait: number | null
  /** Whether the response said itself whether the call may be repeated. */
  advised?: true
  client: ClientMark
}

/** How long a client waits for the beginning of a response, in ms. */
export interface ClientTimeout {
  ms: number
  /** The client did not declare it: it is the default of its SDK. */
  assumed?: true
}

/** A call that we reset after `limit` ms of silence, which would have ended by itself after `silence` ms, where that is known. */
export interface SilentCall {
  limit: number
  silence?: number
}

/** A client's mark as it is kept beside a trace. */
export interface ClientNote extends ClientMark {
  /** The number of the last call of the session that had come when the answer ended. */
  until: number
  /** The headers of the call, as far as they may be shown; absent when they were not kept. */
  headers?: Record<string, string>
  /** A fingerprint of a request that is not kept itself, and of what it asks. */
  request?: string
  question?: string
  /** Whether the answer said itself, against the habits of its status, that it may be repeated or must not be. */
  advised?: true
  /** Whether the wait was told as a date of a clock that is not the client's. */
  dated?: true
  /** How long it waits for a response, in ms: as its headers declare, or as its SDK does where it declares nothing. */
  timeout?: ClientTimeout
  hung?: SilentCall
}
