// Data of a view from the server: requested when it opens, and again after changes.
import { useEffect, useRef, useState } from 'preact/hooks'
import { errorText } from '../state/api.ts'

/** The dependencies of a value. */
export type LoadedWhen = readonly (string | number | null)[]

/**
 * Loads a value, and again whenever `when` changes and on `reload`. The old value stays until the new one arrives, or
 * an error.
 */
export function useLoaded<Value>(load: () => Promise<Value>, when: LoadedWhen) {
  const [state, setState] = useState<{ value?: Value | undefined; error?: string | undefined }>({})
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
