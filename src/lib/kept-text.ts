// Bytes as texts that JSON can contain: usually UTF-8, otherwise marked as base64.

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
/** Marks a text as base64. Bytes that start like it are written as base64, too. */
const MARK = '\0base64,'

/** Bytes, or the text for them, as a text for storage. */
export function keptText(bytes: string | Uint8Array): string {
  if (typeof bytes === 'string') {
    const text = bytes.isWellFormed() ? bytes : bytes.toWellFormed()
    return text.startsWith(MARK) ? inBase64(Buffer.from(text)) : text
  }
  try {
    const text = utf8.decode(bytes)
    return text.startsWith(MARK) ? inBase64(bytes) : text
  } catch {
    return inBase64(bytes)
  }
}

const inBase64 = (bytes: Uint8Array) => MARK + Buffer.from(bytes).toString('base64')

/** The stored bytes: as text, or in base64. */
export function keptBytes(text: string): { text: string } | { base64: string } {
  if (!text.startsWith(MARK)) return { text }
  const base64 = text.slice(MARK.length)
  // A truncated text must not end within a group of four.
  return { base64: base64.slice(0, base64.length - (base64.length % 4)) }
}
