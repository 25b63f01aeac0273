// Helpers for defining fault types.
import { z } from 'zod'
import { Duration } from '../contract/core/duration.ts'
import type { FaultKind } from '../contract/core/fault.ts'
import { ConnectionFailure } from '../contract/core/reply.ts'
import { untilAborted } from '../lib/clock.ts'
import { endsWithoutData } from '../lib/hang-reset.ts'

type Defaults = Pick<FaultKind, 'points' | 'example'>

/**
 * Defines a fault type. Its options have the type that `apply` receives. By default it has none, and is injected into
 * the responses of models.
 * @example
 * const about = { type: 'pass', summary: 'Changes nothing.' }
 * defineFault({ ...about, apply: (_, next) => next() }).options.safeParse({ x: 1 }).success // => false
 */
export const defineFault = <Shape extends z.ZodRawShape>({
  points = ['provider', 'gateway'],
  options,
  example = {},
  ...kind
}: Omit<FaultKind<z.infer<z.ZodObject<Shape>>>, keyof Defaults | 'options'> &
  Partial<Defaults> & { options?: Shape }): FaultKind =>
  ({ ...kind, points, options: z.strictObject(options ?? {}), example }) as unknown as FaultKind

/** Defines a fault type of agents that never replies. */
export const neverReplies = (about: Pick<FaultKind, 'type' | 'summary' | 'points'>): FaultKind =>
  defineFault({
    ...about,
    apply(_, __, { triggered, signal }) {
      triggered()
      return untilAborted(signal)
    },
  })

/** Defines a fault type whose connection ends before the response. `how` is the end as the client sees it. */
export const endsEarly = (about: Pick<FaultKind, 'type' | 'summary'>, message: string, how: ConnectionFailure['how']) =>
  defineFault({
    ...about,
    options: { after: Duration.default(0).describe('Time before the failure.') },
    async apply({ after }, _, { triggered, clock, signal }) {
      triggered()
      if (after > 0) await clock.latency(after, signal).catch(endsWithoutData)
      throw new ConnectionFailure(message, how)
    },
  })
