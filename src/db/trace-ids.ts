// Finds the number of a call by the id of its trace. An index would cost every call a page of the write-ahead log: instead 16
// bits of each id stand in a list by number, of which blocks are stored now and then, and what has the same bits is looked at.
import { once } from '../lib/once.ts'
import type { Database } from './open.ts'
import { ID } from './trace-row.ts'

/** Numbers of calls by the ids of their traces. */
export interface TraceIds {
  /** Notes the id of a row that is written; belongs inside its transaction. */
  add(seq: number, id: string): void
  /** Whether to note the id of a number changes nothing in the database, as it mostly does not. */
  isNew(seq: number): boolean
  /** The number of a call that is shown. */
  seqOf(id: string): number | undefined
  /** Stores the blocks that are complete, and forgets those before a number; belongs inside a transaction. */
  store(first: number): void
}

/** Numbers of a block. */
const BLOCK = 256
const blockOf = (seq: number) => Math.floor(seq / BLOCK)
/** The marks of the ids of a block, by number. */
type Marks = Uint16Array<ArrayBuffer>

/** A few bits of an id, of those that differ most; 0 is none. */
function markOf(id: string): number {
  let bits = 0
  for (let index = Math.max(0, id.length - 4); index < id.length; index++) bits = bits * 33 + id.charCodeAt(index)
  return bits % 0xffff || 1
}

/** The marks of a block as its rows say them. */
function marksOf(connection: Database, block: number): Marks {
  const marks = new Uint16Array(BLOCK)
  const rows = connection
    .prepare(`SELECT seq, ${ID} FROM trace_rows WHERE seq >= ? AND seq < ?`)
    .raw()
    .all(block * BLOCK, (block + 1) * BLOCK) as [number, unknown][]
  for (const [seq, id] of rows) if (typeof id === 'string') marks[seq % BLOCK] = markOf(id)
  return marks
}

/** Adds what is missing to some blocks: those that are stored, and the others from their rows; which these are. */
function loadBlocks(connection: Database, blocks: Map<number, Marks>): number[] {
  const stored = connection.prepare('SELECT block, marks FROM trace_ids').raw().all() as [number, unknown][]
  for (const [block, bytes] of stored) {
    // What is damaged is read from the rows again.
    if (blocks.has(block) || !Buffer.isBuffer(bytes) || bytes.length !== BLOCK * 2) continue
    // A blob may begin at an odd address, so its numbers are copied.
    blocks.set(block, new Uint16Array(new Uint8Array(bytes).buffer))
  }
  const next = connection.prepare('SELECT seq FROM trace_rows WHERE seq >= ? ORDER BY seq LIMIT 1').pluck()
  const read: number[] = []
  for (let from = 0; ; ) {
    const seq = next.get(from) as number | undefined
    // Numbers beyond these are nobody's of ours, and one more than such a number is the same number.
    if (seq === undefined || seq > Number.MAX_SAFE_INTEGER) return read
    let block = blockOf(seq)
    if (!blocks.has(block)) {
      blocks.set(block, marksOf(connection, block))
      read.push(block)
    }
    while (blocks.has(block)) block++
    from = block * BLOCK
  }
}

const statementsOf = (connection: Database) => ({
  last: connection.prepare('SELECT max(seq) FROM trace_rows').pluck(),
  put: once(() => connection.prepare('INSERT OR REPLACE INTO trace_ids (block, marks) VALUES (?, ?)')),
  remove: once(() => connection.prepare('DELETE FROM trace_ids WHERE block = ?')),
  removeBefore: once(() => connection.prepare('DELETE FROM trace_ids WHERE block < ?')),
  shownId: once(() => connection.prepare(`SELECT ${ID} FROM traces WHERE seq = ?`).pluck()),
})

/** The ids of a database's traces. */
export function traceIds(connection: Database): TraceIds {
  const statements = once(() => statementsOf(connection))
  const blocks = new Map<number, Marks>()
  /** Blocks that are known here, and not stored. */
  const unstored = new Set<number>()
  let loaded = false
  /** The last block; what it held before the first row that was added here is not known until they are loaded. */
  let newest: number | undefined
  return {
    isNew: (seq) => newest !== undefined && (blockOf(seq) >= newest || unstored.has(blockOf(seq))),
    add(seq, id) {
      const block = blockOf(seq)
      newest ??= blockOf(Number(statements().last.get()))
      // A block that comes late was stored without it.
      if (block < newest && !unstored.has(block)) statements().remove().run(block)
      if (!blocks.has(block) && (block > newest || loaded)) blocks.set(block, new Uint16Array(BLOCK))
      newest = Math.max(newest, block)
      const marks = blocks.get(block)
      if (!marks) return
      marks[seq % BLOCK] = markOf(id)
      unstored.add(block)
    },
    seqOf(id) {
      if (!loaded) for (const block of loadBlocks(connection, blocks)) unstored.add(block)
      loaded = true
      const mark = markOf(id)
      const { shownId } = statements()
      for (const [block, marks] of blocks)
        for (let index = marks.indexOf(mark); index >= 0; index = marks.indexOf(mark, index + 1)) {
          const seq = block * BLOCK + index
          if (shownId().get(seq) === id) return seq
        }
      return undefined
    },
    store(first) {
      const { put, removeBefore } = statements()
      for (const [block, { buffer }] of blocks) {
        // Calls that take longer than others come late to theirs.
        if (!unstored.has(block) || block >= (newest ?? 0) - 1) continue
        put().run(block, Buffer.from(buffer))
        unstored.delete(block)
        if (!loaded) blocks.delete(block)
      }
      removeBefore().run(blockOf(first))
      for (const block of blocks.keys()) {
        if (block >= blockOf(first)) continue
        blocks.delete(block)
        unstored.delete(block)
      }
    },
  }
}
