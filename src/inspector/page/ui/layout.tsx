// What views consist of: pages, parts with a title, lists, tables, fields, buttons, dialogs, tabs, code and JSON; and export
// of texts.
import type { ComponentChildren, RenderableProps } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { errorText } from '../state/api.ts'
import { countText } from '../state/format.ts'
import { Icon } from './icons.tsx'

const SHOWN_MS = 1_500

/** Copies a text, and confirms it. */
export function CopyButton({ text }: { text: () => string }) {
  const [done, setDone] = useState(false)
  const copy = async () => {
    await copyText(text())
    setDone(true)
    setTimeout(() => setDone(false), SHOWN_MS)
  }
  return (
    <button type="button" class="quiet" onClick={copy}>
      <Icon name={done ? 'check' : 'copy'} />
      <span aria-live="polite">{done ? 'Copied' : 'Copy'}</span>
    </button>
  )
}

/** Copies a text; without access to the clipboard, as for a page from disk, by the old API. */
async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
  } catch {
    const field = document.createElement('textarea')
    field.value = text
    document.body.append(field)
    field.select()
    document.execCommand('copy')
    field.remove()
  }
}

/** Saves a text as a file. */
export function saveFile(name: string, text: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 1_000)
}

/** A view with its title, and what stands beside it. */
export function Page({ title, beside, children }: RenderableProps<{ title: string; beside: ComponentChildren }>) {
  return (
    <div class="page wide">
      <header class="page-head">
        <h1>{title}</h1>
        {beside}
      </header>
      {children}
    </div>
  )
}

/** A part with a title, and a button that copies it. */
export function Block({ title, children, copy }: RenderableProps<{ title: string; copy?: () => string }>) {
  return (
    <section class="block">
      <header>
        <h3>{title}</h3>
        {copy && <CopyButton text={copy} />}
      </header>
      {children}
    </section>
  )
}

/** A scrollable region, also by keyboard. */
export function Region({ class: name, label, children }: RenderableProps<{ class: string; label: string }>) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys
    <section class={name} aria-label={label} tabIndex={0}>
      {children}
    </section>
  )
}

/** Facts by name. */
export function Facts({ rows, class: name = 'facts' }: { rows: [string, ComponentChildren][]; class?: string }) {
  return (
    <dl class={name}>
      {rows.map(([title, value]) => (
        <div key={title}>
          <dt>{title}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** Distinct lines, each in a paragraph. */
export const Lines = ({ lines, class: name }: { lines: readonly string[]; class?: string }) => (
  <>
    {lines.map((line) => (
      <p key={line} class={name}>
        {line}
      </p>
    ))}
  </>
)

/** A table with a title for each column; above numbers, it is marked with `#`. */
export function Table(props: RenderableProps<{ titles: readonly string[]; caption?: string; class?: string }>) {
  const { titles, caption, class: name = 'table', children } = props
  return (
    <table class={name}>
      {caption !== undefined && <caption class="hidden">{caption}</caption>}
      <thead>
        <tr>
          {titles.map((title) => (
            <th key={title} class={title.startsWith('#') ? 'number' : undefined}>
              {title.replace('#', '')}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  )
}

interface FieldProps {
  label: string
  value: string
  onChange(value: string): void
  placeholder: string
  room?: 'short' | 'grow'
}

/** A field for a text. Its label is only for screen readers. */
export function TextField({ label, value, onChange, placeholder, room }: FieldProps) {
  return (
    <label class={room === 'grow' ? room : undefined}>
      <span class="hidden">{label}</span>
      <input
        class={room === 'short' ? room : undefined}
        placeholder={placeholder}
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </label>
  )
}

interface ActionProps {
  act: () => Promise<unknown>
  children: ComponentChildren
  kind?: 'primary' | 'danger' | 'quiet'
  disabled?: boolean
  /** Question to confirm first. */
  confirm?: string
}

/** The button, which is disabled while it acts. */
export function ActionButton({ act, children, kind, disabled = false, confirm }: ActionProps) {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<string>()
  const press = async () => {
    if (confirm !== undefined && !globalThis.confirm(confirm)) return
    setBusy(true)
    setError(undefined)
    await act().catch((reason: unknown) => setError(errorText(reason)))
    setBusy(false)
  }
  return (
    <>
      <button type="button" class={kind} disabled={disabled || busy} onClick={press}>
        {children}
      </button>
      {error !== undefined && (
        <span class="callout bad" role="alert">
          {error}
        </span>
      )}
    </>
  )
}

/** A dialog that is open for as long as it is rendered. */
export function Dialog({ title, onClose, children }: RenderableProps<{ title: string; onClose(): void }>) {
  const element = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    element.current?.showModal()
  }, [])
  return (
    <dialog ref={element} aria-label={title} onClose={onClose}>
      <header>
        <h2>{title}</h2>
        <button type="button" class="quiet" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {children}
    </dialog>
  )
}

/** A tab and its content. */
export interface Tab {
  id: string
  label: string
  show(): ComponentChildren
}

interface TabsProps {
  tabs: readonly Tab[]
  chosen: string
  onChoose(id: string): void
  label: string
}

/** The tabs, and the panel of the selected one. */
export function Tabs({ tabs, chosen, onChoose, label }: TabsProps) {
  const found = tabs.findIndex(({ id }) => id === chosen)
  const index = Math.max(0, found)
  const turn = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    const next = by === undefined ? undefined : tabs[(index + by + tabs.length) % tabs.length]
    if (!next) return
    event.preventDefault()
    onChoose(next.id)
    document.getElementById(`tab-${next.id}`)?.focus()
  }
  return (
    <>
      <div class="tabs" role="tablist" aria-label={label} onKeyDown={turn}>
        {tabs.map((tab, at) => (
          <button
            key={tab.id}
            type="button"
            role="tab"
            id={`tab-${tab.id}`}
            aria-selected={at === index}
            aria-controls="panel"
            tabIndex={at === index ? 0 : -1}
            onClick={() => onChoose(tab.id)}
          >
            {tab.label}
          </button>
        ))}
      </div>
      <div class="panel" role="tabpanel" id="panel" aria-labelledby={`tab-${tabs[index]?.id}`}>
        {tabs[index]?.show()}
      </div>
    </>
  )
}

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
