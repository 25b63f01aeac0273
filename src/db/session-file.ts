// The settings that the file of a named session contains.
import { type Database, explained, openClone, openToLook } from './open.ts'

/** The bytes of an empty database with the settings of its session as JSON. */
export function withSettings(empty: Buffer, settings: string): Buffer {
  const database = openClone(empty)
  try {
    database.prepare('INSERT INTO session_settings (id, settings) VALUES (1, ?)').run(settings)
    return database.serialize()
  } finally {
    database.close()
  }
}

/**
 * The settings in the file of a session as JSON; undefined if it has none.
 * @throws DatabaseError if it cannot be read
 */
export function readSettings(file: string): string | undefined {
  let database: Database | undefined
  try {
    database = openToLook(file)
    return database.prepare('SELECT settings FROM session_settings').pluck().get() as string | undefined
  } catch (error) {
    throw explained(error, file)
  } finally {
    database?.close()
  }
}
