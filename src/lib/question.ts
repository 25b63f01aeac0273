// What a request asks, whoever is asked and with whatever settings: requests that ask the same may stand in for each other.
import { fingerprint } from './ids.ts'

/** A fingerprint of the question in a request: the last words of its user, its input or its prompt; else of all of it. */
export function questionOf(text: string): string {
  try {
    const body: unknown = JSON.parse(text)
    const asked = isObject(body) ? (lastOfUser(body.messages) ?? lastOfUser(body.input) ?? body.prompt) : undefined
    return fingerprint(asked === undefined ? text : JSON.stringify(asked))
  } catch {
    return fingerprint(text)
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

function lastOfUser(messages: unknown): unknown {
  if (!Array.isArray(messages)) return messages
  const items: readonly unknown[] = messages
  const last = items.findLast((item) => isObject(item) && item.role === 'user')
  return isObject(last) ? plainText(last.content) : items
}

/** Content of text parts alone as one text: the APIs of providers differ about which of the two they take. */
function plainText(content: unknown): unknown {
  if (!Array.isArray(content) || content.length === 0) return content
  const texts = content.map((part: unknown) =>
    isObject(part) && typeof part.text === 'string' ? part.text : undefined,
  )
  return texts.includes(undefined) ? content : texts.join('\n')
}
