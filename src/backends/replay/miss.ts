// The error for a request or a read that a cassette has no response for.

import { type FieldDifference, fieldDifferenceText } from '../../cassettes/nearest.ts'
import type { Interaction } from '../../contract/core/cassette.ts'
import { ApiError } from '../../contract/core/error.ts'

/** Why a cassette has no response. */
export type MissReason = 'no cassette' | 'no interaction' | 'all used' | 'read on' | 'not recorded'

/** A request or a read without a recorded response. */
export interface Miss {
  session: string
  operation: string
  /** Name of the provider and the model. */
  model: string
  reason: MissReason
  /** The reason in a sentence. */
  message: string
  /** The interaction that differs least. */
  nearest: { line: number; differences: readonly FieldDifference[] } | null
}

/** The error of a miss. Retrying cannot fix it. */
export class ReplayMiss extends ApiError {
  readonly miss: Miss

  constructor(miss: Miss) {
    super(404, 'replay_miss', `${miss.message}${nearestText(miss)}`, { headers: { 'x-should-retry': 'false' } })
    this.miss = miss
  }
}

/** An interaction with its line in the file. */
export type PlacedInteraction = Interaction & { line: number }

const MAX_DIFFERENCES = 5

function nearestText({ nearest }: Pick<Miss, 'nearest'>): string {
  if (!nearest) return ''
  const { line, differences } = nearest
  const more = differences.length - MAX_DIFFERENCES
  const shown = differences.slice(0, MAX_DIFFERENCES).map(fieldDifferenceText)
  return `; the nearest interaction is at line ${line}: ${[...shown, ...(more > 0 ? [`${more} more`] : [])].join('; ')}`
}
