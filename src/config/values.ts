// The rows of the table of settings.
import type { z } from 'zod'
import { lazy } from '../lib/lazy.ts'
import type { Shown } from './file.ts'

/** The kinds of values. */
export type ValueSchemas = typeof import('./value-schemas.ts')
/** Loads them. */
export const valueSchemas = lazy<typeof import('./value-schemas.ts')>(() => require('./value-schemas.ts'))

/** The name of the outline of a setting's values. */
export const settingOutline = (key: string): string => `setting-${key}`

/** One setting. */
interface Setting<T> {
  /** What the flag takes; absent for a switch. */
  takes?: string
  /** Made when a value is given: a start without any checks nothing. */
  schema: (kinds: ValueSchemas) => z.ZodType<T, unknown>
  fallback: T
  help: string
  /** Ends the sentence "... must be". */
  valid: string
  /** What errors may quote of a value; all of it when left out. */
  shown?: Shown
  /** Only understudy.yaml can say it: it is no one line. */
  fileOnly?: boolean
}
/** A row of the table, with the type of its value. */
export const setting = <T>(row: Setting<T>): Setting<T> => row
