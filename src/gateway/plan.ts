// Plans the targets of a call: the model or the load balancer's choice, then the fallbacks.
import { chance } from '../lib/chance.ts'
import type { Session } from '../sessions/sessions.ts'
import type { FallbackOptions } from './call.ts'
import { retriesOf, type Settings } from './settings.ts'

/** A `<provider>/<model>` that a call may go to. */
export interface Target {
  model: string
  /** 0 for the primary target, 1 for the first fallback. */
  position: number
  /** JSON path of the field that names it. */
  param: string
  /** Request fields for this target only. */
  parameters?: object | undefined
  /** Retries of this target, instead of those of the call. */
  retry?: Settings['retry']
  /** Time limit of one attempt in ms, instead of that of the call. */
  callTimeout?: number | undefined
}

/** The targets of a call in order, each fallback with its own options. A load balancer replaces the model of the body. */
export function planOf(
  model: string,
  { balance, fallbacks }: Settings,
  balanceKey: BalanceKey,
  own: readonly FallbackOptions[] = [],
): Target[] {
  const targets = [balance ? balancedTarget(balance, balanceKey) : { model, position: 0, param: 'model' }]
  for (const name of fallbacks) {
    const position = targets.length
    const { parameters, retry, timeout } = own[position - 1] ?? {}
    const target = { model: name, position, param: `fallbacks[${position - 1}].model` }
    targets.push({
      ...target,
      ...(parameters && { parameters }),
      ...(retry && { retry: retriesOf(retry) }),
      ...(timeout && { callTimeout: timeout.call_timeout }),
    })
  }
  return targets
}

/** Determines the choice of the load balancer: the session and the key or number of the call. */
interface BalanceKey {
  session: Pick<Session, 'seed' | 'name'>
  key: string | number
}

function balancedTarget(models: readonly { model: string; weight: number }[], { session, key }: BalanceKey): Target {
  const index = pickIndex(models, chance(session.seed, session.name, 'balance', key))
  return { model: models[index]?.model ?? '', position: 0, param: `load_balancer.models[${index}].model` }
}

/** The index whose share of the weights contains `fraction`, a number from 0 to below 1. */
function pickIndex(models: readonly { weight: number }[], fraction: number): number {
  const total = models.reduce((sum, { weight }) => sum + weight, 0)
  let remaining = fraction * total
  const found = models.findIndex(({ weight }) => {
    remaining -= weight
    return remaining < 0
  })
  return found < 0 ? models.length - 1 : found
}
