// Names the point of a call: which of the calls that a program makes it is, whatever its user said.
import type { Operation, Prompt } from '../contract/core/operation.ts'
import { type ByteCache, byteCache } from '../lib/byte-cache.ts'
import { fingerprint } from '../lib/ids.ts'
import { remembering, rememberingAll } from '../lib/remember.ts'
import type { Session } from '../sessions/session.ts'

/** How often each kind of call has come in a generation of a session; the kinds that came longest ago are forgotten. */
const occurrences = new WeakMap<Session, ByteCache<{ count: number }>>()
const MAX_BYTES = 1 << 20

/**
 * The point of a call of a kind, such as `chat.completions-1f0c9a3e.2`: the kind, and how often it has come in the session,
 * from 1. The session is part of it as `@<name>`, unless it is the one that programs work in which name none.
 */
export function callSiteOf(session: Session, kind: string): string {
  let seen = occurrences.get(session)
  if (!seen) {
    seen = byteCache(MAX_BYTES)
    occurrences.set(session, seen)
  }
  let known = seen.get(kind)
  if (!known) seen.set(kind, (known = { count: 0 }), kind.length)
  const nth = ++known.count
  return `${kind}.${nth}${session.isHome ? '' : `@${session.name}`}`
}

/** A call of a model. */
interface ModelCall {
  operation: Pick<Operation, 'name' | 'model'>
  request: object
  stream: boolean
  prompt: Prompt
}

/** Characters of a system prompt up to which the kind of its calls is remembered. */
const SHORT = 4_000

/** The kind of a call: operation, stream, model, system prompt, names of the tools, form of the answer, turn. */
export function callKind({ operation, request, stream, prompt }: ModelCall): string {
  const { system, tools, answer = 'text', turn } = prompt
  const kind = system.length > SHORT ? kindOf : knownKind
  // To join no names takes as long as to look at all that is remembered.
  return kind(
    operation.name,
    stream,
    operation.model(request),
    tools.length > 0 ? tools.join() : '',
    answer,
    turn,
    system,
  )
}
type KindParts = [
  operation: string,
  stream: boolean,
  model: string,
  tools: string,
  form: string,
  turn: number,
  system: string,
]
const kindOf = (...[operation, stream, model, tools, form, turn, system]: KindParts): string =>
  injectionPointKind(operation, `${stream}\n${model}\n${tools}\n${form}\n${turn}\n${system}`)
const knownKind = rememberingAll(kindOf)

/** The kind of all calls of an operation that have the same shape. */
export const injectionPointKind = (operation: string, shape: string): string => `${operation}-${shapeDigits(shape)}`
const shapeDigits = remembering((shape: string) => fingerprint(shape).slice(0, 8))
