// Stored values in SQLite (contract/core/key-value.ts), limited in bytes: expired ones are dropped first, then the
// oldest.
import type { KeyValueEntry, KeyValueStore } from '../contract/core/key-value.ts'
import { fingerprint } from '../lib/ids.ts'
import { once } from '../lib/once.ts'
import { asObject, sumOf } from '../lib/values.ts'
import { wholeParts } from '../lib/well-formed.ts'
import { readRow } from './damaged-rows.ts'
import { PART } from './long-texts.ts'
import type { Database } from './open.ts'
import { type DroppedRows, rowBudget, rowBytes, rowBytesSql, type StoreSize } from './row-budget.ts'
import type { LargeWrite, Writes } from './writer.ts'

/** A store that reports its size. */
export interface SizedKeyValueStore extends KeyValueStore {
  size(): StoreSize
}

/** The dependencies of the store. */
export interface KeyValueOptions {
  /** Milliseconds since the epoch. Expired values are dropped when others are written. */
  now(): number
  /** Maximum number of bytes; unlimited if omitted. */
  bytes?: number | undefined
  /** What was dropped from an earlier store over the same data. */
  dropped?: DroppedRows
  /** The current size, if known. */
  counted?: StoreSize | undefined
}

const BYTES = rowBytesSql('kind', 'id', 'value')

/**
 * Kind of the rows that are parts of a very long value. They are written before it, each in a transaction of its own.
 */
const PART_KIND = 'part'
// The row of such a value contains JSON, too: the number of its parts, and their unique name.
const partsNote = (count: number, name: string) => JSON.stringify({ $parts: count, of: name })
const APART = '{"$parts":'
const partId = (name: string, part: number) => `${name}/${part}`

type Row = Pick<KeyValueEntry, 'kind' | 'id'> & { value: string; expires: number | null }

/** The stored values of a database. */
export function keptStore(
  connection: Database,
  writer: Writes,
  { now, bytes: limit = Number.POSITIVE_INFINITY, dropped = { count: 0, last: 0 }, counted }: KeyValueOptions,
): SizedKeyValueStore {
  const budget = rowBudget(connection, { table: 'kept', bytes: BYTES, limit, dropped, counted })
  const select = once(() =>
    connection.prepare('SELECT value FROM kept WHERE kind = ? AND id = ? AND (expires IS NULL OR expires > ?)').pluck(),
  )
  const statements = once(() => ({
    purge: connection.prepare(`DELETE FROM kept WHERE expires <= ? RETURNING ${BYTES}`).pluck(),
    remove: connection.prepare(`DELETE FROM kept WHERE kind = ? AND id = ? RETURNING ${BYTES}`).pluck(),
    // A new row even for an existing value: rows are numbered in the order of writing.
    insert: connection.prepare('INSERT INTO kept (kind, id, value, expires) VALUES (?, ?, ?, ?)'),
  }))
  const textOf = (kind: string, id: string, now: number) => select().get(kind, id, now) as string | undefined
  /** A very long text; undefined if part of it was dropped. */
  const textOfParts = (note: unknown, now: number): string | undefined => {
    const { $parts: count, of: name } = asObject(note) ?? {}
    if (!Number.isSafeInteger(count) || typeof name !== 'string') throw new Error('it does not say what it consists of')
    let text = ''
    for (let part = 0; part < Number(count); part++) {
      const stored = textOf(PART_KIND, partId(name, part), now)
      // The oldest rows are dropped first, and parts are older than their value.
      if (stored === undefined) return undefined
      const read: unknown = JSON.parse(stored)
      if (typeof read !== 'string') throw new Error(`its part ${part} is not a text`)
      text += read
    }
    return text
  }
  /** Replaces the row of the same name. */
  const rowOf = ({ kind, id, value, expires }: Row) => {
    const bytes = rowBytes([kind, id, value])
    let tried = false
    const run = () => {
      if (tried) budget.doubt()
      tried = true
      const { purge, remove, insert } = statements()
      const gone = [...purge.all(now()), ...remove.all(kind, id)] as number[]
      budget.remove(gone.length, sumOf(gone, Number))
      insert.run(kind, id, value, expires)
      budget.add(bytes)
    }
    return { run, bytes }
  }
  const queue = writer.batched<LargeWrite & { run(): void }>({
    put: (rows) => {
      for (const { run } of rows) run()
    },
  })
  return {
    get(kind, id, now, isValue) {
      const text = textOf(kind, id, now)
      if (text === undefined) return undefined
      return readRow(connection, { table: 'kept', row: `${kind}/${id}` }, () => {
        const whole = String(text).startsWith(APART) ? textOfParts(JSON.parse(text), now) : text
        if (whole === undefined) return undefined
        const value: unknown = JSON.parse(whole)
        if (isValue(value)) return value
        throw new Error('its value is not what its kind says')
      })
    },
    put({ kind, id, value, text = JSON.stringify(value), expires = null }) {
      if (text.length <= PART) {
        return queue(rowOf({ kind, id, value: text, expires }))
      }
      const name = `${kind}/${id}/${fingerprint(text)}`
      // The row of a part is created just before it is written: all of them at once would block other calls.
      const steps = wholeParts(text, PART).map((part, number) => {
        const row = once(() =>
          rowOf({ kind: PART_KIND, id: partId(name, number), value: JSON.stringify(part), expires }),
        )
        return () => row().run()
      })
      return queue({ ...rowOf({ kind, id, value: partsNote(steps.length, name), expires }), steps })
    },
    size: budget.size,
  }
}
