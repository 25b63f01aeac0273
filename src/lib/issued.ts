// Marks what this program issued itself: signatures of thinking blocks, and encrypted reasoning.
import { fingerprint, unguessable } from './ids.ts'

/** The signature of a generated thinking block. */
export const signThought = (thought: string): string => btoa(fingerprint(thought))

/** Whether a signature is one of ours, but of another thinking block. Signatures of providers are not judged. */
export const isChangedThought = (thought: string, signature: string): boolean =>
  FINGERPRINT.test(decoded(signature)) && signature !== signThought(thought)
const FINGERPRINT = /^[0-9a-f]{16}$/

const SEAL_DIGITS = 8
const sealOf = (secret: string) => unguessable(secret, 'seal').slice(0, SEAL_DIGITS)

/** The encrypted content of a reasoning item: only the proof that it was issued with this secret, under this id. */
export const encryptReasoning = (secret: string, id: string): string =>
  btoa(`${unguessable(secret, id)}${sealOf(secret)}`)

/**
 * Whether encrypted content was issued with this secret, but not under this id. Content of others, or from before a
 * restart, is not judged.
 */
export const isChangedReasoning = (secret: string, id: string, encrypted: string): boolean =>
  decoded(encrypted).endsWith(sealOf(secret)) && encrypted !== encryptReasoning(secret, id)

/** The text in base64; empty if it is invalid or too long to be one of ours. */
function decoded(base64: string): string {
  if (base64.length > MAX_LENGTH) return ''
  try {
    return atob(base64)
  } catch {
    return ''
  }
}
const MAX_LENGTH = 100
