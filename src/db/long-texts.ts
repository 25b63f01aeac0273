// Very long texts of traces, in rows of their own: part by part in transactions of their own, before the trace that they
// belong to, so that no transaction holds up other calls. What a killed process left without its trace goes at the next start.
import { once } from '../lib/once.ts'
import type { Database } from './open.ts'

/** The texts of a trace that may be very long. */
type Field = 'request' | 'rendered' | 'answer'
const FIELDS: readonly Field[] = ['request', 'rendered', 'answer']
type Texts = Record<Field, string>

/** UTF-16 units of a part; what is longer does not go into one transaction. */
export const PART = 1_000_000
/** What stands in the row of the trace: JSON too, as every text there. */
const APART = 'null'

/** The texts of a trace as they are stored. */
export interface StoredTexts {
  /** What goes into its row. */
  texts: Texts
  /** Writes the parts of what does not; each in a transaction before that of the row. */
  ahead: readonly (() => void)[]
  /** Bytes of all parts once they are written, null when there are none. */
  apart(): number | null
}

/** The long texts of a database. */
export interface LongTexts {
  stored(seq: number, texts: Texts): StoredTexts
  /** The texts of a trace as they were, by its row. */
  read<Row extends Partial<Texts> & { seq: number; apart: number | null }>(row: Row): Row
}

/** The long texts of a database's traces. */
export function longTexts(connection: Database): LongTexts {
  const statements = once(() => ({
    insert: connection.prepare('INSERT OR REPLACE INTO long_texts (trace, field, part, text) VALUES (?, ?, ?, ?)'),
    select: connection.prepare('SELECT text FROM long_texts WHERE trace = ? AND field = ? ORDER BY part').pluck(),
  }))
  const inParts = (seq: number, { request, rendered, answer }: Texts): StoredTexts => {
    const texts: Texts = { request, rendered, answer }
    const ahead: (() => void)[] = []
    const bytes: number[] = []
    for (const field of FIELDS) {
      if (texts[field].length <= PART) continue
      for (const [part, text] of textParts(texts[field]).entries()) {
        const place = ahead.length
        ahead.push(() => {
          statements().insert.run(seq, field, part, text)
          bytes[place] = Buffer.byteLength(text)
        })
      }
      texts[field] = APART
    }
    return { texts, ahead, apart: () => bytes.reduce((sum, one) => sum + one, 0) }
  }
  return {
    stored: (seq, texts) => (isShort(texts) ? { texts, ahead: NO_STEPS, apart: NOTHING_APART } : inParts(seq, texts)),
    read(row) {
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

/** Whether all of it goes into one row, as it mostly does. */
const isShort = ({ request, rendered, answer }: Texts) =>
  request.length <= PART && rendered.length <= PART && answer.length <= PART
const NO_STEPS: StoredTexts['ahead'] = []
const NOTHING_APART = () => null

/** The parts of a text, none of which ends in the middle of a character. */
export function textParts(text: string): string[] {
  const parts: string[] = []
  for (let begin = 0; begin < text.length; ) {
    const last = text.charCodeAt(begin + PART - 1)
    const end = begin + (last >= 0xd800 && last < 0xdc00 ? PART - 1 : PART)
    parts.push(text.slice(begin, end))
    begin = end
  }
  return parts
}
