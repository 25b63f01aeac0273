// The stores over the database of a session, each made at its first use.

import type { Sequences } from '../contract/core/sequence.ts'
import type { Contents, Records } from '../contract/workspace/record.ts'
import type { SizedKeyValueStore } from '../db/key-value-store.ts'
import type { Database } from '../db/open.ts'
import type { RecordShapes } from '../db/record-shapes.ts'
import type { DroppedRows, StoreSize } from '../db/row-budget.ts'
import { type TraceStore, traceStore } from '../db/trace-store.ts'
import type { Writes } from '../db/writer.ts'
import { lazy } from '../lib/lazy.ts'

// Most calls touch none of these.
const keyValueStore = lazy<typeof import('../db/key-value-store.ts')>(() => require('../db/key-value-store.ts'))
const recordStore = lazy<typeof import('../db/record-store.ts')>(() => require('../db/record-store.ts'))
const sequences = lazy<typeof import('../db/sequence-store.ts')>(() => require('../db/sequence-store.ts'))
const contentStore = lazy<typeof import('../db/content-store.ts')>(() => require('../db/content-store.ts'))

/** The stores over one database. */
export interface Stores {
  readonly traces: TraceStore
  readonly keyValues: SizedKeyValueStore
  /** The workspace. */
  readonly records: Records
  /** Files, and the chunks of knowledge bases. */
  readonly contents: Contents
  /** How far the sequences of fixtures were used. */
  readonly sequences: Sequences
}

/** How much of a session is kept; everything when left out. */
export interface DataLimits {
  /** Most traces; the oldest go first. */
  traces?: number | undefined
  /** Most bytes of traces. */
  traceBytes?: number | undefined
  /** Most bytes of stored responses, cached answers, picture files; the oldest go first. */
  answerBytes?: number | undefined
}

/** What the stores need to know. */
export interface DataOptions {
  keep: DataLimits
  /** What the bodies of records must be, by kind; any object when left out. */
  shapes?: RecordShapes | undefined
  /** Milliseconds since the epoch, on the session's clock. */
  now(): number
  /** Told when a database in memory is opened. */
  opened?(): void
}

/** How much is stored. */
export interface DataCounts {
  traces: StoreSize
  keyValues: StoreSize
}

/** Stores that are made at their first use: their statements are most of what a small session takes. */
export interface OpenStores extends Stores {
  /** How much they hold; of those that were not made, what is known of before. */
  counts(): DataCounts
  /** The number that was given last to a record, when that is not known from what is stored. */
  lastNumber(): number | undefined
}

/** What went of the stores to make room. */
interface DroppedData {
  traces: DroppedRows
  keyValues: DroppedRows
}
/** That of a database in which nothing was removed yet. */
export const nothingDropped = (): DroppedData => ({ traces: { count: 0, last: 0 }, keyValues: { count: 0, last: 0 } })

/** What is known of a database beside what it holds. */
export interface DataHistory {
  dropped: DroppedData
  /** The highest number of a record that there was. */
  number?: number | undefined
  /** How much there is, where that is known: to count it takes longer than a call. */
  counts?: DataCounts | undefined
}

/** Stores over a database. */
export const storesOver = (
  database: Database,
  writer: Writes,
  { keep, now, shapes, number, dropped, counts }: DataOptions & DataHistory,
): OpenStores => {
  const made: { -readonly [Name in keyof Stores]?: Stores[Name] } = {}
  const limits = {
    traces: { keep: keep.traces, bytes: keep.traceBytes, dropped: dropped.traces, counted: counts?.traces },
    keyValues: { now, bytes: keep.answerBytes, dropped: dropped.keyValues, counted: counts?.keyValues },
  }
  const stores = {
    get traces() {
      return (made.traces ??= traceStore(database, writer, limits.traces))
    },
    get keyValues() {
      return (made.keyValues ??= keyValueStore().keptStore(database, writer, limits.keyValues))
    },
    get records() {
      return (made.records ??= recordStore().recordStore(database, { last: number, shapes, writes: writer }))
    },
    get contents() {
      return (made.contents ??= contentStore().contentStore(database))
    },
    get sequences() {
      return (made.sequences ??= sequences().sequenceStore(database, writer))
    },
    lastNumber: () => (made.records ? made.records.lastNumber() : number),
    counts: () => ({
      traces: (!made.traces && counts?.traces) || stores.traces.size(),
      keyValues: (!made.keyValues && counts?.keyValues) || stores.keyValues.size(),
    }),
  }
  return stores
}

/** A store that is looked up each time it is used. */
export const onUse = <Store extends object>(store: () => Store): Store =>
  new Proxy({} as Store, { get: (own, name) => Reflect.get(Object.hasOwn(own, name) ? own : store(), name) })

/** Does something with a store, and makes of what it throws what a caller is to be told. */
export type Guard = <Result>(run: () => Result) => Result

/** Does something that takes many turns of the event loop, under a guard. */
export async function guardedLater<Result>(run: () => Promise<Result>, guard: Guard): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    return guard(() => {
      throw error
    })
  }
}

/** The same, in which every method runs under a guard, and what it gives is read under it. */
export const guardedOnUse = <Store extends object>(store: () => Store, guard: Guard): Store =>
  new Proxy({} as Store, {
    get(_, name) {
      const value: unknown = Reflect.get(store(), name)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        const result: unknown = guard(() => Reflect.apply(value, store(), args))
        return isIterator(result) ? guardedIterator(result, guard) : result
      }
    },
  })

// The uses of a sequence have a `next` of their own.
const isIterator = (value: unknown): value is Iterator<unknown> =>
  typeof value === 'object' && value !== null && Symbol.iterator in value && 'next' in value

function* guardedIterator(items: Iterator<unknown>, guard: Guard): Generator<unknown> {
  try {
    for (let item = guard(() => items.next()); !item.done; item = guard(() => items.next())) yield item.value
  } finally {
    items.return?.()
  }
}
