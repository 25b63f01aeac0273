// What a view shows of the server: asked for when it opens, and again when something has changed.
import { useCallback, useEffect, useState } from 'preact/hooks'
import { wordsOf } from '../state/api.ts'

/** What was loaded, or why it could not be. */
export interface Loaded<Value> {
  value: Value | undefined
  error: string | undefined
  /** Asks again. */
  reload(): void
}

/** Loads a value, again whenever one of `when` is another; what is there stays until the next is. */
export function useLoaded<Value>(load: () => Promise<Value>, when: readonly unknown[]): Loaded<Value> {
  const [state, setState] = useState<{ value: Value | undefined; error: string | undefined }>({
    value: undefined,
    error: undefined,
  })
  const [count, setCount] = useState(0)
  useEffect(() => {
    let meant = true
    load().then(
      (value) => meant && setState({ value, error: undefined }),
      (error: unknown) => meant && setState(({ value }) => ({ value, error: wordsOf(error) })),
    )
    return () => {
      meant = false
    }
  }, [...when, count])
  return { ...state, reload: useCallback(() => setCount((one) => one + 1), []) }
}
