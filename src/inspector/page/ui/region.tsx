// A part of the page that may be larger than its place, and is scrolled by keys too.
import type { ComponentChildren } from 'preact'

/** What a region is. */
export interface RegionProps {
  class: string
  label: string
  children: ComponentChildren
}

/** The region. */
export function Region({ class: name, label, children }: RegionProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys
    <section class={name} aria-label={label} tabIndex={0}>
      {children}
    </section>
  )
}
