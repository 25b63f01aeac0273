// Findings about a client, and what is known about each of its calls.
import { z } from 'zod'

/** The kinds of findings, as scenarios accept them. */
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
    'history-refused',
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
      'history-refused: the client sent a conversation that its provider rejects, such as a tool call without its result.',
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

/** What a call tells about its client, as far as the verdict needs it. */
export interface ClientMark {
  /** The connection that it used; null if it is unknown. */
  connection: string | null
  /** The declared retry number: 0 for a first attempt; null if it is not declared. */
  retry: number | null
  /** A fingerprint of its idempotency key. */
  key: string | null
  /** A fingerprint of its API key, never the key itself; absent if it had none or it was not stored. */
  caller?: string
}

/**
 * A call of the workspace, as far as the verdict needs it. Times are in ms since the epoch, `began` and `ended` on the
 * session's clock.
 */
export interface WorkspaceCallNote {
  operation: string
  method: string
  /** A fingerprint of the whole request. */
  request: string
  /** Number of the workspace call. `until` is that of the last one that had arrived when this one ended. */
  number: number
  until: number
  began: number
  ended: number
  arrived: number
  left: number
  outcome: 'succeeded' | 'http_error' | 'canceled'
  status: number
  /** The wait that the response requested, in ms; null if there was none that this client supports. */
  wait: number | null
  /** Whether the response declared whether the call may be retried. */
  advised?: true
  client: ClientMark
}

/** How long a client waits for the start of a response, in ms. */
export interface ClientTimeout {
  ms: number
  /** Whether it is the default of the client's SDK instead of a declared value. */
  assumed?: true
}

/** A call that was reset after `limit` ms of silence and would have continued after `silence` ms, if known. */
export interface SilentCall {
  limit: number
  silence?: number
}

/** A client's mark as it is stored with a trace. */
export interface ClientNote extends ClientMark {
  /** The number of the session's last call that had arrived when the response ended. */
  until: number
  /** The headers of the call, as far as they may be shown; absent if they were not stored. */
  headers?: Record<string, string>
  /** A fingerprint of a request that is not stored, and of its content. */
  request?: string
  question?: string
  /** Whether the response declared, contrary to its status, that a retry is allowed or forbidden. */
  advised?: true
  /** Whether the wait was given as a date of a clock that is not the client's. */
  dated?: true
  /** How long it waits for a response, in ms: by its headers, or else by the default of its SDK. */
  timeout?: ClientTimeout
  hung?: SilentCall
  /**
   * Whether the client may have the whole response although the call did not succeed: its only flaw is the content type,
   * or the client left a stream that had already finished.
   */
  readable?: true
  /** How long after the end of the call its broken connection ended, in ms of real time. */
  ends_after?: number
}
