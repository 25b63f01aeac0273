// Light or dark: the system's setting, unless the user has chosen.
import { effect, signal } from '@preact/signals'

const KEY = 'understudy-theme'
const THEMES = ['auto', 'light', 'dark'] as const

type Theme = (typeof THEMES)[number]

const kept = (): Theme => {
  try {
    return THEMES.find((one) => one === localStorage.getItem(KEY)) ?? 'auto'
  } catch {
    return 'auto'
  }
}

/** The current theme. */
export const theme = signal<Theme>(kept())

effect(() => {
  document.documentElement.dataset.theme = theme.value
})

/** Switches to the next theme. */
export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? 'auto'
  try {
    localStorage.setItem(KEY, theme.value)
  } catch {
    // A page from disk may have no storage.
  }
}
