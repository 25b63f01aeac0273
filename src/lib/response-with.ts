// Creates responses. Most have the headers of the one before but for an id or two.
import { headerText, soundHeaders } from './header-text.ts'

/** What a response is made with. */
export interface ResponseHead {
  status: number
  headers: Record<string, string>
}

/** Headers of an earlier response. They are copied, and never changed. */
interface EarlierHeaders {
  readonly names: readonly string[]
  readonly fields: Readonly<Record<string, string>>
  readonly headers: Headers
}

/**
 * Creates responses of one kind, and keeps the headers of one of them: copying those and setting what differs takes a
 * third of the time of creating all of them.
 * @param readable whether headers are made readable for every client (`soundHeaders`); those of a provider are not
 */
export function responseMaker(readable: boolean): (body: BodyInit | null, head: ResponseHead) => Response {
  let earlier: EarlierHeaders | undefined
  return (body, { status, headers }) => {
    const changed = earlier && changesTo(earlier, headers)
    if (!earlier || !changed) {
      const sent = readable ? soundHeaders(headers) : headers
      earlier = sent === headers ? earlierHeaders(headers) : undefined
      return new Response(body, { status, headers: sent })
    }
    const response = new Response(body, { status, headers: earlier.headers })
    for (const name of changed) {
      const value = headers[name] ?? ''
      response.headers.set(name, readable ? headerText(value) : value)
    }
    return response
  }
}

/** Undefined if a name has capitals: in two spellings it would be two fields and one header. */
function earlierHeaders(fields: Record<string, string>): EarlierHeaders | undefined {
  const names = Object.keys(fields)
  return names.every((name) => name === name.toLowerCase())
    ? { names, fields, headers: new Headers(fields) }
    : undefined
}

/** The names with other values; undefined if there are other names. */
function changesTo({ names, fields }: EarlierHeaders, headers: Record<string, string>): string[] | undefined {
  const changed: string[] = []
  let at = 0
  for (const name in headers) {
    if (name !== names[at++]) return undefined
    if (headers[name] !== fields[name]) changed.push(name)
  }
  return at === names.length ? changed : undefined
}
