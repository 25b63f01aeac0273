// A scrollable region, also by keyboard.
import type { ComponentChildren } from 'preact'

/** The properties of a region. */
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
