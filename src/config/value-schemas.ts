// The schemas of setting values by kind, from a flag, a variable or a file: loaded for a value without a compiled
// schema, or one that it rejects.
import { z } from 'zod'
import { Duration } from '../contract/core/duration.ts'
import { rules } from '../contract/core/rules.ts'
import { FieldPath, VolatileRuleSchema } from '../contract/core/volatile-rule-schema.ts'

export { Duration, z }

/** An integer, as a number or as digits. */
export const integerText = () => z.union([z.int(), z.string().regex(/^\d+$/).transform(rules.number)])
/** A number of at least 0, as a number or as digits with an optional fraction. */
export const numberText = () =>
  z.union([
    z.number(),
    z
      .string()
      .regex(/^\d+(\.\d+)?$/)
      .transform(rules.number),
  ])
/** A boolean, or one of `true`, `false`, `1` and `0`. */
export const boolean = () => z.union([z.boolean(), z.enum(['true', 'false', '1', '0']).transform(rules.isTrue)])
/** A list of strings that are not empty. */
export const texts = () => z.array(z.string().min(1))
/** An origin: scheme, host and optional port, without a path (RFC 6454). */
export const origin = () => z.string().refine(rules.isOrigin)

/** A size in bytes, as a number or as a text with a unit, such as `64mb`. */
export const size = () => z.union([z.number(), z.string()]).transform(rules.bytes).pipe(z.number().min(1))

/** The speed of a replay: `real`, `instant` or a factor. */
export const replaySpeed = () => z.union([z.enum(['real', 'instant']), numberText().pipe(z.number().positive())])

/** Paths of fields. */
export const fieldPaths = () => z.array(FieldPath)

/** Rules for fields that are not compared with recorded requests. Reports and replays know each by its name. */
export const volatileRules = () => z.array(VolatileRuleSchema).check(rules.names)

/** The workspace and project of a token. */
export const tokenRule = () =>
  z.strictObject({
    workspace: z.string().min(1).default('default'),
    project: z
      .string()
      .min(1)
      .regex(/^[^/]+$/)
      .optional(),
  })
/** The workspace and the optional project of a token. */
export type TokenRule = z.infer<ReturnType<typeof tokenRule>>
