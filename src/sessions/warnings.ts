// Warnings of a session: what was accepted although it looks like a mistake. The list of traces shows them.
import type { Records } from '../contract/workspace/record.ts'

/** The kind of records that hold them; the key is what they are about. */
export const WARNING = 'warning'

/** All warnings of a session, oldest first. */
export const warningsOf = (records: Records): string[] => records.keyed(WARNING).map(({ body }) => String(body.message))
