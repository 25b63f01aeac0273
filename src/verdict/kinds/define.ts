// What every kind of finding is: a look at what a client did.
import type { Finding, FindingKind } from '../../contract/core/finding.ts'
import type { StrayPath } from '../../contract/core/verification.ts'
import type { ClientCall } from '../client-call.ts'
import type { Pairing } from '../pairing.ts'
import type { UnreadTask } from '../tasks.ts'

/**
 * How the client ended: with success that is known, with a complaint of its own, stopped from outside, or by itself without anything
 * that shows whether it succeeded, as an exit code of 0 does; undefined while it may still go on.
 */
export type ClientEnd = 'well' | 'badly' | 'stopped' | 'unknown' | undefined

/** What a client did. */
export interface Behaviour {
  /** In the order in which they came. */
  calls: readonly ClientCall[]
  pairing: Pairing
  strays: readonly StrayPath[]
  /** Turns of tasks whose end it has not read. */
  unread: readonly UnreadTask[]
  /** Kinds that are no fault. */
  accepted: ReadonlySet<FindingKind>
  /** Most attempts for one request; a guess is made when it is not given. */
  maxAttempts: number | undefined
  end: ClientEnd
}

/** A finding before its evidence is written out. */
export interface FindingDraft extends Pick<Finding, 'severity' | 'message' | 'figures'> {
  /** The calls that show it. */
  calls: readonly ClientCall[]
  /** How often it happened. */
  count: number
  /** When it happened, for what left no traces. */
  at?: string
}

/** One kind of finding. */
export interface FindingDefinition {
  kind: FindingKind
  find(behaviour: Behaviour): FindingDraft[]
}

/** Calls for the same are one finding. */
export const requestKey = ({ operation, request }: ClientCall): string => `${operation} ${request}`

/** `once`, `3 times`. */
export const times = (count: number): string => (count === 1 ? 'once' : `${count} times`)

/** What became of a call, in words. */
export const endOf = ({ outcome, status }: ClientCall): string =>
  outcome === 'http_error' && status >= 400
    ? `status ${status}`
    : outcome === 'http_error'
      ? 'error in the stream'
      : outcome
