// Types and helpers for kinds of findings.
import type { Finding, FindingKind } from '../../contract/core/finding.ts'
import type { UnknownPath } from '../../contract/core/verification.ts'
import type { ClientCall } from '../client-call.ts'
import type { Pairing } from '../pairing.ts'
import type { UnreadTask } from '../tasks.ts'

/**
 * How the client ended: successfully, with an error of its own, stopped from outside, or without evidence of success, such as an
 * exit code of 0. Undefined while it may still be running.
 */
export type ClientEnd = 'well' | 'badly' | 'stopped' | 'unknown' | undefined

/** The calls of a client with the rules to judge them. */
export interface Behavior {
  /** In order of arrival. */
  calls: readonly ClientCall[]
  pairing: Pairing
  /** Runs of equal calls, each after the response of the one before. */
  runs: readonly (readonly ClientCall[])[]
  unknownPaths: readonly UnknownPath[]
  /** Turns whose final status it has not read. */
  unread: readonly UnreadTask[]
  /** Kinds that the scenario accepts. */
  accepted: ReadonlySet<FindingKind>
  /** Maximum attempts per request. A default applies if undefined. */
  maxAttempts: number | undefined
  end: ClientEnd
}

/** A finding without its evidence. */
export interface FindingDraft extends Pick<Finding, 'severity' | 'message' | 'figures'> {
  /** The calls that show it. */
  calls: readonly ClientCall[]
  /** Number of occurrences. */
  count: number
  /** Time of the finding, if it has no calls. */
  at?: string
}

/** One kind of finding. */
export interface FindingDefinition {
  kind: FindingKind
  find(behavior: Behavior): FindingDraft[]
}

/** A count in words: `once`, `3 times`. */
export const times = (count: number): string => (count === 1 ? 'once' : `${count} times`)

/** A description of the outcome of a call. */
export const endOf = ({ outcome, status }: ClientCall): string =>
  outcome === 'http_error' && status >= 400
    ? `status ${status}`
    : outcome === 'http_error'
      ? 'error in the stream'
      : outcome
