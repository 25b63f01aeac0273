// Where a call may go, worked out before anything is tried: the balanced pick or the model, then the fallbacks.
import { chance } from '../lib/chance.ts'
import type { Session } from '../sessions/sessions.ts'
import type { Settings } from './settings.ts'

/** One `<provider>/<model>` that a call may go to. */
export interface Target {
  model: string
  /** 0 is the primary one, 1 the first fallback. */
  position: number
  /** JSON path of the field that names it. */
  param: string
}

/** The ordered targets of a call; the body's model means nothing when there is a balancer. */
export function planOf(model: string, { balance, fallbacks }: Settings, lucky: Lucky): Target[] {
  const targets = [balance ? picked(balance, lucky) : { model, position: 0, param: 'model' }]
  for (const name of fallbacks) {
    const position = targets.length
    targets.push({ model: name, position, param: `fallbacks[${position - 1}].model` })
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
