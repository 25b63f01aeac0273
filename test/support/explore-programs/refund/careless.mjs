// The mistake: any failure starts the task again, so the order is paid back twice.
import { again } from '../again.mjs'
import { refundWith } from './agent.mjs'

const limited = (fetch) => (url, init) => fetch(url, { ...init, signal: AbortSignal.timeout(1_000) })

export const refundOf = ({ openai }, complaint, refund) =>
  again(() => refundWith({ ...openai, fetch: limited(openai.fetch) }, complaint, refund))
