// Very long texts of traces, in rows of their own: written part by part in separate transactions before their trace, so
// that no transaction blocks other calls. Parts without a trace, left by a killed process, are deleted at the next
// start.
import { once } from '../lib/once.ts'
import { wholeParts } from '../lib/well-formed.ts'
import type { Database } from './open.ts'

/** The texts of a trace that may be very long. */
type Field = 'request' | 'rendered' | 'answer'
const FIELDS: readonly Field[] = ['request', 'rendered', 'answer']
type Texts = Record<Field, string>

/** Size of a part in UTF-16 units. Longer texts are not written in one transaction. */
export const PART = 1_000_000
/** The placeholder in the row of the trace: JSON, as every text there. */
const APART = 'null'

/** The stored texts of a trace. */
interface StoredTexts {
  /** The texts in its row. */
  texts: Texts
  /** Writes the parts of long texts, each in a transaction before that of the row. */
  partWrites: readonly (() => void)[]
  /** Bytes of all parts once they are written, null if there are none. */
  partsSize(): number | null
}

/** The long texts of a database's traces. */
export function longTexts(connection: Database) {
  const statements = once(() => ({
    insert: connection.prepare('INSERT OR REPLACE INTO long_texts (trace, field, part, text) VALUES (?, ?, ?, ?)'),
    // `+?`: see `plainParam` of record-store.ts.
    select: connection.prepare('SELECT text FROM long_texts WHERE trace = +? AND field = +? ORDER BY part').pluck(),
  }))
  const inParts = (seq: number, { request, rendered, answer }: Texts): StoredTexts => {
    const texts: Texts = { request, rendered, answer }
    const partWrites: (() => void)[] = []
    const bytes: number[] = []
    for (const field of FIELDS) {
      if (texts[field].length <= PART) continue
      for (const [part, text] of wholeParts(texts[field], PART).entries()) {
        const place = partWrites.length
        partWrites.push(() => {
          statements().insert.run(seq, field, part, text)
          bytes[place] = Buffer.byteLength(text)
        })
      }
      texts[field] = APART
    }
    return { texts, partWrites, partsSize: () => bytes.reduce((sum, one) => sum + one, 0) }
  }
  return {
    stored: (seq: number, texts: Texts): StoredTexts =>
      isShort(texts) ? { texts, partWrites: NO_STEPS, partsSize: NOTHING_APART } : inParts(seq, texts),
    /** The original texts of a trace, by its row. */
    read<Row extends Partial<Texts> & { seq: number; apart: number | null }>(row: Row): Row {
      if (row.apart === null) return row
      const whole = { ...row }
      for (const field of FIELDS) {
        if (row[field] !== APART) continue
        const parts = statements().select.all(row.seq, field) as string[]
        if (parts.length > 0) Object.assign(whole, { [field]: parts.join('') })
      }
      return whole
    },
  }
}

/** The long texts of a database. */
export type LongTexts = ReturnType<typeof longTexts>

/** Whether everything fits into one row, as it usually does. */
const isShort = ({ request, rendered, answer }: Texts) =>
  request.length <= PART && rendered.length <= PART && answer.length <= PART
const NO_STEPS: StoredTexts['partWrites'] = []
const NOTHING_APART = () => null
