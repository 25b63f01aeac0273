// The page: the navigation, and the view that the URL names.

import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { close } from './call/detail.tsx'
import { SEARCH } from './calls/filters.tsx'
import { chosen, compareSelected, stepCall, stepToFailure, toggleSelected } from './calls/shown.ts'
import { setToken, tokenRequired } from './state/api.ts'
import { countedText, instantText } from './state/format.ts'
import { connection, fixtureProblem, pending } from './state/live.ts'
import { reportData } from './state/report.ts'
import { go, hashOf, here } from './state/route.ts'
import { nextTheme, theme } from './state/theme.ts'
import { Icon } from './ui/icons.tsx'
import { Dialog } from './ui/layout.tsx'
import { viewsHere } from './views.tsx'

/** The whole page. */
export function Shell() {
  useKeys()
  const [first] = viewsHere
  const view = viewsHere.find(({ id }) => id === here.value.view) ?? first
  return (
    <div class="shell">
      <header class="side">
        <a class="brand" href={hashOf('calls')}>
          <Icon name="calls" />
          <span>Understudy</span>
        </a>
        <nav aria-label="Views">
          {viewsHere.map(({ id, label, icon }) => (
            <a key={id} href={hashOf(id)} aria-current={id === view?.id ? 'page' : undefined}>
              <Icon name={icon} />
              <span>{label}</span>
            </a>
          ))}
        </nav>
        <div class="tools">
          <State />
          {!reportData && (
            <a href="/docs/">
              <Icon name="docs" />
              <span>Docs</span>
            </a>
          )}
          <button type="button" class="quiet" onClick={nextTheme} title="Change the theme: system, light, dark">
            <Icon name="theme" />
            <span>{THEME_LABELS[theme.value]}</span>
          </button>
          <button type="button" class="quiet" onClick={() => (helpShown.value = true)}>
            <Icon name="help" />
            <span>Shortcuts</span>
          </button>
        </div>
      </header>
      {/* A report may have nothing in it that can be focused, and must be scrolled by keys all the same. */}
      <main tabIndex={reportData ? 0 : undefined}>
        {!reportData && connection.value === 'lost' && !tokenRequired.value && (
          <p class="lost" role="alert">
            Connection lost. The data shown may be out of date. Reconnecting …
          </p>
        )}
        {fixtureProblem.value !== null && <FixtureProblem text={fixtureProblem.value} />}
        {view?.show()}
      </main>
      <KeyHelp />
      <TokenDialog />
    </div>
  )
}

/** The fixture files that are currently invalid. */
function FixtureProblem({ text }: { text: string }) {
  return (
    <div class="callout bad" role="alert">
      <p>Invalid fixture files. The last valid version of each file stays active; all other files are up to date.</p>
      {text.split('\n').map((line) => (
        <p key={line}>
          <code>{line}</code>
        </p>
      ))}
    </div>
  )
}

const THEME_LABELS = { auto: 'System theme', light: 'Light theme', dark: 'Dark theme' } as const
const STATES = { connecting: 'connecting', live: 'live', lost: 'disconnected' } as const

/** Whether the page shows a live server or a report. */
function State() {
  if (reportData) {
    return (
      <span class="state" title={`${reportData.title}, written ${instantText(Date.parse(reportData.made))}`}>
        <i />
        <span>Report</span>
      </span>
    )
  }
  const under = pending.value === 0 ? '' : `, ${countedText(pending.value, 'call')} in flight`
  return (
    <span class={`state ${connection.value}`} role="status">
      <i />
      <span>
        {STATES[connection.value]}
        {under}
      </span>
    </span>
  )
}

function TokenDialog() {
  const [value, setValue] = useState('')
  if (!tokenRequired.value) return null
  return (
    <Dialog title="Token required" onClose={() => (tokenRequired.value = false)}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault()
          setToken(value)
        }}
      >
        <p>This server requires one of its configured tokens. The token is stored in this tab only.</p>
        <label>
          Token
          <input
            type="password"
            autocomplete="off"
            value={value}
            onInput={(event) => setValue(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="primary" disabled={value.trim() === ''}>
          Use token
        </button>
      </form>
    </Dialog>
  )
}

/** Whether the list of shortcuts is shown. */
const helpShown = signal(false)

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
function useKeys(): void {
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

function KeyHelp() {
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
