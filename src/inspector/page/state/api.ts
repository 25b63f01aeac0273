// Calls the control API: from the page's own origin, with a token that is requested once and stored in the tab.
import { signal } from '@preact/signals'
import type { CallRow } from '../../../contract/core/call-row.ts'
import { authorizationOf, keepToken, keptToken } from './token.ts'

/** The token of this tab. */
export const token = signal(keptToken())
/** Whether the server requires one of its tokens. */
export const tokenRequired = signal(false)

/** Stores a token for this tab, and retries with it. */
export function setToken(value: string): void {
  token.value = value.trim()
  keepToken(token.value)
  tokenRequired.value = false
}

/** Options of a request. */
interface ApiOptions {
  method?: string
  /** Sent as JSON. */
  body?: unknown
  /** Name of the session; default: the default session. */
  session?: string | undefined
  signal?: AbortSignal
}

/**
 * Sends a request.
 * @throws an error with the server's message if it fails, or if there is no server
 */
export async function ask(path: string, { method = 'GET', body, session, signal }: ApiOptions = {}): Promise<Response> {
  const headers = new Headers({ authorization: authorizationOf(token.value) })
  if (session) headers.set('x-understudy-session', session)
  if (body !== undefined) headers.set('content-type', 'application/json')
  const sent = body === undefined ? null : JSON.stringify(body)
  return accepted(fetch(path, { method, headers, body: sent, signal: signal ?? null }), signal)
}

/** The response, if it is successful. Throws as `ask` does. */
export async function accepted(asked: Promise<Response>, signal?: AbortSignal): Promise<Response> {
  const response = await asked.catch((error: unknown) => {
    if (signal?.aborted) throw error
    throw new Error('the server cannot be reached')
  })
  if (response.ok) return response
  if (response.status === 401) tokenRequired.value = true
  const answer = (await response.json().catch(() => undefined)) as { message?: string } | undefined
  throw new Error(answer?.message ?? `the server responded with ${response.status}`)
}

/** The JSON that the server answers. */
export const askJson = async <Value>(path: string, options?: ApiOptions): Promise<Value> =>
  (await (await ask(path, options)).json()) as Value

/** What the workspace returns at a path, without a call that scenarios and verdicts count. */
export const askWorkspace = <Value>(path: string, session: string): Promise<Value> =>
  askJson<Value>(`/_understudy/workspace?${new URLSearchParams({ path })}`, { session })

/** A page of `GET /_understudy/calls`. */
export interface ListedCalls {
  data: CallRow[]
  /** Cursor of the next page; null on the last one. */
  next: string | null
}

/** Calls page by page, filtered by `query`. Throws as `ask` does. */
export async function* callPages(query: Record<string, string>, options: ApiOptions): AsyncGenerator<CallRow[]> {
  for (let cursor: string | null = ''; cursor !== null; ) {
    const all = new URLSearchParams({ limit: '1000', ...query, ...(cursor && { cursor }) })
    const page: ListedCalls = await askJson(`/_understudy/calls?${all}`, options)
    yield page.data
    cursor = page.next
  }
}

/** The message of an error. */
export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error))
