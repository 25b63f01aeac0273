// Export of texts: to the clipboard, or as a file.
import { useState } from 'preact/hooks'
import { Icon } from './icons.tsx'

const SHOWN_MS = 1_500

/** Copies a text, and confirms it. */
export function CopyButton({ text }: { text: () => string }) {
  const [done, setDone] = useState(false)
  const copy = async () => {
    await copyText(text())
    setDone(true)
    setTimeout(() => setDone(false), SHOWN_MS)
  }
  return (
    <button type="button" class="quiet" onClick={copy}>
      <Icon name={done ? 'check' : 'copy'} />
      <span aria-live="polite">{done ? 'Copied' : 'Copy'}</span>
    </button>
  )
}

/** Copies a text; without access to the clipboard, as for a page from disk, by the old API. */
async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
  } catch {
    const field = document.createElement('textarea')
    field.value = text
    document.body.append(field)
    field.select()
    document.execCommand('copy')
    field.remove()
  }
}

/** Saves a text as a file. */
export function saveFile(name: string, text: string, type = 'text/plain'): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type }))
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 1_000)
}
