// Shared types of the sample generator.
import type { SchemaStack } from './branches.ts'
import type { Keywords, Schema, SchemaError } from './prepare.ts'

/** One attempt at a sample. */
export interface SampleRun {
  /** Schemas by the address of references. */
  lookup: Record<string, Schema>
  origin: WeakMap<object, string>
  key: string
  /** How often a reference may contain itself. */
  depth: number
  /** Whether only required members are generated. */
  lean: boolean
  /** Remaining number of values to generate or check. */
  budget: number
  /** The problem of a value, if any. */
  check(value: unknown, schema: Schema): SchemaError | undefined
  /**
   * Values for the inside of a container that satisfy all of the schemas, the likely ones first.
   * @throws SchemaError if there is none
   */
  valuesFor(schemas: Schema[], at: ValuePosition): Generator<unknown>
}

/** The position of a value in the sample. */
export interface ValuePosition {
  name: string
  /** Names from the root, without the indexes of lists. */
  path: string
  /** Index of the list item that contains it. */
  turn: number
  inside: SchemaStack | undefined
}

/** The inputs of a container. */
export interface ContainerContext {
  parts: Keywords[]
  position: ValuePosition
}
