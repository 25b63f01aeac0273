// The kinds of values that settings have, as a flag, a variable or a file gives them.
import { z } from 'zod'
import { parseSize } from '../lib/units.ts'

export const integerText = () => z.union([z.int(), z.string().regex(/^\d+$/).transform(Number)])
export const numberText = () =>
  z.union([
    z.number(),
    z
      .string()
      .regex(/^\d+(\.\d+)?$/)
      .transform(Number),
  ])
export const boolean = () =>
  z.union([z.boolean(), z.enum(['true', 'false', '1', '0']).transform((text) => text === 'true' || text === '1')])
export const texts = () => z.array(z.string().min(1))
export const origin = () => z.string().refine((text) => text === '*' || URL.parse(text)?.origin === text)

export const size = () =>
  z
    .union([z.number(), z.string()])
    .transform((value) => parseSize(value))
    .pipe(z.number().min(1))

/** Where a token works. */
export const tokenRule = () =>
  z.strictObject({
    workspace: z.string().min(1).default('default'),
    project: z
      .string()
      .min(1)
      .regex(/^[^/]+$/)
      .optional(),
  })
export type TokenRule = z.infer<ReturnType<typeof tokenRule>>

/** One setting. */
export interface Setting<T> {
  /** What the flag takes; absent for a switch. */
  takes?: string
  /** Made when a value is given: a start without any checks nothing. */
  schema: () => z.ZodType<T, unknown>
  fallback: T
  help: string
  /** Ends the sentence "... must be". */
  valid: string
  /** Only understudy.yaml can say it: it is no one line. */
  fileOnly?: boolean
}
/** A row of the table, with the type of its value. */
export const setting = <T>(row: Setting<T>): Setting<T> => row
