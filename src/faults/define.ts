// Helpers for defining fault types.
import { z } from 'zod'
import { Duration } from '../contract/core/duration.ts'
import type { FaultKind } from '../contract/core/fault.ts'
import { ConnectionFailure } from '../contract/core/reply.ts'

/**
 * Defines a fault type. Its options have the type that `apply` receives.
 * @example
 * const about = { type: 'pass', summary: 'Changes nothing.', points: ['provider'], options: {}, example: {} }
 * defineFault({ ...about, apply: (_, next) => next() }).options.safeParse({ x: 1 }).success // => false
 */
export const defineFault = <Shape extends z.ZodRawShape>(
  kind: Omit<FaultKind<z.infer<z.ZodObject<Shape>>>, 'options'> & { options: Shape },
): FaultKind => ({ ...kind, options: z.strictObject(kind.options) }) as unknown as FaultKind

/** Defines a fault type whose connection ends before the response. `how` is the end as the client sees it. */
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
