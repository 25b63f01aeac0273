// The calls in the list: those that the filters select, newest first, and the selected one.
import { computed, effect, signal } from '@preact/signals'
import type { CallRow } from '../../../contract/core/call-row.ts'
import { callPages } from '../state/api.ts'
import { allCalls, changes } from '../state/call-list.ts'
import { reportData } from '../state/report.ts'
import { go, here, narrow } from '../state/route.ts'

/** URL parameters that select calls by one value. */
export const CHOICES = ['session', 'operation', 'model', 'outcome', 'status', 'fault', 'fixture'] as const
/** Name of a filter that selects calls by one value. */
export type Choice = (typeof CHOICES)[number]

/** All filter parameters. */
export const FILTERS = [...CHOICES, 'text', 'since', 'until', 'internal'] as const

/** The values of a row for each filter. */
const VALUES: Record<Choice, (row: CallRow) => readonly string[]> = {
  session: ({ session }) => [session],
  operation: ({ operation }) => [operation],
  model: ({ model, requested_model: requested }) => [
    ...new Set([requested ?? model ?? 'none', model ?? requested ?? 'none']),
  ],
  outcome: ({ outcome }) => [outcome],
  status: ({ status }) => [String(status)],
  fault: ({ faults }) => (faults.length > 0 ? faults : ['none']),
  fixture: ({ fixture, generated }) => [fixture ?? (generated ? 'generated' : 'none')],
}

/** Values that stand for several: `5xx`, and `any` fault. */
const matches = (choice: Choice, pattern: string, values: readonly string[]): boolean => {
  if (values.includes(pattern)) return true
  if (choice === 'status' && /^[1-5]xx$/.test(pattern)) return values.some((value) => value[0] === pattern[0])
  if (choice === 'fault' && pattern === 'any') return !values.includes('none')
  return choice === 'outcome' && pattern === 'failed' && !values.includes('succeeded')
}

/** The predicate of the filters; `found` are traces in which the server found the text. */
function testOf(params: URLSearchParams, found: ReadonlySet<string>): (row: CallRow) => boolean {
  const tests: ((row: CallRow) => boolean)[] = []
  for (const choice of CHOICES) {
    const patterns = params.getAll(choice)
    if (patterns.length > 0) tests.push((row) => patterns.some((one) => matches(choice, one, VALUES[choice](row))))
  }
  const [since, until] = ['since', 'until'].map((name) => instantOf(params.get(name)))
  if (since !== undefined) tests.push(({ started }) => started >= since)
  if (until !== undefined) tests.push(({ started }) => started <= until)
  if (params.get('internal') === 'no') tests.push(({ internal: inner }) => !inner)
  const text = params.get('text')?.toLowerCase()
  if (text) tests.push((row) => found.has(row.id) || wordsIn(row).includes(text))
  return (row) => tests.every((test) => test(row))
}

const wordsIn = ({ id, name, model, requested_model: requested, prompt, operation, error, ...row }: CallRow): string =>
  [id, name, model, requested, prompt, operation, error, row.thread, row.task, row.fixture, row.session, ...row.faults]
    .join('\n')
    .toLowerCase()

/** ISO 8601, or milliseconds since the epoch. */
function instantOf(text: string | null): number | undefined {
  if (!text) return undefined
  const at = /^\d+$/.test(text) ? Number(text) : Date.parse(text)
  return Number.isNaN(at) ? undefined : at
}

/** Number of calls for each value of a filter, the most frequent first. */
export function choiceValues(choice: Choice, rows: readonly CallRow[]): [value: string, count: number][] {
  const counts = new Map<string, number>()
  for (const row of rows) for (const value of VALUES[choice](row)) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts].sort(([one, many], [other, most]) => most - many || (one < other ? -1 : 1))
}

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
