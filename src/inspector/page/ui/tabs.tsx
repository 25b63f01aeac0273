// Tabs: one of several panels, selected by click or by arrow keys.
import type { ComponentChildren } from 'preact'

/** A tab and its content. */
export interface Tab {
  id: string
  label: string
  show(): ComponentChildren
}

/** The tabs, and the panel of the selected one. */
export function Tabs({
  tabs,
  chosen,
  onChoose,
  label,
}: {
  tabs: readonly Tab[]
  chosen: string
  onChoose: (id: string) => void
  label: string
}) {
  const index = Math.max(
    0,
    tabs.findIndex(({ id }) => id === chosen),
  )
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
