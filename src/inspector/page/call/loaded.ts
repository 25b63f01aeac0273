// The selected call with all details, from the server or from the report.
import { effect, signal } from '@preact/signals'
import type { ReportCall } from '../../report-data.ts'
import { chosen } from '../calls/shown.ts'
import { askJson, errorText } from '../state/api.ts'
import { callOf } from '../state/call-list.ts'
import { reportData } from '../state/report.ts'

type CallState =
  | { kind: 'none' }
  | { kind: 'loading' }
  | { kind: 'failed'; why: string }
  | ({ kind: 'here' } & ReportCall)

/** The selected call, or the state of loading it. */
export const call = signal<CallState>({ kind: 'none' })

/** A call with its steps. */
export async function loadCall(id: string): Promise<ReportCall> {
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
    askJson<ReportCall['trace']>(`${path}${query}`, { session }),
    askJson<ReportCall['waterfall']>(`${path}/waterfall${query}`, { session }),
    askJson<ReportCall['exchange']>(`${path}/exchange${query}`, { session }),
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
