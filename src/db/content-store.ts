// Binary content of records: the bytes of files, and the text and vectors of chunks.
import { eq, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/better-sqlite3'
import type { Contents } from '../contract/workspace/record.ts'
import { cosine } from '../lib/embedding.ts'
import { once } from '../lib/once.ts'
import { damagedRow, readableRow, readRow } from './damaged-rows.ts'
import type { Database } from './open.ts'
import { blobs, records, vectors } from './schema.ts'

const bytesOf = (vector: Float32Array) => Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength)
/** A blob may start at an odd address, so its numbers are copied. */
const vectorOf = (bytes: Buffer) => new Float32Array(new Uint8Array(bytes).buffer)

/**
 * The store of file bytes, and of chunks with their text and vector, in SQLite.
 * @throws DamagedRow from its reads
 */
export function contentStore(connection: Database): Contents {
  const database = drizzle(connection)
  const nearness = ({ seq, vector: stored }: { seq: number; vector: unknown }, vector: Float32Array): number =>
    readRow(connection, { table: 'vectors', row: seq }, () => {
      if (!Buffer.isBuffer(stored)) throw new Error('it holds no vector')
      if (stored.length !== vector.byteLength) {
        throw new Error(`its vector has ${stored.length} bytes, and not ${vector.byteLength}`)
      }
      const product = cosine(vectorOf(stored), vector)
      if (!Number.isFinite(product)) throw new Error('its vector holds what is not a number')
      return product
    })
  // A document may have thousands of chunks. Rows that may be damaged are read raw.
  const statements = once(() => ({
    file: connection.prepare(
      'SELECT blobs.seq, blobs.bytes FROM blobs JOIN records ON records.seq = blobs.seq WHERE records.id = ?',
    ),
    vectors: connection.prepare('SELECT seq, vector FROM vectors WHERE knowledge = ? AND seq > ? ORDER BY seq LIMIT ?'),
    insertVector: connection.prepare('INSERT INTO vectors (seq, knowledge, vector) VALUES (?, ?, ?)'),
    insertText: connection.prepare('INSERT INTO chunk_texts (rowid, text) VALUES (?, ?)'),
  }))
  return {
    putFile(seq, bytes) {
      database
        .insert(blobs)
        .values({ seq, bytes: Buffer.from(bytes) })
        .run()
    },
    file(id) {
      const row = statements().file.get(id) as { seq: number; bytes: unknown } | undefined
      if (!row) return undefined
      const { seq, bytes } = row
      if (Buffer.isBuffer(bytes)) return bytes
      throw damagedRow(connection, { table: 'blobs', row: seq }, new Error('it holds no bytes'))
    },
    putChunk(seq, { knowledge, text, vector }) {
      const { insertVector, insertText } = statements()
      insertVector.run(seq, knowledge, bytesOf(vector))
      insertText.run(seq, text)
    },
    changeChunk(id, { text, vector }) {
      const found = database.select({ seq: records.seq }).from(records).where(eq(records.id, id)).get()
      if (!found) return
      const { seq } = found
      database
        .update(vectors)
        .set({ vector: bytesOf(vector) })
        .where(eq(vectors.seq, seq))
        .run()
      database.run(sql`UPDATE chunk_texts SET text = ${text} WHERE rowid = ${seq}`)
    },
    byWords(knowledge, words, limit) {
      const query = words.map((word) => `"${word}"`).join(' OR ')
      // The best match is 1; SQLite's own ranks have no fixed scale.
      const found = database.all<{ seq: number; rank: number }>(sql`
        SELECT chunk_texts.rowid AS seq, chunk_texts.rank AS rank FROM chunk_texts
        JOIN vectors ON vectors.seq = chunk_texts.rowid
        WHERE chunk_texts MATCH ${query} AND vectors.knowledge = ${knowledge}
        ORDER BY rank, seq LIMIT ${limit}`)
      const best = found[0]?.rank ?? 0
      return new Map(found.map(({ seq, rank }) => [seq, best === 0 ? 1 : rank / best]))
    },
    byVector(knowledge, vector, { after, limit }) {
      const rows = statements().vectors.all(knowledge, after, limit) as { seq: number; vector: unknown }[]
      // A damaged vector has no similarity, but its chunk is still found by its words.
      return rows.map((row) => [row.seq, readableRow(() => nearness(row, vector))[0] ?? -1])
    },
    bySeq: (seq) => {
      const row = database.select({ body: records.body }).from(records).where(eq(records.seq, seq)).get()
      return (
        row && readableRow(() => readRow(connection, { table: 'records', row: seq }, () => JSON.parse(row.body)))[0]
      )
    },
  }
}
