// Warnings of a session: input that was accepted although it looks like a mistake. The list of traces shows them.
import type { Records } from '../db/record-store.ts'

/** The kind of the records of warnings; the key is their subject. */
export const WARNING = 'warning'

/** All warnings of a session, oldest first. */
export const warningsOf = (records: Records): string[] => records.keyed(WARNING).map(({ body }) => String(body.message))
