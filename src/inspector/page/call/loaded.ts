// A call with all details, from the server or from the report.
import type { ReportCall } from '../../report-data.ts'
import { askJson } from '../state/api.ts'
import { callOf } from '../state/call-list.ts'
import { reportData } from '../state/report.ts'

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
