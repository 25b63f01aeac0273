// The mistake: any failure starts the task again, so the order is paid back twice.
import { again } from '../again.mjs'
import { refundWith } from './agent.mjs'

const limited = (url, init) => fetch(url, { ...init, signal: AbortSignal.timeout(1_000) })

export const refundOf = (complaint, refund) =>
  again(() => refundWith({ fetch: limited, maxRetries: 0 }, complaint, refund))
