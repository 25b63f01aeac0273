// Positions in fixture sequences, in the database: after a crash, sequences continue where their responses were.
import type { CallSequences, SequenceUse } from '../contract/core/sequence.ts'
import { once } from '../lib/once.ts'
import { readRow } from './damaged-rows.ts'
import type { Database } from './open.ts'
import type { LargeWrite, Writes } from './writer.ts'

/** Maximum number of cached sequences; the least recently used are dropped first. */
const MAX_KNOWN = 10_000

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

/** The positions of all sequences in a database; 0 for one that was never used. */
export function sequenceStore(database: Database, writer: Writes) {
  const cached = new Map<string, SequenceUse>()
  const reading = once(() => database.prepare('SELECT uses, before, call FROM sequences WHERE counter = ?'))
  const writing = once(() =>
    // Calls end in any order: a position never decreases.
    database.prepare(`INSERT INTO sequences (counter, uses, before, call) VALUES (?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET uses = excluded.uses, before = excluded.before, call = excluded.call
      WHERE excluded.uses > uses`),
  )
  const read = (counter: string): SequenceUse | undefined => {
    const row = reading().get(counter) as Record<'uses' | 'before' | 'call', unknown> | undefined
    if (!row) return undefined
    const { uses, before, call } = row
    if (!isCount(uses) || !isCount(before)) throw new Error('it does not say how often the sequence was used')
    if (call !== null && typeof call !== 'string') throw new Error('it names no call')
    return { uses, before, call, counter }
  }
  const find = (counter: string): SequenceUse => {
    const found = cached.get(counter) ?? readRow(database, { table: 'sequences', row: counter }, () => read(counter))
    return found ?? { uses: 0, before: 0, call: null, counter }
  }
  const keep = (use: SequenceUse) => {
    cached.delete(use.counter)
    cached.set(use.counter, use)
    const [oldest] = cached.keys()
    if (cached.size > MAX_KNOWN && oldest !== undefined) cached.delete(oldest)
  }
  const write = (used: readonly SequenceUse[]) => {
    for (const { counter, uses, before, call } of used) writing().run(counter, uses, before, call)
  }
  const queue = writer.batched<LargeWrite & { used: readonly SequenceUse[] }>({
    put: (writes) => {
      for (const { used } of writes) write(used)
    },
  })
  return {
    /** Starts a call. One of the same `call` that a killed process had committed takes the same replies again. */
    begin: (call?: string): CallSequences => new CallUses(find, keep, call ?? null),
    /** Commits what a call has used. Resolves when that is done. */
    put: (used: readonly SequenceUse[]): Promise<void> => queue({ used }),
    /** The same inside a transaction. */
    write,
  }
}

/** The positions of all sequences of a session. */
export type Sequences = ReturnType<typeof sequenceStore>

/** The sequences of one call. */
class CallUses implements CallSequences {
  readonly #used = new Map<string, SequenceUse>()
  readonly #find: (counter: string) => SequenceUse
  readonly #keep: (use: SequenceUse) => void
  readonly #call: string | null

  constructor(find: (counter: string) => SequenceUse, keep: (use: SequenceUse) => void, call: string | null) {
    this.#find = find
    this.#keep = keep
    this.#call = call
  }

  get used(): readonly SequenceUse[] {
    return [...this.#used.values()]
  }

  next(counter: string): number {
    const found = this.#find(counter)
    const begun = this.#used.get(counter)
    const isAgain = !begun && this.#call !== null && found.call === this.#call
    const taken = isAgain ? found.before : found.uses
    const use = { counter, uses: taken + 1, before: begun?.before ?? taken, call: this.#call }
    this.#used.set(counter, use)
    this.#keep(use)
    return taken
  }
}
