// Where the page is: the hash of the address, which can be kept, shared and gone back to, from a file too.
import { computed, signal } from '@preact/signals'

/** A view and what it is narrowed to. */
export interface ViewRoute {
  view: string
  params: URLSearchParams
}

const read = (): ViewRoute => {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?', 2)
  return { view: decoded(path), params: new URLSearchParams(query) }
}

/** A name in the address; anybody can write an address, so that one that is not encoded as it should be is no view. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const current = signal(read())
addEventListener('hashchange', () => {
  current.value = read()
})

/** The route in force. */
export const here = computed(() => current.value)

/** The address of a view. */
export function hashOf(view: string, params: URLSearchParams | Record<string, string> = {}): string {
  const query = new URLSearchParams(params).toString()
  return `#/${view}${query === '' ? '' : `?${query}`}`
}

/** Goes to a view. */
export function go(view: string, params: URLSearchParams | Record<string, string> = {}): void {
  location.hash = hashOf(view, params)
}

/** What a view is narrowed to, changed: undefined takes a parameter away. A change that `replace`s leaves no step to go back to. */
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
