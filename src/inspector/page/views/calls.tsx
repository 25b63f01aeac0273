// Calls: the list, and beside it the chosen one.
import { CallDetail } from '../call/detail.tsx'
import { Filters } from '../calls/filters.tsx'
import { CallsList } from '../calls/list.tsx'
import { chosen, isNarrowed, shownCalls } from '../calls/shown.ts'
import { loading } from '../state/live.ts'
import { reportData } from '../state/report.ts'
import { Start } from './start.tsx'

/** The view. */
export function CallsView() {
  const empty = shownCalls.value.length === 0
  if (empty && !isNarrowed.value && !reportData && !loading.value && chosen.value === null) return <Start />
  return (
    <div class={`calls${chosen.value === null ? '' : ' with-call'}`}>
      <div class="list-pane">
        <Filters />
        {empty ? <p class="empty">{loading.value ? 'Loading …' : 'No matching calls.'}</p> : <CallsList />}
      </div>
      <CallDetail />
    </div>
  )
}
