// The list of calls: a grid of which only the rows that are seen are drawn.
import { useSignalEffect } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { CallRow } from '../../../contract/core/call-row.ts'
import { outcomeText } from '../../../views/outcome-text.ts'
import { clockText, spanText } from '../state/format.ts'
import { useVirtual } from '../ui/virtual.ts'
import { choose, chosen, shownCalls } from './shown.ts'

const ROW_HEIGHT = 30
/** The line of names, which stays at the top. */
const HEAD_HEIGHT = 29

/** The list of the calls that are shown. */
export function CallsList() {
  const rows = shownCalls.value
  const scroller = useKeptPosition(rows)
  const { items, height, show } = useVirtual(scroller, {
    count: rows.length,
    rowHeight: ROW_HEIGHT,
    above: HEAD_HEIGHT,
  })
  const id = chosen.value
  useSignalEffect(() => {
    const index = shownCalls.peek().findIndex((row) => row.id === chosen.value)
    if (index >= 0) show(index)
  })
  return (
    <div
      class="grid"
      role="grid"
      aria-label="Calls, newest first"
      aria-rowcount={rows.length + 1}
      aria-activedescendant={items.some(({ index }) => rows[index]?.id === id) ? `call-${id}` : undefined}
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
        {items.map(({ index, start }) => {
          const row = rows[index]
          // Always the same keys: elements that leave the window are those that come into it, and none is made anew.
          return row && <Row key={index % items.length} row={row} index={index} top={start} chosen={row.id === id} />
        })}
      </div>
    </div>
  )
}

/** An element in which what is looked at stays where it is when calls come in above it; at its top, the newest are seen. */
function useKeptPosition(rows: readonly CallRow[]) {
  const scroller = useRef<HTMLDivElement>(null)
  const before = useRef({ length: rows.length, first: rows[0]?.id })
  useLayoutEffect(() => {
    const element = scroller.current
    const { length, first } = before.current
    const added = rows.length - length
    before.current = { length: rows.length, first: rows[0]?.id }
    // Where it is scrolled to is asked for last, since the browser lays the page out to know it.
    if (!element || added <= 0 || length === 0 || first === rows[0]?.id || element.scrollTop < ROW_HEIGHT) return
    element.scrollTop += added * ROW_HEIGHT
  }, [rows])
  return scroller
}

const COLUMNS = [
  ['time', 'Time'],
  ['status', 'Status'],
  ['model', 'Model'],
  ['operation', 'Operation'],
  ['tries', 'Attempts'],
  ['length', 'Duration'],
  ['about', 'What happened'],
] as const

/** The class of a call's state. */
export const toneClass = ({ outcome }: Pick<CallRow, 'outcome'>): string =>
  outcome === 'succeeded' ? 'good' : outcome === 'canceled' ? 'warning' : 'bad'

interface RowProps {
  row: CallRow
  index: number
  top: number
  chosen: boolean
}

function Row({ row, index, top, chosen }: RowProps) {
  const { id, arrived, started, status, model, operation, stream, attempts, duration } = row
  const about = aboutOf(row).join(' · ')
  const time = clockText(arrived || started)
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
      <span role="gridcell" class="c-time">
        {time.slice(0, 8)}
        <small>{time.slice(8)}</small>
      </span>
      <span role="gridcell" class="c-status">
        <span class="pill">{status}</span>
      </span>
      <span role="gridcell" class="c-model" title={model ?? ''}>
        {model ?? '(no model)'}
      </span>
      <span role="gridcell" class="c-operation" title={operation}>
        {operation} {stream && <span class="tag">stream</span>}
      </span>
      <span role="gridcell" class="c-tries">
        {attempts > 1 ? <span class="tries">{attempts}</span> : attempts}
      </span>
      <span role="gridcell" class="c-length">
        {spanText(duration)}
      </span>
      <span role="gridcell" class="c-about" title={about}>
        {row.faults.map((fault) => (
          <span key={fault} class="tag fault">
            {fault}
          </span>
        ))}
        {about}
      </span>
    </div>
  )
}

/** What is particular about a call, most telling first. */
function aboutOf({
  outcome,
  error,
  cached,
  internal: inner,
  session,
  waited,
  fixture,
  generated,
  task,
}: CallRow): string[] {
  return [
    ...(outcome === 'succeeded' || outcome === 'http_error' ? [] : [outcomeText(outcome)]),
    ...(error === null ? [] : [error]),
    ...(waited > 0 ? [`waited ${spanText(waited)}`] : []),
    ...(cached ? ['from the cache'] : []),
    ...(task === null ? [] : ['agent']),
    ...(inner ? ['internal'] : []),
    ...(session === 'default' ? [] : [session]),
    ...(fixture === null ? (generated ? ['generated response'] : []) : [fixture]),
  ]
}
