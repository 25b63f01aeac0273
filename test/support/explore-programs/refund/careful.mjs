import { again } from '../again.mjs'
import { refundWith } from './agent.mjs'

/** Each call is repeated by itself: what was done before it stays done. */
const patiently = (fetch) => (url, init) =>
  again(async () => {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(1_000) })
    const { status, headers } = response
    if (status === 429 || status >= 500) throw Object.assign(new Error(`status ${status}`), { status, headers })
    const text = await response.text()
    JSON.parse(text)
    return new Response(text, { status, headers: { 'content-type': 'application/json' } })
  })

export const refundOf = ({ openai }, complaint, refund) =>
  refundWith({ ...openai, fetch: patiently(openai.fetch) }, complaint, refund)
