// What views consist of: pages, parts with a title, lists of facts and lines, tables and fields.
import type { ComponentChildren } from 'preact'
import { CopyButton } from './copy.tsx'

/** A view with its title, and what stands beside it. */
export function Page({
  title,
  beside,
  children,
}: {
  title: string
  beside: ComponentChildren
  children: ComponentChildren
}) {
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
export function Block({ title, children, copy }: { title: string; children: ComponentChildren; copy?: () => string }) {
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
export function Region({
  class: name,
  label,
  children,
}: {
  class: string
  label: string
  children: ComponentChildren
}) {
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
export function Table({
  titles,
  caption,
  class: name = 'table',
  children,
}: {
  titles: readonly string[]
  caption?: string
  class?: string
  children: ComponentChildren
}) {
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

/** A field for a text. Its label is only for screen readers. */
export function TextField({
  label,
  value,
  onChange,
  placeholder,
  room,
}: {
  label: string
  value: string
  onChange: (value: string) => void
  placeholder: string
  room?: 'short' | 'grow'
}) {
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
