// Helpers for the files of the fault kinds.
import { z } from 'zod'
import type { FaultKind } from '../contract/fault.ts'
import type { Reply } from '../contract/reply.ts'

/** Checks a kind's types: its options are those that `apply` gets. */
export const defineFault = <Shape extends z.ZodRawShape>(
  kind: Omit<FaultKind<z.infer<z.ZodObject<Shape>>>, 'options'> & { options: Shape },
): FaultKind => ({ ...kind, options: z.strictObject(kind.options) }) as unknown as FaultKind

/** A reply of a provider that is JSON text. */
export const jsonReply = (status: number, value: unknown, headers: Record<string, string> = {}): Reply => ({
  status,
  headers,
  body: { kind: 'bytes', contentType: 'application/json', bytes: new TextEncoder().encode(JSON.stringify(value)) },
  usage: null,
  fixture: null,
  synthesized: false,
})
