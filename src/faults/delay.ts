// delay: the response starts late.
import { z } from 'zod'
import { Duration } from '../contract/core/duration.ts'
import type { FaultContext } from '../contract/core/fault.ts'
import { defineFault } from './define.ts'

const OPTIONS = {
  for: Duration.optional().describe('Length of a fixed delay.'),
  distribution: z
    .enum(['fixed', 'uniform', 'normal', 'lognormal'])
    .default('fixed')
    .describe('Distribution of the delays.'),
  min: Duration.optional().describe('Minimum of a uniform delay.'),
  max: Duration.optional().describe('Maximum delay, for every distribution.'),
  mean: Duration.optional().describe('Mean of a normal delay, or median of a lognormal delay.'),
  deviation: Duration.optional().describe(
    'Standard deviation of a normal delay; of a lognormal one, the spread about the median.',
  ),
}

/** Tests timeouts: the first byte of the response is late, by a fixed or random time in ms. */
export const delay = defineFault({
  type: 'delay',
  summary: 'The response starts late.',
  points: ['provider', 'gateway', 'workspace', 'tool'],
  options: OPTIONS,
  needsOneOf: ['for', 'min', 'max', 'mean'],
  example: { for: '2s' },
  async apply(options, next, context) {
    const wait = waitOf(options, context)
    if (wait <= 0) context.skipped('the wait was 0 ms')
    else {
      context.triggered()
      await context.clock.latency(wait, context.signal)
    }
    return next()
  },
})

/** The delay of one call in ms. */
function waitOf(options: z.infer<z.ZodObject<typeof OPTIONS>>, { random }: FaultContext): number {
  const { distribution, mean = options.for ?? 0, deviation = 0, min = 0, max = Number.POSITIVE_INFINITY } = options
  const wait = {
    fixed: () => options.for ?? 0,
    uniform: () => min + random('wait') * ((Number.isFinite(max) ? max : mean) - min),
    normal: () => mean + deviation * bell(random),
    lognormal: () => mean * Math.exp((deviation / Math.max(1, mean)) * bell(random)),
  }[distribution]()
  return Math.round(Math.min(max, Math.max(min, wait)))
}

/** A number of the standard normal distribution (Box-Muller). */
const bell = (random: FaultContext['random']): number =>
  Math.sqrt(-2 * Math.log(1 - random('radius'))) * Math.cos(2 * Math.PI * random('angle'))
