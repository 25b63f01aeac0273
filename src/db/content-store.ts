// Binary content of records: the bytes of files, and the text and vectors of chunks.
import type { Fields } from '../contract/workspace/record.ts'
import { cosine } from '../lib/embedding.ts'
import { once } from '../lib/once.ts'
import { damagedRow, readableRow, readRow } from './damaged-rows.ts'
import type { Database } from './open.ts'

/** A chunk as it is searched. */
interface StoredChunk {
  text: string
  vector: Float32Array
}

const bytesOf = (vector: Float32Array) => Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength)
/** A blob may start at an odd address, so its numbers are copied. */
const vectorOf = (bytes: Buffer) => new Float32Array(new Uint8Array(bytes).buffer)

/**
 * The store of file bytes, and of chunks with their text and vector, in SQLite.
 * @throws DamagedRow from its reads
 */
export function contentStore(connection: Database) {
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
  // A document may have thousands of chunks.
  const statements = once(() => ({
    insertFile: connection.prepare('INSERT INTO blobs (seq, bytes) VALUES (?, ?)'),
    file: connection.prepare(
      'SELECT blobs.seq, blobs.bytes FROM blobs JOIN records ON records.seq = blobs.seq WHERE records.id = ?',
    ),
    // `+?`: see `plainParam` of record-store.ts.
    vectors: connection.prepare(
      'SELECT seq, vector FROM vectors WHERE knowledge = +? AND seq > ? ORDER BY seq LIMIT +?',
    ),
    insertVector: connection.prepare('INSERT INTO vectors (seq, knowledge, vector) VALUES (?, ?, ?)'),
    insertText: connection.prepare('INSERT INTO chunk_texts (rowid, text) VALUES (?, ?)'),
    number: connection.prepare('SELECT seq FROM records WHERE id = ?').pluck(),
    changeVector: connection.prepare('UPDATE vectors SET vector = ? WHERE seq = ?'),
    changeText: connection.prepare('UPDATE chunk_texts SET text = ? WHERE rowid = ?'),
    body: connection.prepare('SELECT body FROM records WHERE seq = ?').pluck(),
    byWords: connection.prepare(`SELECT chunk_texts.rowid AS seq, chunk_texts.rank AS rank FROM chunk_texts
      JOIN vectors ON vectors.seq = chunk_texts.rowid
      WHERE chunk_texts MATCH ? AND vectors.knowledge = +?
      ORDER BY rank, seq LIMIT +?`),
  }))
  return {
    putFile: (seq: number, bytes: Uint8Array) => void statements().insertFile.run(seq, Buffer.from(bytes)),
    /** The bytes of a file record, by its id. */
    file(id: string): Uint8Array | undefined {
      const row = statements().file.get(id) as { seq: number; bytes: unknown } | undefined
      if (!row) return undefined
      const { seq, bytes } = row
      if (Buffer.isBuffer(bytes)) return bytes
      throw damagedRow(connection, { table: 'blobs', row: seq }, new Error('it holds no bytes'))
    },
    putChunk(seq: number, { knowledge, text, vector }: { knowledge: string } & StoredChunk): void {
      const { insertVector, insertText } = statements()
      insertVector.run(seq, knowledge, bytesOf(vector))
      insertText.run(seq, text)
    },
    /** Replaces the text and the vector of a chunk record, by its id. */
    changeChunk(id: string, { text, vector }: StoredChunk): void {
      const { number, changeVector, changeText } = statements()
      const seq = number.get(id)
      if (seq === undefined) return
      changeVector.run(bytesOf(vector), seq)
      changeText.run(text, seq)
    },
    /** Scores from 0 to 1 of chunks that contain any of these words (letters and digits), by number. */
    byWords(knowledge: string, words: readonly string[], limit: number): Map<number, number> {
      const query = words.map((word) => `"${word}"`).join(' OR ')
      const found = statements().byWords.all(query, knowledge, limit) as { seq: number; rank: number }[]
      // The best match is 1; SQLite's own ranks have no fixed scale.
      const best = found[0]?.rank ?? 0
      return new Map(found.map(({ seq, rank }) => [seq, best === 0 ? 1 : rank / best]))
    },
    /** Cosine similarities of the next chunks of a knowledge base to a unit vector, by number, in order. */
    byVector(
      knowledge: string,
      vector: Float32Array,
      { after, limit }: { after: number; limit: number },
    ): [number, number][] {
      const rows = statements().vectors.all(knowledge, after, limit) as { seq: number; vector: unknown }[]
      // A damaged vector has no similarity, but its chunk is still found by its words.
      return rows.map((row) => [row.seq, readableRow(() => nearness(row, vector))[0] ?? -1])
    },
    /** A record by its number. */
    bySeq: (seq: number): Fields | undefined => {
      const body = statements().body.get(seq) as string | undefined
      if (body === undefined) return undefined
      return readableRow(() => readRow(connection, { table: 'records', row: seq }, () => JSON.parse(body)))[0]
    },
  }
}

/** Content of a session's records that is not JSON. It is deleted with its record. */
export type Contents = ReturnType<typeof contentStore>
