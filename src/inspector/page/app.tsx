// The page: the navigation, and the view that the URL names.
import { useState } from 'preact/hooks'
import { helpShown, KeyHelp, useKeys } from './keys.tsx'
import { setToken, tokenRequired } from './state/api.ts'
import { countedText, instantText } from './state/format.ts'
import { connection, fixtureProblem, pending } from './state/live.ts'
import { reportData } from './state/report.ts'
import { hashOf, here } from './state/route.ts'
import { nextTheme, theme } from './state/theme.ts'
import { Icon } from './ui/icons.tsx'
import { Dialog } from './ui/layout.tsx'
import { viewsHere as views } from './views.tsx'

/** The whole page. */
export function Shell() {
  useKeys()
  const [first] = views
  const view = views.find(({ id }) => id === here.value.view) ?? first
  return (
    <div class="shell">
      <header class="side">
        <a class="brand" href={hashOf('calls')}>
          <Icon name="calls" />
          <span>Understudy</span>
        </a>
        <nav aria-label="Views">
          {views.map(({ id, label, icon }) => (
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
