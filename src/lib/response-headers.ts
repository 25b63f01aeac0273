// The headers of answers as the runtime takes them. An answer mostly has those of the one before but for an id or two, and to
// change these and copy them all takes half of the time that it takes to make all of them anew.
import { headerText, soundHeaders } from './header-text.ts'

/** Names and values of the headers that were made last, and the headers. */
interface MadeHeaders {
  readonly names: readonly string[]
  readonly values: string[]
  readonly headers: Headers
}
let last: MadeHeaders | undefined

/** More changes than this cost more than new headers. */
const MOST_CHANGES = 5

/** A response with these headers, in a form that any client can read (`soundHeaders`). */
export const responseWith = (body: string | ReadableStream, status: number, given: Record<string, string>): Response =>
  // A response has a copy of them.
  new Response(body, { status, headers: headersOf(given) })

function headersOf(given: Record<string, string>): Headers | Record<string, string> {
  const changed = last && changesIn(last, given)
  if (last && changed) {
    for (const at of changed) change(last, at, given)
    return last.headers
  }
  const sound = soundHeaders(given)
  // What could not be said as it was given is made anew each time.
  if (sound !== given) return sound
  last = { names: Object.keys(given), values: Object.values(given), headers: new Headers(given) }
  return last.headers
}

function change({ names, values, headers }: MadeHeaders, at: number, given: Record<string, string>): void {
  const name = names[at] ?? ''
  const value = given[name] ?? ''
  headers.set(name, headerText(value))
  values[at] = value
}

/** The places of values that are others now; undefined when there are other names, or too many changes. */
function changesIn({ names, values }: MadeHeaders, given: Record<string, string>): number[] | undefined {
  const changed: number[] = []
  let at = 0
  for (const name in given) {
    if (name !== names[at]) return undefined
    if (given[name] !== values[at] && changed.push(at) > MOST_CHANGES) return undefined
    at++
  }
  return at === names.length ? changed : undefined
}
