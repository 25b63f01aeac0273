// The control API as the page calls it: from its own origin, with a token that is asked for once and kept in the tab.
import { signal } from '@preact/signals'
import type { CallRow } from '../../../contract/core/call-row.ts'
import { authorizationOf, keepToken, keptToken } from './token.ts'

/** The token of this tab. */
export const token = signal(keptToken())
/** Whether the server asks for a token that it knows. */
export const tokenRequired = signal(false)

/** Keeps a token for this tab, and tries again with it. */
export function setToken(value: string): void {
  token.value = value.trim()
  keepToken(token.value)
  tokenRequired.value = false
}

/** What is asked, beside the path. */
export interface ApiOptions {
  method?: string
  /** Sent as JSON. */
  body?: unknown
  /** Name of the session; the default one when left out. */
  session?: string | undefined
  signal?: AbortSignal
}

/** Asks the server; throws an error with its words when it says no, and when there is none. */
export async function ask(path: string, { method = 'GET', body, session, signal }: ApiOptions = {}): Promise<Response> {
  const headers = new Headers({ authorization: authorizationOf(token.value) })
  if (session) headers.set('x-understudy-session', session)
  if (body !== undefined) headers.set('content-type', 'application/json')
  const request = {
    method,
    headers,
    ...(signal && { signal }),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }
  return accepted(fetch(path, request), signal)
}

/** What was asked for, once it has come; throws as `ask` does. */
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

/** A page of `GET /_understudy/calls`. */
export interface ListedCalls {
  data: CallRow[]
  /** Where the next page begins; null at the last one. */
  next: string | null
}

/** Calls page by page, of what `query` narrows them to; throws as `ask` does. */
export async function* callPages(query: Record<string, string>, options: ApiOptions): AsyncGenerator<CallRow[]> {
  for (let cursor: string | null = ''; cursor !== null; ) {
    const all = new URLSearchParams({ limit: '1000', ...query, ...(cursor && { cursor }) })
    const page: ListedCalls = await askJson(`/_understudy/calls?${all}`, options)
    yield page.data
    cursor = page.next
  }
}

/** The words of an error. */
export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error))
