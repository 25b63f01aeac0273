// Where requests go: to an application in this process, or to a server.
import { FAULTS, TRACE_ID } from '../../src/contract/core/answer-headers.ts'
import { isPassedOn, type Seen, wrongWith, wrongWithForwarded } from './checks.ts'
import type { FormField, FuzzRequest } from './requests.ts'

/** Answers requests. */
export type Target = (request: Request) => Promise<Response>

const bytesOf = (base64: string) => Buffer.from(base64, 'base64')

/** The request as it is sent to `base`. */
export function toRequest({ method, path, headers, body }: FuzzRequest, base: string): Request {
  const init = { method, headers: printable(headers) }
  if (!body) return new Request(`${base}${path}`, init)
  if ('form' in body) return new Request(`${base}${path}`, { ...init, body: formOf(body.form) })
  if ('base64' in body) return new Request(`${base}${path}`, { ...init, body: bytesOf(body.base64) })
  const text = 'text' in body ? body.text : (JSON.stringify(body.json) ?? '')
  return new Request(`${base}${path}`, { ...init, body: text })
}

// What no client can put into a header is not tried.
const printable = (headers: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, value.replace(/[^\x20-\x7e\xa0-\xff]/g, '?')]),
  )

function formOf(fields: FormField[]): FormData {
  const form = new FormData()
  for (const [name, value] of fields) {
    if (typeof value === 'string') form.append(name.toWellFormed(), value)
    else form.append(name.toWellFormed(), new File([bytesOf(value.base64)], value.file, { type: value.type }))
  }
  return form
}

/** What came of a request: the answer, unless there was none, and what is wrong. */
export interface Result {
  seen?: Seen
  wrong: string | undefined
}

/** Sends a request and holds the answer to what must hold of all; `late` ends the wait for one that never comes. */
export async function send(request: FuzzRequest, to: To): Promise<Result> {
  const lost = to.late().then(() => 'no answer came')
  const answered = read(request, to)
  const result = await Promise.race([answered, lost])
  return typeof result === 'string' ? { wrong: result } : result
}

/** Where a request goes. */
export interface To {
  target: Target
  base: string
  /** Resolves when an answer has been waited for long enough. */
  late(): Promise<unknown>
  /** Answers are those of a provider that breaks every rule. */
  forwarded?: boolean
}

async function read(request: FuzzRequest, to: To): Promise<Result> {
  const { target, base, forwarded = false } = to
  const mayBreak = forwarded && isPassedOn(request.path)
  try {
    const response = await target(toRequest(request, base))
    try {
      const text = await response.text()
      const seen = { status: response.status, headers: response.headers, text }
      return { seen, wrong: forwarded ? wrongWithForwarded(seen, request) : wrongWith(seen, request.method) }
    } catch (error) {
      const isMeant = mayBreak || (await wasCut(response, to))
      return { wrong: isMeant ? undefined : `the answer broke off: ${(error as Error).message}` }
    }
  } catch (error) {
    return { wrong: mayBreak ? undefined : `the connection broke: ${(error as Error).message}` }
  }
}

/**
 * Whether a scenario has cut an answer. Its header names the faults from before it was sent; the trace names those in the middle of a
 * stream too.
 */
async function wasCut({ headers }: Response, { target, base }: To): Promise<boolean> {
  if (headers.get(FAULTS)) return true
  const id = headers.get(TRACE_ID)
  if (!id) return false
  const session = headers.get('x-understudy-session') ?? ''
  const mine = { authorization: 'Bearer fuzz', 'x-understudy-session': session }
  const trace = await target(new Request(`${base}/_understudy/traces/${id}`, { headers: mine }))
  return /"faults":\["/.test(await trace.text())
}
