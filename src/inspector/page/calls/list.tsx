// The list of calls: a grid that draws only visible rows. A narrow list has two lines per call.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { CallRow } from '../../../contract/core/call-row.ts'
import { outcomeText } from '../../../contract/core/outcome-text.ts'
import { usesVirtualClock } from '../state/call-list.ts'
import { clockText, countedText, spanText } from '../state/format.ts'
import { choose, chosen, selected, shownCalls, toggleSelected } from './shown.ts'

/** Heights of a row and of the sticky header, which a narrow list lacks. */
const [WIDE, NARROW] = [
  { rowHeight: 30, above: 29 },
  { rowHeight: 48, above: 0 },
]
/** Width in pixels below which a list is narrow. */
const NARROW_BELOW = 700

/** The list of calls. */
export function CallsList() {
  const rows = shownCalls.value
  const id = chosen.value
  // After a call is closed, focus returns to its row.
  const last = useRef(id)
  if (id !== null) last.current = id
  const index = last.current === null ? -1 : rows.findIndex((row) => row.id === last.current)
  const [isNarrow, setNarrow] = useState(innerWidth < NARROW_BELOW)
  const { rowHeight, above } = isNarrow ? NARROW : WIDE
  const scroller = useKeptPosition(rows, rowHeight)
  const { items, height } = useVirtual(scroller, {
    count: rows.length,
    rowHeight,
    above,
    kept: { id: last.current, index, stays: id !== null },
  })
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => entry && setNarrow(entry.contentRect.width < NARROW_BELOW))
    if (scroller.current) observer.observe(scroller.current)
    return () => observer.disconnect()
  }, [scroller])
  return (
    <div
      class={`grid${isNarrow ? ' narrow' : ''}`}
      role="grid"
      aria-label="Calls, newest first"
      aria-rowcount={rows.length + 1}
      aria-activedescendant={id !== null && items.includes(index) ? `call-${id}` : undefined}
      tabIndex={0}
      ref={scroller}
    >
      <div class="head" role="row" aria-rowindex={1}>
        {COLUMNS.map(([name, label]) => (
          <span key={name} role="columnheader" class={`c-${name}`}>
            {label}
          </span>
        ))}
      </div>
      <div class="rows" role="rowgroup" style={{ height: `${height}px` }}>
        {items.map((at) => {
          const row = rows[at]
          // Keys are stable: elements that leave the window are reused for those that enter it.
          return (
            row && (
              <Row
                key={at % items.length}
                row={row}
                index={at}
                top={at * rowHeight}
                chosen={row.id === id}
                selected={selected.value.includes(row.id)}
              />
            )
          )
        })}
      </div>
    </div>
  )
}

/** An element that keeps its scroll position when calls are added above. At the top it shows the newest. */
function useKeptPosition(rows: readonly CallRow[], rowHeight: number) {
  const scroller = useRef<HTMLDivElement>(null)
  const before = useRef({ length: rows.length, first: rows[0]?.id })
  useLayoutEffect(() => {
    const element = scroller.current
    const { length, first } = before.current
    const added = rows.length - length
    before.current = { length: rows.length, first: rows[0]?.id }
    // The scroll position is read last, since that forces a layout.
    if (!element || added <= 0 || length === 0 || first === rows[0]?.id || element.scrollTop < rowHeight) return
    element.scrollTop += added * rowHeight
  }, [rows, rowHeight])
  return scroller
}

const COLUMNS = [
  ['select', ''],
  ['time', 'Time'],
  ['status', 'Status'],
  ['length', 'Duration'],
  ['prompt', 'Prompt'],
  ['model', 'Requested model'],
  ['session', 'Session'],
  ['reason', 'Failure reason'],
  ['details', 'Details'],
] as const

/** The CSS class of a call's state. */
export const toneClass = ({ outcome }: Pick<CallRow, 'outcome'>) =>
  outcome === 'succeeded' ? 'good' : outcome === 'canceled' ? 'warning' : 'bad'

interface RowProps {
  row: CallRow
  index: number
  top: number
  chosen: boolean
  selected: boolean
}

