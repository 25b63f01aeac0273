// JSON with indentation and syntax colors. All content of a trace is rendered as text, never as markup.
import { useState } from 'preact/hooks'
import { countText } from '../state/format.ts'
import { Region } from '../ui/layout.tsx'

/** Maximum characters that are shown at first, and that are colored. */
const [MAX_SHOWN, MAX_COLOURED] = [60_000, 200_000]

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** A value as JSON. */
export function Json({ value, label }: { value: unknown; label: string }) {
  const text = typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '')
  return <Code text={text} label={label} coloured={typeof value !== 'string'} />
}

/** A long text, of which only the start is shown at first. */
export function Code({ text, label, coloured = false }: { text: string; label: string; coloured?: boolean }) {
  const { shown, more } = useBeginning(text, MAX_SHOWN, 'characters')
  return (
    <>
      <Region class="code" label={label}>
        {coloured && shown.length <= MAX_COLOURED ? colours(shown) : shown}
      </Region>
      {more}
    </>
  )
}

/** The beginning of something long, and a button that shows all of it. */
export function useBeginning<Long extends string | readonly unknown[]>(all: Long, max: number, noun: string) {
  const [isAll, setAll] = useState(false)
  const shown = (isAll ? all : all.slice(0, max)) as Long
  const more = shown.length < all.length && (
    <button type="button" onClick={() => setAll(true)}>
      Show all {countText(all.length)} {noun}
    </button>
  )
  return { shown, more }
}

function colours(text: string) {
  const parts = []
  let end = 0
  for (const match of text.matchAll(TOKEN)) {
    const [whole, string, colon] = match
    if (match.index > end) parts.push(text.slice(end, match.index))
    const kind = string === undefined ? 'literal' : colon === undefined ? 'string' : 'key'
    parts.push(
      <span class={kind} key={match.index}>
        {string ?? whole}
      </span>,
    )
    if (colon !== undefined) parts.push(colon)
    end = match.index + whole.length
  }
  parts.push(text.slice(end))
  return parts
}
