// The filter bar above the list. All filters are in the URL, too.
import { useRef, useState } from 'preact/hooks'
import { capital } from '../../../lib/units.ts'
import { allCalls, changes } from '../state/call-list.ts'
import { countedText, countText } from '../state/format.ts'
import { loading } from '../state/live.ts'
import { here, narrow } from '../state/route.ts'
import { Icon } from '../ui/icons.tsx'
import { CHOICES, type Choice, choiceValues, FILTERS, isNarrowed, searching, shownCalls } from './shown.ts'

/** Id of the search field, which has a keyboard shortcut. */
export const SEARCH = 'search'

/** The bar. */
export function Filters() {
  changes.value
  // Time fields take the browser longer than everything else, so they are created when the pointer or focus approaches.
  const [isNear, setNear] = useState(false)
  return (
    <search class="filters" onFocusIn={() => setNear(true)}>
      <Search />
      <div class="strip">
        {CHOICES.map((choice) => (
          <ChoiceField key={choice} choice={choice} />
        ))}
      </div>
      {TIMES.map(
        ([name, label]) =>
          (isNear || here.value.params.has(name)) && <TimeField key={name} name={name} label={label} />,
      )}
      {isNarrowed.value && (
        <button type="button" class="quiet" onClick={clearFilters}>
          Clear
        </button>
      )}
      <output class="count" aria-live="polite">
        {loading.value ? 'loading … ' : searching.value ? 'searching … ' : ''}
        {isNarrowed.value
          ? `${countText(shownCalls.value.length)} of ${countText(allCalls().length)}`
          : countedText(allCalls().length, 'call')}
      </output>
    </search>
  )
}

/** Clears all filters. */
function clearFilters(): void {
  narrow(Object.fromEntries(FILTERS.map((name) => [name, undefined])))
}

const TYPING_MS = 200

function Search() {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const later = (value: string) => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => narrow({ text: value.trim() }, { replace: true }), TYPING_MS)
  }
  return (
    <label class="search">
      <Icon name="search" />
      <span class="hidden">Search calls</span>
      <input
        id={SEARCH}
        type="search"
        placeholder="Search calls, requests, responses"
        value={here.value.params.get('text') ?? ''}
        onInput={(event) => later(event.currentTarget.value)}
      />
      <span class="key">/</span>
    </label>
  )
}

/** Choices that stand for several values. */
const GROUPS: Partial<Record<Choice, [value: string, label: string][]>> = {
  status: [
    ['2xx', '2xx'],
    ['4xx', '4xx'],
    ['5xx', '5xx'],
  ],
  outcome: [['failed', 'any failure']],
  fault: [['any', 'any fault']],
}

function ChoiceField({ choice }: { choice: Choice }) {
  const value = here.value.params.get(choice) ?? ''
  // The values are counted when the menu is about to open.
  const [open, setOpen] = useState(false)
  const values = open ? choiceValues(choice, allCalls()) : []
  const groups = GROUPS[choice] ?? []
  const known = value === '' || [...values, ...groups].some(([one]) => one === value)
  return (
    <label class={`choice${value === '' ? '' : ' active'}`}>
      <span class="hidden">{capital(choice)}</span>
      <select
        value={value}
        onPointerDown={() => setOpen(true)}
        onFocus={() => setOpen(true)}
        onChange={(event) => narrow({ [choice]: event.currentTarget.value })}
      >
        <option value="">{capital(choice)}</option>
        {!known && <option value={value}>{value}</option>}
        {groups.map(([one, label]) => (
          <option key={one} value={one}>
            {label}
          </option>
        ))}
        {values.map(([one, count]) => (
          <option key={one} value={one}>
            {one} ({countText(count)})
          </option>
        ))}
      </select>
    </label>
  )
}

const TIMES = [
  ['since', 'From'],
  ['until', 'To'],
] as const

function TimeField({ name, label }: { name: string; label: string }) {
  const value = here.value.params.get(name) ?? ''
  return (
    <label class={`time${value === '' ? '' : ' active'}`}>
      <span>{label}</span>
      <input
        type="datetime-local"
        step="1"
        value={localOf(value)}
        onChange={(event) => {
          const at = new Date(event.currentTarget.value)
          narrow({ [name]: Number.isNaN(at.getTime()) ? undefined : at.toISOString() })
        }}
      />
    </label>
  )
}

/** An instant in the format of the field: local time without a zone. */
function localOf(text: string): string {
  const at = new Date(/^\d+$/.test(text) ? Number(text) : text)
  if (text === '' || Number.isNaN(at.getTime())) return ''
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}
