// What fixtures may answer: the operations of the router, and what else is asked for by a name.
import type { z } from 'zod'

/** One thing that fixtures answer; the folder of its fixtures has its name. Operations are such. */
export interface FixtureSubject {
  readonly name: string
  /** What a fixture says under `reply`. */
  readonly script: z.ZodType
  /** What it says there instead for an error, known by its `error`; that of a provider when left out. */
  readonly errorScript?: z.ZodType | undefined
  /** What it says under `match`; that of a call of the router when left out. */
  readonly match?: z.ZodType | undefined
  /** What its templates may name beside captures and fields of the call; the prompt when left out. */
  readonly templateNames?: readonly string[] | undefined
}

/** The name of the subject that calls of tools are (tool-fixture.ts). */
export const TOOL_CALLS = 'agents.tools'
