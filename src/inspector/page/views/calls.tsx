// The list of calls, and the selected one beside it.
import { CallDetail } from '../call/detail.tsx'
import { Filters } from '../calls/filters.tsx'
import { CallsList } from '../calls/list.tsx'
import { chosen, compareSelected, isNarrowed, selected, shownCalls } from '../calls/shown.ts'
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
      <CompareBar />
    </div>
  )
}

/** The calls that are selected for comparison. */
function CompareBar() {
  const count = selected.value.length
  if (count === 0) return null
  return (
    <div class="compare-bar">
      <span role="status">{count === 1 ? '1 call selected. Select another one to compare.' : '2 calls selected'}</span>
      {count === 2 && (
        <button type="button" class="primary" onClick={compareSelected}>
          Compare
        </button>
      )}
      <button type="button" class="quiet" onClick={() => (selected.value = [])}>
        Clear selection
      </button>
    </div>
  )
}
