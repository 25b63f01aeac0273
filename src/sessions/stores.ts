// The stores over the database of a session, each created on first use.

import type { Sequences } from '../contract/core/sequence.ts'
import type { Contents, Records } from '../contract/workspace/record.ts'
import type { SizedKeyValueStore } from '../db/key-value-store.ts'
import type { Database } from '../db/open.ts'
import type { RecordShapes } from '../db/record-shapes.ts'
import type { DroppedRows, StoreSize } from '../db/row-budget.ts'
import { type TraceStore, traceStore } from '../db/trace-store.ts'
import type { Writes } from '../db/writer.ts'
import { lazy } from '../lib/lazy.ts'

// Most calls use none of these.
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
  /** Positions in fixture sequences. */
  readonly sequences: Sequences
}

/** Limits on the stored data of a session; unlimited if omitted. */
export interface DataLimits {
  /** Maximum number of traces; the oldest are dropped first. */
  traces?: number | undefined
  /** Maximum size of traces in bytes. */
  traceBytes?: number | undefined
  /** Maximum size of stored responses, cached responses and image files in bytes; the oldest are dropped first. */
  answerBytes?: number | undefined
}

/** The dependencies of the stores. */
export interface DataOptions {
  keep: DataLimits
  /** The schemas of record bodies, by kind; any object if omitted. */
  shapes?: RecordShapes | undefined
  /** Milliseconds since the epoch, on the session's clock. */
  now(): number
  /** Called when an in-memory database is opened. */
  opened?(): void
}

/** Counts of stored data. */
export interface DataCounts {
  traces: StoreSize
  keyValues: StoreSize
}

/** Stores that are created on first use: their statements are most of a small session's memory. */
export interface OpenStores extends Stores {
  /** Their sizes; for those that were not created, the last known ones. */
  counts(): DataCounts
  /** The last record number, if it cannot be derived from the stored rows. */
  lastNumber(): number | undefined
}

/** What the stores have dropped. */
interface DroppedData {
  traces: DroppedRows
  keyValues: DroppedRows
}
/** For a database from which nothing was dropped yet. */
export const nothingDropped = (): DroppedData => ({ traces: { count: 0, last: 0 }, keyValues: { count: 0, last: 0 } })

/** What is known about a database besides its content. */
export interface DataHistory {
  dropped: DroppedData
  /** The highest record number so far. */
  number?: number | undefined
  /** The counts, if known: counting takes longer than a call. */
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

/** A store that is looked up at each use. */
export const onUse = <Store extends object>(store: () => Store): Store =>
  new Proxy({} as Store, { get: (own, name) => Reflect.get(Object.hasOwn(own, name) ? own : store(), name) })

/** Works on a store, and converts its errors to those for a caller. */
export type Guard = <Result>(run: () => Result) => Result

/** The same for work over many turns of the event loop. */
export async function guardedLater<Result>(run: () => Promise<Result>, guard: Guard): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    return guard(() => {
      throw error
    })
  }
}

/** The same for a store: every method, and iterating its result, runs under a guard. */
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

// The sequences of a call have a `next` of their own.
const isIterator = (value: unknown): value is Iterator<unknown> =>
  typeof value === 'object' && value !== null && Symbol.iterator in value && 'next' in value

function* guardedIterator(items: Iterator<unknown>, guard: Guard): Generator<unknown> {
  try {
    for (let item = guard(() => items.next()); !item.done; item = guard(() => items.next())) yield item.value
  } finally {
    items.return?.()
  }
}
