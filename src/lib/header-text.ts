// Header values that every client can read: short, and in visible ASCII.

/** Clients reject a response with headers of several kilobytes. None of ours needs this much. */
const MAX_CHARACTERS = 1_000
const SOUND = /^[\x20-\x7e]*$/
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

const isSound = (text: string) => text.length <= MAX_CHARACTERS && SOUND.test(text)

/** A text as a header value: other characters become `?`, and a long text is cut. */
export function headerText(text: string): string {
  if (isSound(text)) return text
  const ascii = text.slice(0, MAX_CHARACTERS + 1).replace(/[^\x20-\x7e]/gu, '?')
  return ascii.length > MAX_CHARACTERS ? `${ascii.slice(0, MAX_CHARACTERS - 3)}...` : ascii
}

/** Headers with lowercase names. */
export const lowerCaseNames = (headers: Readonly<Record<string, string>> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

function areSound(headers: Record<string, string>): boolean {
  for (const name in headers) if (!NAME.test(name) || !isSound(headers[name] ?? '')) return false
  return true
}

/** Headers with values that any client can read. Invalid names are omitted. */
export function soundHeaders(headers: Record<string, string>): Record<string, string> {
  if (areSound(headers)) return headers
  const named = Object.entries(headers).filter(([name]) => NAME.test(name))
  return Object.fromEntries(named.map(([name, value]) => [name, headerText(value)]))
}
