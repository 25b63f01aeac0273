// Calls that say themselves that they repeat another: by a count, or by the same idempotency key.
import { type ClientCall, canReplace, goesOn, hasNewKey, keptWait, natureOf, sameRequest } from './client-call.ts'
import { costsOf, type Matcher, type PairingOptions, type PairTest } from './matcher.ts'

/** An answer that ends so soon after its repetition came may have been about to be cancelled. */
const CANCEL_GRACE_MS = 250

/** Calls that say themselves that they repeat another. */
export function pairDeclared(group: readonly ClientCall[], { match }: Matcher, { costOf }: PairingOptions): void {
  const before = keptKeys(group)
  const declared = group.filter((call) => before.has(call) || (call.mark.retry ?? 0) > 0)
  if (declared.length === 0) return
  const like =
    (...natures: string[]) =>
    (first: ClientCall) =>
      natures.includes(natureOf(first))
  const when =
    (...tests: PairTest[]): PairTest =>
    (first, again) =>
      repeats(first, again, before.get(again)) && tests.every((test) => test(first, again))
  const as = { declared: true }
  // First whatever accuses nobody, then what remains.
  for (const cost of costsOf(group, costOf)) {
    match(declared, { ...as, test: when(like('retryable'), keptWait, (first) => costOf(first) === cost) })
  }
  match(declared, { ...as, test: when(like('open', 'cancelled')) })
  const cancelling: PairTest = (first, again) =>
    natureOf(first) === 'cancelled' || goesOn(first, again) < CANCEL_GRACE_MS
  match(declared, { ...as, during: true, test: when(cancelling) })
  match(declared, { ...as, test: when(like('answered'), ({ disturbed }) => disturbed) })
  match(declared, { ...as, test: when(like('retryable')), verdict: 'early' })
  match(declared, { ...as, test: when(like('final'), (first, again) => !hasNewKey(first, again)), verdict: 'ignored' })
  // Of two copies that race each other on purpose, one is cancelled in the end.
  match(declared, { ...as, during: true, test: when((_, again) => natureOf(again) === 'cancelled') })
  match(declared, { ...as, during: true, test: when(), verdict: 'uncancelled' })
  match(declared, { ...as, test: when() })
}

/** The call before each that has the same idempotency key: one key is one request. */
export function keptKeys(group: readonly ClientCall[]): Map<ClientCall, ClientCall> {
  const last = new Map<string, ClientCall>()
  const before = new Map<ClientCall, ClientCall>()
  for (const call of group) {
    const { key } = call.mark
    if (key === null) continue
    const one = last.get(key)
    if (one) before.set(call, one)
    last.set(key, call)
  }
  return before
}

/** Whether a call says that it repeats the other. */
export function repeats(first: ClientCall, again: ClientCall, before: ClientCall | undefined): boolean {
  if (before) return first === before && canReplace(first, again)
  if (!sameRequest(first, again)) return false
  const { retry, key } = again.mark
  return (retry ?? 0) > 0 && first.mark.retry === (retry ?? 0) - 1 && key === null && first.mark.key === null
}
