// What fixtures can answer: the operations of the router, and tools.
import type { z } from 'zod'

/** Something that fixtures answer, such as an operation. The folder of its fixtures has its name. */
export interface FixtureSubject {
  readonly name: string
  /** Schema of a fixture's `reply`. */
  readonly script: z.ZodType
  /** Schema of a `reply` that is an error, recognized by its `error`; default: that of a provider. */
  readonly errorScript?: z.ZodType | undefined
  /** Schema of a fixture's `match`; default: that of a router call. */
  readonly match?: z.ZodType | undefined
  /** Names that its templates may use beside captures and fields of the call; default: the prompt. */
  readonly templateNames?: readonly string[] | undefined
}

/** The name under which fixtures answer tool calls (tool-fixture.ts). */
export const TOOL_CALLS = 'agents.tools'
