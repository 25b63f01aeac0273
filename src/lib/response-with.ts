// Creates responses. Most have the headers of an earlier one but for a few values.
import { headerText, soundHeaders } from './header-text.ts'

/** Headers of an earlier response, which are never changed. */
interface KnownHeaders {
  readonly names: readonly string[]
  readonly values: readonly string[]
  readonly headers: Headers
}

/** What a response is made with. */
export interface ResponseHead {
  status: number
  /** Names are in lower case. */
  headers: Record<string, string>
  /** Whether the headers are a provider's, which are sent as they are; any others are made readable (`soundHeaders`). */
  raw?: true | undefined
}

/**
 * Copying known headers and setting three values takes a third of the time that it takes to create all of them. At most
 * eight are known: an application gets a few kinds of responses in turn.
 */
const known: KnownHeaders[] = []
const MAX_KNOWN = 8
let next = 0
/** More changes than this take longer than new headers. */
const MAX_CHANGES = 5

/** A response with these headers. */
export function responseWith(body: BodyInit | null, { status, headers, raw }: ResponseHead): Response {
  for (const one of known) {
    const changed = changesIn(one, headers)
    if (!changed) continue
    const response = new Response(body, { status, headers: one.headers })
    for (const name of changed) {
      const value = headers[name] ?? ''
      response.headers.set(name, raw ? value : headerText(value))
    }
    return response
  }
  const sound = soundHeaders(headers)
  if (sound === headers) keep(headers)
  return new Response(body, { status, headers: raw ? headers : sound })
}

function keep(headers: Record<string, string>): void {
  const names = Object.keys(headers)
  // A name in two spellings would be two headers in one.
  if (names.some((name) => name !== name.toLowerCase())) return
  known[next] = { names, values: Object.values(headers), headers: new Headers(headers) }
  next = (next + 1) % MAX_KNOWN
}

/** The names with other values; undefined when there are other names, or too many changes. */
function changesIn({ names, values }: KnownHeaders, headers: Record<string, string>): string[] | undefined {
  const changed: string[] = []
  let at = 0
  for (const name in headers) {
    if (name !== names[at]) return undefined
    if (headers[name] !== values[at] && changed.push(name) > MAX_CHANGES) return undefined
    at++
  }
  return at === names.length ? changed : undefined
}
