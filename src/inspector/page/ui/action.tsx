// A button that does something on the server, and shows a failure.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { errorText } from '../state/api.ts'

interface ActionProps {
  act: () => Promise<unknown>
  children: ComponentChildren
  kind?: 'primary' | 'danger' | 'quiet'
  disabled?: boolean
  /** Question to confirm first. */
  confirm?: string
}

/** The button, which is disabled while it acts. */
export function ActionButton({ act, children, kind, disabled = false, confirm }: ActionProps) {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<string>()
  const press = async () => {
    if (confirm !== undefined && !globalThis.confirm(confirm)) return
    setBusy(true)
    setError(undefined)
    await act().catch((reason: unknown) => setError(errorText(reason)))
    setBusy(false)
  }
  return (
    <>
      <button type="button" class={kind} disabled={disabled || busy} onClick={press}>
        {children}
      </button>
      {error !== undefined && (
        <span class="callout bad" role="alert">
          {error}
        </span>
      )}
    </>
  )
}
