// Rows of a file that hold what nobody has written there but another program or a broken disk. Lists leave them
// out, whoever asks for one is told which it is, and each is said once.
import { ApiError } from '../contract/core/error.ts'
import { printableLine } from '../lib/printable.ts'

/** Where a row is: its table, and its number or name there. */
export interface RowPlace {
  table: string
  row: string | number
}

/** A database, by its file. */
export interface DatabaseName {
  readonly name: string
}

/** 507: what a caller asks for is in a row that cannot be read. */
export class DamagedRow extends ApiError {}

/** Row numbers from this on are none that we have given, and leave no room for more. */
export const MAX_NUMBER = 2 ** 52

/** Rows that are remembered, so that each is said and counted once. */
const MAX_KNOWN = 10_000
const known = new Set<string>()
let count = 0
const listeners = new Set<(message: string) => void>()

/** How many rows that cannot be read were met since the start; of very many, about. */
export const damagedRowCount = (): number => count

/** Has `listener` told of each such row once, for as long as the process runs. */
export function onDamagedRow(listener: (message: string) => void): void {
  listeners.add(listener)
}

/** Notes a row that cannot be read, and gives what to tell its caller. */
export function damagedRow(database: DatabaseName, { table, row }: RowPlace, cause: unknown): DamagedRow {
  const place = `row ${printableLine(String(row))} of ${table} in ${database.name}`
  const reason = cause instanceof Error ? cause.message : String(cause)
  const message = `${place} is damaged and cannot be read: ${reason}; lists leave it out; remove it, or reset the session`
  if (!known.has(place)) {
    count++
    if (known.size < MAX_KNOWN) known.add(place)
    for (const listener of listeners) listener(message)
  }
  return new DamagedRow(507, 'damaged_row', message)
}

/** What `read` gives; whatever it throws is a damaged row. */
export function readRow<Read>(database: DatabaseName, place: RowPlace, read: () => Read): Read {
  try {
    return read()
  } catch (error) {
    throw error instanceof DamagedRow ? error : damagedRow(database, place, error)
  }
}

/** What `read` gives, in a list; nothing for a damaged row. */
export function readableRow<Read>(read: () => Read): Read[] {
  try {
    return [read()]
  } catch (error) {
    if (error instanceof DamagedRow) return []
    throw error
  }
}
