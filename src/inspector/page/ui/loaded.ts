// Data of a view from the server: requested when it opens, and again after changes.
import { useEffect, useRef, useState } from 'preact/hooks'
import { errorText } from '../state/api.ts'

/** The loaded value, or the error. */
export interface Loaded<Value> {
  value: Value | undefined
  error: string | undefined
  /** Requests it again. */
  reload(): void
}

/** The dependencies of a value. */
export type LoadedWhen = readonly (string | number | null)[]

/** Loads a value, and again whenever `when` changes. The old value stays until the new one arrives. */
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
