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
