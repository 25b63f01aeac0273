// What a sample is made with.
import type { SchemaStack } from './branches.ts'
import type { Keywords, Schema, SchemaError } from './prepare.ts'

/** One attempt at a sample. */
export interface SampleRun {
  /** Schemas by the address of references. */
  lookup: Record<string, Schema>
  origin: WeakMap<object, string>
  key: string
  /** How often a reference may stand inside itself. */
  depth: number
  /** Only what the schema requires. */
  lean: boolean
  /** Values that may still be made or checked. */
  budget: number
  /** What is wrong with a value, if anything. */
  check(value: unknown, schema: Schema): SchemaError | undefined
  /** Values for the inside of a container that satisfy all of the schemas, the likely ones first; throws `SchemaError` when there is none. */
  valuesFor(schemas: Schema[], at: ValuePosition): Generator<unknown>
}

/** Where in the sample a value stands. */
export interface ValuePosition {
  name: string
  /** Names from the root on, without the indexes of lists. */
  path: string
  /** Index of the list item that this is in. */
  turn: number
  inside: SchemaStack | undefined
}

/** What a container is made from. */
export interface ContainerContext {
  parts: Keywords[]
  position: ValuePosition
}
