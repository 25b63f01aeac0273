// Helpers for the files of the fault kinds.
import { z } from 'zod'
import { Duration } from '../contract/core/duration.ts'
import type { FaultKind } from '../contract/core/fault.ts'
import { ConnectionFailure } from '../contract/core/reply.ts'

/**
 * Checks a kind's types: its options are those that `apply` gets.
 * @example
 * const about = { type: 'pass', summary: 'Changes nothing.', points: ['provider'], options: {}, example: {} }
 * defineFault({ ...about, apply: (_, next) => next() }).options.safeParse({ x: 1 }).success // => false
 */
export const defineFault = <Shape extends z.ZodRawShape>(
  kind: Omit<FaultKind<z.infer<z.ZodObject<Shape>>>, 'options'> & { options: Shape },
): FaultKind => ({ ...kind, options: z.strictObject(kind.options) }) as unknown as FaultKind

/** A kind whose connection ends before anything of an answer, `how` as the client sees it. */
export const endsEarly = (about: Pick<FaultKind, 'type' | 'summary'>, message: string, how: ConnectionFailure['how']) =>
  defineFault({
    ...about,
    points: ['provider', 'gateway'],
    options: { after: Duration.default(0).describe('Time before the failure.') },
    example: {},
    async apply({ after }, _, { triggered, clock, signal }) {
      triggered()
      if (after > 0) await clock.latency(after, signal)
      throw new ConnectionFailure(message, how)
    },
  })
