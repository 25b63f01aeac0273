// Where a call may go, worked out before anything is tried: the balanced pick or the model, then the fallbacks.
import { chance } from '../lib/chance.ts'
import type { Session } from '../sessions/sessions.ts'
import type { FallbackOptions } from './call.ts'
import { retriesOf, type Settings } from './settings.ts'

/** One `<provider>/<model>` that a call may go to. */
export interface Target {
  model: string
  /** 0 is the primary one, 1 the first fallback. */
  position: number
  /** JSON path of the field that names it. */
  param: string
  /** Fields of the request that are its own. */
  parameters?: object | undefined
  /** Its own retries, in the place of those of the call. */
  retry?: Settings['retry']
  /** Milliseconds that one of its attempts may take, in the place of those of the call. */
  callTimeout?: number | undefined
}

/** The ordered targets of a call, with what each fallback has of its own; the body's model means nothing when there is a balancer. */
export function planOf(
  model: string,
  { balance, fallbacks }: Settings,
  lucky: Lucky,
  own: readonly FallbackOptions[] = [],
): Target[] {
  const targets = [balance ? picked(balance, lucky) : { model, position: 0, param: 'model' }]
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

/** What the luck of a call is a function of: its session, and its key or number there. */
interface Lucky {
  session: Pick<Session, 'seed' | 'name'>
  key: string | number
}

function picked(models: readonly { model: string; weight: number }[], { session, key }: Lucky): Target {
  const index = pick(models, chance(session.seed, session.name, 'balance', key))
  return { model: models[index]?.model ?? '', position: 0, param: `load_balancer.models[${index}].model` }
}

/** The index whose share of the weights holds `luck`. */
function pick(models: readonly { weight: number }[], luck: number): number {
  const total = models.reduce((sum, { weight }) => sum + weight, 0)
  let left = luck * total
  const found = models.findIndex(({ weight }) => {
    left -= weight
    return left < 0
  })
  return found < 0 ? models.length - 1 : found
}
