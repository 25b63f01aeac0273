// Durations in files.
import { z } from 'zod'
import { rules } from './rules.ts'

/**
 * `300ms`, `2s`, `5m`, `1h`, or a number of milliseconds; milliseconds once parsed.
 * @example
 * Duration.parse('2s') // => 2000
 * Duration.parse(300) // => 300
 * Duration.parse('soon') // throws must be a duration such as 300ms or 2s
 */
export const Duration = z
  .union([z.number().min(0), z.string()])
  .refine(rules.isDuration, { error: 'must be a duration such as 300ms or 2s' })
  .transform(rules.milliseconds)

/**
 * A time in which something happens: nothing can in 0 ms.
 * @example
 * PositiveDuration.parse('2s') // => 2000
 * PositiveDuration.parse(0) // throws must be longer than 0, such as 10s
 */
export const PositiveDuration = Duration.refine((ms) => ms > 0, { error: 'must be longer than 0, such as 10s' })
