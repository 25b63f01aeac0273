// Keyboard shortcuts of the page.
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { close } from './call/detail.tsx'
import { SEARCH } from './calls/filters.tsx'
import { chosen, compareSelected, stepCall, stepToFailure, toggleSelected } from './calls/shown.ts'
import { go } from './state/route.ts'
import { nextTheme } from './state/theme.ts'
import { Dialog } from './ui/layout.tsx'
import { viewsHere } from './views.tsx'

/** Whether the list of shortcuts is shown. */
export const helpShown = signal(false)

interface Key {
  /** Values of `KeyboardEvent.key`. */
  keys: readonly string[]
  shown: string
  does: string
  act(): unknown
}

const search = () => {
  const field = document.getElementById(SEARCH)
  if (field) field.focus()
  else go('calls')
}

const KEYS: readonly Key[] = [
  { keys: ['j', 'ArrowDown'], shown: 'j ↓', does: 'next call', act: () => stepCall(1) },
  { keys: ['k', 'ArrowUp'], shown: 'k ↑', does: 'previous call', act: () => stepCall(-1) },
  { keys: ['n'], shown: 'n', does: 'next failed call', act: () => stepToFailure(1) },
  { keys: ['N', 'p'], shown: 'p', does: 'previous failed call', act: () => stepToFailure(-1) },
  {
    keys: ['x'],
    shown: 'x',
    does: 'select the call to compare',
    act: () => chosen.value !== null && toggleSelected(chosen.value),
  },
  { keys: ['c'], shown: 'c', does: 'compare the two selected calls', act: compareSelected },
  { keys: ['/'], shown: '/', does: 'search', act: search },
  { keys: ['Escape'], shown: 'Esc', does: 'close the call', act: close },
  { keys: ['t'], shown: 't', does: 'theme: light, dark, system', act: nextTheme },
  { keys: ['?'], shown: '?', does: 'shortcuts', act: () => (helpShown.value = !helpShown.value) },
]

const typesIn = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  (target.matches('input:not([type=checkbox], [type=radio]), textarea, select') || target.isContentEditable)

/** Listens for shortcuts as long as the page exists. */
export function useKeys(): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
      const { key } = event
      // Editors have shadow roots, from which events appear to come from the host.
      const [target = null] = event.composedPath()
      if (typesIn(target)) {
        if (key === 'Escape' && target instanceof HTMLElement) target.blur()
        return
      }
      // Dialogs, tabs and code have keys of their own.
      if (document.querySelector('dialog[open]')) return
      if (
        target instanceof HTMLElement &&
        target.closest('[role=tablist], .code, .cm-editor') &&
        key.startsWith('Arrow')
      )
        return
      const found = KEYS.find(({ keys }) => keys.includes(key))
      const view = viewsHere[Number(key) - 1]
      if (!found && !view) return
      event.preventDefault()
      if (found) found.act()
      else if (view) go(view.id)
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
}

/** The list of shortcuts. */
export function KeyHelp() {
  if (!helpShown.value) return null
  return (
    <Dialog title="Keyboard shortcuts" onClose={() => (helpShown.value = false)}>
      <dl class="keys">
        {KEYS.map(({ shown, does }) => (
          <div key={shown}>
            <dt>
              {shown.split(' ').map((one) => (
                <kbd key={one}>{one}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
        <div>
          <dt>
            <kbd>1</kbd> … <kbd>{viewsHere.length}</kbd>
          </dt>
          <dd>open a view, in the order of the menu</dd>
        </div>
      </dl>
    </Dialog>
  )
}
