// Where a call may go, worked out before anything is tried: the balanced pick or the model, then the fallbacks.
import type { Settings } from './settings.ts'

/** One `<provider>/<model>` that a call may go to. */
export interface Target {
  model: string
  /** 0 is the primary one, 1 the first fallback. */
  position: number
  /** JSON path of the field that names it. */
  param: string
}

/**
 * The ordered targets of a call.
 * @param luck a number in [0, 1) that decides the balanced pick; the body's model means nothing when there is a balancer.
 */
export function planOf(model: string, { balance, fallbacks }: Settings, luck: () => number): Target[] {
  const picked = balance && pick(balance, luck())
  const primary = balance
    ? { model: balance[picked ?? 0]?.model ?? model, position: 0, param: `load_balancer.models[${picked}].model` }
    : { model, position: 0, param: 'model' }
  return [
    primary,
    ...fallbacks.map((name, index) => ({ model: name, position: index + 1, param: `fallbacks[${index}].model` })),
  ]
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
