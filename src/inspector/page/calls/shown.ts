// The calls in the list: those that the filters select, newest first, and the selected one.
import { computed, effect, signal } from '@preact/signals'
import type { CallRow } from '../../../contract/core/call-row.ts'
import { callPages } from '../state/api.ts'
import { allCalls, changes } from '../state/call-list.ts'
import { reportData } from '../state/report.ts'
import { go, here, narrow } from '../state/route.ts'
import { FILTERS, testOf } from './filter.ts'

/** Only the filters: selecting a call does not change the list. */
const filter = computed(() => {
  const { params } = here.value
  const own = new URLSearchParams([...params].filter(([name]) => (FILTERS as readonly string[]).includes(name)))
  return own.toString()
})

/** Whether there are filters. */
export const isNarrowed = computed(() => filter.value !== '')

/** Traces in which the server found the text. */
const found = signal<ReadonlySet<string>>(new Set())
/** Whether a search is running. */
export const searching = signal(false)

const text = computed(() => new URLSearchParams(filter.value).get('text') ?? '')
effect(() => {
  const query = text.value
  found.value = new Set()
  searching.value = false
  if (query === '') return
  if (reportData) {
    found.value = new Set(
      Object.entries(reportData.calls).flatMap(([id, { trace }]) =>
        JSON.stringify([trace.request, trace.response]).toLowerCase().includes(query.toLowerCase()) ? [id] : [],
      ),
    )
    return
  }
  const stop = new AbortController()
  searching.value = true
  search(query, stop.signal)
    .catch(() => {})
    .finally(() => {
      if (!stop.signal.aborted) searching.value = false
    })
  return () => stop.abort()
})

async function search(query: string, signal: AbortSignal): Promise<void> {
  for await (const rows of callPages({ sessions: 'all', text: query }, { signal }))
    if (rows.length > 0) found.value = new Set([...found.value, ...rows.map(({ id }) => id)])
}

/** The calls shown, newest first. */
export const shownCalls = computed((): readonly CallRow[] => {
  changes.value
  const params = new URLSearchParams(filter.value)
  if (filter.value === '') return allCalls().toReversed()
  const test = testOf(params, found.value)
  return allCalls().filter(test).reverse()
})

/** The id of the selected call. */
export const chosen = computed(() => here.value.params.get('call'))

/** Selects the call at an index of the list. */
export function choose(index: number): void {
  const row = shownCalls.value[Math.max(0, Math.min(shownCalls.value.length - 1, index))]
  if (row) narrow({ call: row.id, session_of: undefined }, { replace: true })
}

const place = () => shownCalls.value.findIndex(({ id }) => id === chosen.value)

/** Selects the next or the previous call. */
export function stepCall(by: 1 | -1): void {
  const at = place()
  choose(at < 0 ? (by > 0 ? 0 : shownCalls.value.length - 1) : at + by)
}

/** Selects the next or the previous failed call in the list. */
export function stepToFailure(by: 1 | -1): void {
  const rows = shownCalls.value
  const at = place()
  for (let index = at < 0 && by < 0 ? rows.length - 1 : at + by; index >= 0 && index < rows.length; index += by) {
    if (rows[index]?.outcome !== 'succeeded') {
      choose(index)
      return
    }
  }
}

/** Ids of the calls to compare: two at most, in the order of their selection. */
export const selected = signal<readonly string[]>([])

/** Selects a call for comparison, or deselects it. A third call replaces the first one. */
export function toggleSelected(id: string): void {
  const { value } = selected
  selected.value = value.includes(id) ? value.filter((one) => one !== id) : [...value, id].slice(-2)
}

/** Opens the comparison of the two selected calls. Does nothing if there are fewer. */
export function compareSelected(): void {
  const [a, b] = selected.value
  if (a !== undefined && b !== undefined) go('compare', { a, b })
}
