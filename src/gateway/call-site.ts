// Names the call site of a call: which of the calls in a program it is, regardless of the user's input.
import { type ByteCache, byteCache } from '../lib/byte-cache.ts'
import { fingerprint } from '../lib/ids.ts'
import type { Session } from '../sessions/session.ts'
import type { CallContext } from './types.ts'

/** How often each kind of call occurred in a generation of a session; the oldest kinds are dropped. */
const occurrences = new WeakMap<Session, ByteCache<{ count: number }>>()
const newCounts = () => byteCache<{ count: number }>(1 << 20)

/**
 * The call site of a call, such as `chat.completions-1f0c9a3e.2`: its kind and its number in the session, from 1.
 * `@<name>` follows in every session but the default one of the program.
 */
export function callSiteOf(session: Session, kind: string): string {
  const counts = occurrences.getOrInsertComputed(session, newCounts)
  let counter = counts.get(kind)
  if (!counter) counts.set(kind, (counter = { count: 0 }), kind.length)
  const nth = ++counter.count
  return `${kind}.${nth}${session.isHome ? '' : `@${session.name}`}`
}

/**
 * The kind of a call: operation, stream, model, system prompt, tool names, response format, turn.
 * @param name the name of the operation in the API of the client, if it differs
 */
export function callKind(
  { operation, request, stream, prompt }: Pick<CallContext, 'operation' | 'request' | 'stream' | 'prompt'>,
  name = operation.name,
): string {
  const { system, tools, answer = 'text', turn } = prompt
  const shape = `${stream}\n${operation.model(request)}\n${tools.join()}\n${answer}\n${turn}\n${system}`
  return injectionPointKind(name, shape)
}

/** The kind of all calls of an operation with the same shape. */
export const injectionPointKind = (operation: string, shape: string): string =>
  `${operation}-${fingerprint(shape).slice(0, 8)}`
