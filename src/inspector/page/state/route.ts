// The location of the page: the hash of the URL, which can be bookmarked, shared and navigated, in a file too.

import { computed, signal } from '@preact/signals'
import { decodedPart } from '../../../lib/values.ts'

const read = () => {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?', 2)
  return { view: decodedPart(path) ?? path, params: new URLSearchParams(query) }
}

const current = signal(read())
addEventListener('hashchange', () => {
  current.value = read()
})

/** The current route. */
export const here = computed(() => current.value)

/** The URL of a view. */
export function hashOf(view: string, params: URLSearchParams | Record<string, string> = {}): string {
  const query = new URLSearchParams(params).toString()
  return `#/${view}${query === '' ? '' : `?${query}`}`
}

/** Navigates to a view. */
export function go(view: string, params: URLSearchParams | Record<string, string> = {}): void {
  location.hash = hashOf(view, params)
}

/** Changes the parameters of the view; undefined removes one. A change that `replace`s adds no history entry. */
export function narrow(changes: Record<string, string | undefined>, { replace = false } = {}): void {
  const { view, params } = current.value
  const next = new URLSearchParams(params)
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') next.delete(name)
    else next.set(name, value)
  }
  const hash = hashOf(view, next)
  if (hash === location.hash) return
  if (!replace) {
    location.hash = hash
    return
  }
  history.replaceState(null, '', hash)
  current.value = read()
}
