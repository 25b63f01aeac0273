// What is known of calls to providers that really happened: when each was made, and how it ended.

/** An error in a stream. */
export interface StreamError {
  /** Events before it; undefined if that is unknown. */
  after?: number | undefined
  /** Whether the provider said that it is overloaded. */
  isOverloaded: boolean
  message?: string | undefined
}

/** How an attempt ended, as its client saw it. */
export type EvidenceOutcome =
  | { kind: 'succeeded' }
  | {
      kind: 'status'
      status: number
      /** Milliseconds of `Retry-After`. */
      retryAfter?: number | undefined
      /** The body of the error: JSON or a text. */
      body?: object | string | undefined
    }
  /** An error in a stream whose status was a success. */
  | ({ kind: 'stream error' } & StreamError)
  /** The response broke off after this many bytes; undefined if that is unknown. */
  | { kind: 'cut'; bytes?: number | undefined }
  /** No response: the connection was reset, refused, or the name was unknown. */
  | { kind: 'reset' | 'refused' | 'unknown host' }
  /** A success whose body is an error and nothing else. */
  | { kind: 'error body'; body: object }
  /** A success without a body, where there should be one. */
  | { kind: 'empty body' }
  /** No response for this many milliseconds, until the client or the gateway gave up. */
  | { kind: 'silence'; ms: number }

/** One attempt. */
export interface EvidenceAttempt {
  /** Start, in ms since the first attempt; absent if the source has no times. */
  at?: number | undefined
  provider: string
  model?: string | undefined
  operation: string
  stream: boolean
  outcome: EvidenceOutcome
}

/** A phase of a published incident. */
export interface IncidentPhase {
  phase: 'down' | 'recovering'
  /** Milliseconds. */
  for: number
}

/** An incident of a status page: how long it lasted, but not what a call met. */
export interface EvidenceOfIncident {
  kind: 'incident'
  title: string
  provider: string
  /** Start: ISO 8601. */
  startedAt: string
  phases: readonly IncidentPhase[]
  impact: string
  /** A status that the texts name, such as 503. */
  status?: number | undefined
}

/** Attempts of a recording. */
export interface EvidenceOfAttempts {
  kind: 'attempts'
  /** What they were read from, such as `HAR`. */
  format: string
  /** Start of the first attempt: ISO 8601; absent if unknown. */
  startedAt?: string | undefined
  attempts: readonly EvidenceAttempt[]
  /** What could not be used, each in one line. */
  skipped: readonly string[]
}

/** What a scenario is made from. */
export type Evidence = EvidenceOfAttempts | EvidenceOfIncident

/** How an outcome is compared: the same status is the same outcome, whatever its text. */
export const outcomeName = (outcome: EvidenceOutcome): string =>
  outcome.kind === 'status' ? `status ${outcome.status}` : outcome.kind

/** The attempts in order of time, with times since the first one. */
export function inOrder(attempts: readonly EvidenceAttempt[]): EvidenceAttempt[] {
  if (attempts.some(({ at }) => at === undefined)) return [...attempts]
  const sorted = [...attempts].sort((one, other) => (one.at ?? 0) - (other.at ?? 0))
  const first = sorted[0]?.at ?? 0
  return sorted.map((attempt) => ({ ...attempt, at: Math.round((attempt.at ?? 0) - first) }))
}
