// What a careful program does before it tells its user that a request has failed: it repeats it, with pauses.
import { type ClientCall, hasNewKey, isFallback, keptWait, pauseBetween } from './client-call.ts'
import { stepsOf } from './lanes.ts'

/** So many repeats, with so long pauses in all and for each of them, are careful where nothing else shows how many the client has left. */
const CAREFUL = { repeats: 2, waited_ms: 250, each_ms: 100 }

/**
 * Whether a request was repeated with pauses: twice, or as often as the client declares, at another model, or with another API key; by the
 * client itself or by the gateway as the call's options tell it to.
 * @param isDeclared whether a call declares that it repeats the one before
 */
export function isCareful(chain: readonly ClientCall[], isDeclared: (again: ClientCall) => boolean): boolean {
  const steps = stepsOf(chain)
  // The gateway makes more attempts only where the client has asked for retries or fallbacks, and pauses between retries.
  if (chain.some(({ attempts }) => attempts > 1)) return true
  if (steps.some(([first, again]) => isFallback(first, again) || hasNewKey(first, again))) return true
  if (steps.length < (steps.every(([, again]) => isDeclared(again)) ? 1 : CAREFUL.repeats)) return false
  const waited = steps.reduce((sum, [first, again]) => sum + Math.max(0, pauseBetween(first, again)), 0)
  const enough = Math.max(CAREFUL.waited_ms, CAREFUL.each_ms * steps.length)
  return waited >= enough || steps.every(([first, again]) => first.wait !== null && keptWait(first, again))
}
