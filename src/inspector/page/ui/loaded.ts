// What a view shows of the server: asked for when it opens, and again when something has changed.
import { useEffect, useRef, useState } from 'preact/hooks'
import { errorText } from '../state/api.ts'

/** What was loaded, or why it could not be. */
export interface Loaded<Value> {
  value: Value | undefined
  error: string | undefined
  /** Asks again. */
  reload(): void
}

/** What a value depends on. */
export type LoadedWhen = readonly (string | number | null)[]

/** Loads a value, again whenever one of `when` is another; what is there stays until the next is. */
export function useLoaded<Value>(load: () => Promise<Value>, when: readonly (string | number | null)[]): Loaded<Value> {
  const [state, setState] = useState<{ value: Value | undefined; error: string | undefined }>({
    value: undefined,
    error: undefined,
  })
  const [count, setCount] = useState(0)
  const key = JSON.stringify([...when, count])
  const latest = useRef({ key, load })
  latest.current = { key, load }
  useEffect(() => {
    const isLatest = () => latest.current.key === key
    latest.current.load().then(
      (value) => isLatest() && setState({ value, error: undefined }),
      (error: unknown) => isLatest() && setState(({ value }) => ({ value, error: errorText(error) })),
    )
  }, [key])
  return { ...state, reload: () => setCount((one) => one + 1) }
}