function Row({ row, index, top, chosen, selected }: RowProps) {
  const { id, arrived, started, status, model, operation, stream, duration, prompt, session, faults } = row
  const details = detailsOf(row).join(' · ')
  const reason = reasonOf(row)
  const time = clockText(arrived || started)
  const requested = row.requested_model ?? model
  return (
    <div
      class={`row ${toneClass(row)}${chosen ? ' chosen' : ''}${row.internal ? ' inner' : ''}`}
      role="row"
      id={`call-${id}`}
      aria-rowindex={index + 2}
      aria-selected={chosen}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => choose(index)}
      onKeyDown={({ key }) => key === 'Enter' && choose(index)}
    >
      <span role="gridcell" class="c-select">
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={`Select the call at ${time} to compare`}
          title="Select to compare"
          checked={selected}
          onClick={(event) => {
            event.stopPropagation()
            toggleSelected(id)
          }}
        />
      </span>
      <span role="gridcell" class="c-time">
        {time.slice(0, 8)}
        <small>{time.slice(8)}</small>
      </span>
      <span role="gridcell" class="c-status">
        <span class="pill">{status}</span>
      </span>
      <span role="gridcell" class="c-length">
        {usesVirtualClock(row) && (
          <span class="tag virtual" title="Virtual time: the session's clock skips waits">
            virtual
          </span>
        )}
        {spanText(duration)}
      </span>
      <span role="gridcell" class="c-prompt" title={prompt ?? operation}>
        {operation !== 'chat.completions' && <span class="tag">{operation}</span>}
        {stream && <span class="tag">stream</span>}
        {prompt ?? <span class="note">(no prompt)</span>}
      </span>
      <span class="sub" role="none">
        <span role="gridcell" class="c-model" title={requested ?? ''}>
          {requested ?? '(no model)'}
        </span>
        <span role="gridcell" class="c-session" title={session}>
          {session}
        </span>
        <span role="gridcell" class="c-reason" title={reason}>
          {reason}
        </span>
        <span role="gridcell" class="c-details" title={details}>
          {faults.map((fault) => (
            <span key={fault} class="tag fault">
              {fault}
            </span>
          ))}
          {details}
        </span>
      </span>
    </div>
  )
}

/** Why a call failed; empty if it did not. */
const reasonOf = ({ outcome, error }: CallRow): string =>
  outcome === 'succeeded'
    ? ''
    : [...(outcome === 'http_error' ? [] : [outcomeText(outcome)]), ...(error === null ? [] : [error])].join(': ')

/** The special facts about a call, the most relevant first. */
function detailsOf(row: CallRow): string[] {
  const { attempts, cached, internal: inner, waited, fixture, generated, task, model, requested_model: requested } = row
  const isOther = model !== null && requested !== null && model !== requested && !model.endsWith(`/${requested}`)
  return [
    ...(attempts > 1 ? [countedText(attempts, 'attempt')] : []),
    ...(isOther ? [`response from ${model}`] : []),
    ...(waited > 0 ? [`waited ${spanText(waited)}`] : []),
    ...(cached ? ['from the cache'] : []),
    ...(task === null ? [] : ['agent']),
    ...(inner ? ['internal'] : []),
    ...(fixture === null ? (generated ? ['generated response'] : []) : [`fixture ${fixture}`]),
  ]
}

interface VirtualOptions {
  count: number
  rowHeight: number
  /** Height of the sticky header, in pixels. */
  above: number
  /**
   * The item that is scrolled into view when it changes or rows change their height; its index is negative for none.
   */
  kept: {
    id: string | null
    index: number /** Whether it stays in view when the element's size changes. */
    stays: boolean
  }
}

/** Items that are rendered before and after the visible ones. */
const BESIDE = 6

/** The items of a list that are visible in an element, and the height of the whole list. All have the same height. */
function useVirtual(element: { current: HTMLElement | null }, { count, rowHeight, above, kept }: VirtualOptions) {
  const [top, setTop] = useState(0)
  // Until its size is known: at most that of the window.
  const [seen, setSeen] = useState(Math.ceil(innerHeight / rowHeight))
  /** Scrolls as little as necessary to show an item. */
  const show = (index: number) => {
    const place = element.current
    if (!place) return
    const [from, to] = [index * rowHeight, (index + 1) * rowHeight + above]
    if (from < place.scrollTop) place.scrollTop = from
    else if (to > place.scrollTop + place.clientHeight) place.scrollTop = to - place.clientHeight
  }
  const showKept = useRef<() => unknown>(() => {})
  showKept.current = () => kept.stays && kept.index >= 0 && show(kept.index)
  const shown = useRef('')
  useLayoutEffect(() => {
    const mark = `${kept.id} ${rowHeight}`
    if (kept.index < 0 || shown.current === mark) return
    shown.current = mark
    show(kept.index)
  })
  useLayoutEffect(() => {
    const place = element.current
    if (!place) return
    const scrolled = () => setTop(Math.floor(place.scrollTop / rowHeight))
    // Reports the size after each layout. Reading it would force a layout.
    const observer = new ResizeObserver(([entry]) => {
      if (entry) setSeen(Math.ceil(entry.contentRect.height / rowHeight))
      showKept.current()
      scrolled()
    })
    observer.observe(place)
    place.addEventListener('scroll', scrolled, { passive: true })
    return () => {
      observer.disconnect()
      place.removeEventListener('scroll', scrolled)
    }
  }, [element, rowHeight])
  const first = Math.max(0, Math.min(top, count - seen) - BESIDE)
  const length = Math.min(count, Math.max(top, 0) + seen + BESIDE + 1) - first
  return {
    /** Their indexes. */
    items: Array.from({ length: Math.max(0, length) }, (_, at) => first + at),
    height: count * rowHeight + above,
  }
}
