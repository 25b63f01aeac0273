// Light or dark: what the machine says, unless somebody has chosen.
import { effect, signal } from '@preact/signals'

const KEY = 'understudy-theme'
const THEMES = ['auto', 'light', 'dark'] as const

/** A way to look. */
export type Theme = (typeof THEMES)[number]

const kept = (): Theme => {
  try {
    return THEMES.find((one) => one === localStorage.getItem(KEY)) ?? 'auto'
  } catch {
    return 'auto'
  }
}

/** The theme in force. */
export const theme = signal<Theme>(kept())

effect(() => {
  document.documentElement.dataset.theme = theme.value
})

/** Goes on to the next theme. */
export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? 'auto'
  try {
    localStorage.setItem(KEY, theme.value)
  } catch {
    // A page from disk may keep nothing.
  }
}
