// Damaged rows of a file, written by another program or a broken disk. Lists omit them, direct access fails with their
// position, and each is reported once.
import { ApiError } from '../contract/core/error.ts'
import { printableLine } from '../lib/printable.ts'

/** The position of a row: its table, and its number or name. */
export interface RowPlace {
  table: string
  row: string | number
}

/** A database, by its file. */
export interface DatabaseName {
  readonly name: string
}

/** The 507 for a row that cannot be read. */
export class DamagedRow extends ApiError {}

/** Larger row numbers are not ours, and leave no room for more. */
export const MAX_NUMBER = 2 ** 52

/** Maximum number of remembered rows, so that each is reported and counted once. */
const MAX_KNOWN = 10_000
const reported = new Set<string>()
let count = 0
const listeners = new Set<(message: string) => void>()

/** Number of damaged rows found since the start; approximate if there are very many. */
export const damagedRowCount = (): number => count

/** Calls `listener` once for each damaged row, for as long as the process runs. */
export function onDamagedRow(listener: (message: string) => void): void {
  listeners.add(listener)
}

/** Notes a damaged row, and returns the error for the caller. */
export function damagedRow(database: DatabaseName, { table, row }: RowPlace, cause: unknown): DamagedRow {
  const place = `row ${printableLine(String(row))} of ${table} in ${database.name}`
  const reason = cause instanceof Error ? cause.message : String(cause)
  const message = `${place} is damaged and cannot be read: ${reason}; lists leave it out; remove it, or reset the session`
  if (!reported.has(place)) {
    count++
    if (reported.size < MAX_KNOWN) reported.add(place)
    for (const listener of listeners) listener(message)
  }
  return new DamagedRow(507, 'damaged_row', message)
}

/**
 * The result of `read`; anything that it throws means a damaged row.
 * @throws DamagedRow
 */
export function readRow<Read>(database: DatabaseName, place: RowPlace, read: () => Read): Read {
  try {
    return read()
  } catch (error) {
    throw error instanceof DamagedRow ? error : damagedRow(database, place, error)
  }
}

/** The result of `read` in a list; empty for a damaged row. */
export function readableRow<Read>(read: () => Read): Read[] {
  try {
    return [read()]
  } catch (error) {
    if (error instanceof DamagedRow) return []
    throw error
  }
}
