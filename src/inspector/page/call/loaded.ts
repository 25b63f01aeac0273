// The chosen call with everything about it, from the server or from the report.
import { effect, signal } from '@preact/signals'
import type { Exchange } from '../../../contract/core/exchange.ts'
import type { StoredTrace } from '../../../contract/core/trace.ts'
import type { Waterfall } from '../../../contract/core/waterfall.ts'
import { chosen } from '../calls/shown.ts'
import { askJson, errorText } from '../state/api.ts'
import { callOf } from '../state/call-list.ts'
import { reportData } from '../state/report.ts'

/** A call with what happened in it, and what its connection carried. */
export interface LoadedCall {
  trace: StoredTrace
  exchange: Exchange
  waterfall: Waterfall
}

/** What is known of the chosen call. */
export type CallState =
  | { kind: 'none' }
  | { kind: 'loading' }
  | { kind: 'failed'; why: string }
  | ({ kind: 'here' } & LoadedCall)

/** The chosen call. */
export const call = signal<CallState>({ kind: 'none' })

/** A call with what happened in it. */
export async function loadCall(id: string): Promise<LoadedCall> {
  if (reportData) {
    const found = reportData.calls[id]
    if (found) return found
    throw new Error('this report does not include the details of this call')
  }
  const path = `/_understudy/traces/${encodeURIComponent(id)}`
  // Whose it is, is known of those that are listed; of others, every session is asked.
  const row = callOf(id)
  const [query, session] = row ? ['', row.session] : ['?all=true', undefined]
  const [trace, waterfall, exchange] = await Promise.all([
    askJson<StoredTrace>(`${path}${query}`, { session }),
    askJson<Waterfall>(`${path}/waterfall${query}`, { session }),
    askJson<Exchange>(`${path}/exchange${query}`, { session }),
  ])
  return { trace, waterfall, exchange }
}

effect(() => {
  const id = chosen.value
  if (id === null) {
    call.value = { kind: 'none' }
    return
  }
  let meant = true
  call.value = call.peek().kind === 'here' ? call.peek() : { kind: 'loading' }
  loadCall(id).then(
    (loaded) => {
      if (meant) call.value = { kind: 'here', ...loaded }
    },
    (error: unknown) => {
      if (meant) call.value = { kind: 'failed', why: errorText(error) }
    },
  )
  return () => {
    meant = false
  }
})
