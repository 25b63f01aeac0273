// The selected call with all details, from the server or from the report.
import { effect, signal } from '@preact/signals'
import type { Exchange } from '../../../contract/core/exchange.ts'
import type { StoredTrace } from '../../../contract/core/trace.ts'
import type { Waterfall } from '../../../contract/core/waterfall.ts'
import { chosen } from '../calls/shown.ts'
import { askJson, errorText } from '../state/api.ts'
import { callOf } from '../state/call-list.ts'
import { reportData } from '../state/report.ts'

/** A call with its steps, and its wire data. */
export interface LoadedCall {
  trace: StoredTrace
  exchange: Exchange
  waterfall: Waterfall
}

/** The state of loading the selected call. */
export type CallState =
  | { kind: 'none' }
  | { kind: 'loading' }
  | { kind: 'failed'; why: string }
  | ({ kind: 'here' } & LoadedCall)

/** The selected call. */
export const call = signal<CallState>({ kind: 'none' })

/** A call with its steps. */
export async function loadCall(id: string): Promise<LoadedCall> {
  if (reportData) {
    const found = reportData.calls[id]
    if (found) return found
    throw new Error('this report does not include the details of this call')
  }
  const path = `/_understudy/traces/${encodeURIComponent(id)}`
  // The session is known for listed calls; otherwise every session is searched.
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
