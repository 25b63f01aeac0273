// The headers of answers as the runtime takes them. An answer mostly has those of the one before but for an id or two, and to
// copy them and change these takes half of the time that it takes to make all of them anew.
import { headerText, soundHeaders } from './header-text.ts'

/** Names and values of the headers that were made last, and the headers. */
interface MadeHeaders {
  names: readonly string[]
  values: readonly string[]
  headers: Headers
}
let last: MadeHeaders | undefined

/** More changes than this cost more than new headers. */
const MOST_CHANGES = 5

/** A response with these headers, in a form that any client can read (`soundHeaders`). */
export function responseWith(body: string | ReadableStream, status: number, given: Record<string, string>): Response {
  const changed = last && changesIn(last, given)
  if (!last || !changed) {
    const sound = soundHeaders(given)
    // What could not be said as it was given is made anew each time.
    if (sound !== given) return new Response(body, { status, headers: sound })
    const headers = new Headers(given)
    last = { names: Object.keys(given), values: Object.values(given), headers }
    return new Response(body, { status, headers })
  }
  const response = new Response(body, { status, headers: last.headers })
  for (const name of changed) response.headers.set(name, headerText(given[name] ?? ''))
  return response
}

/** The names whose values are others now; undefined when there are other names, or too many changes. */
function changesIn({ names, values }: MadeHeaders, given: Record<string, string>): string[] | undefined {
  const changed: string[] = []
  let at = 0
  for (const name in given) {
    if (name !== names[at]) return undefined
    if (given[name] !== values[at] && changed.push(name) > MOST_CHANGES) return undefined
    at++
  }
  return at === names.length ? changed : undefined
}
