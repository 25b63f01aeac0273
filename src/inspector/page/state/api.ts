// The control API as the page calls it: from its own origin, with a token that is asked for once and kept in the tab.
import { signal } from '@preact/signals'

/** What the server refused, in its own words. */
export class ApiRefusal extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

const TOKEN = 'understudy-token'
/** Any token works where none are set; paths of the workspace want one all the same. */
const ANY = 'inspector'

/** The token of this tab. */
export const token = signal(storage()?.getItem(TOKEN) ?? '')
/** Whether the server asks for a token that it knows. */
export const tokenWanted = signal(false)

function storage(): Storage | undefined {
  try {
    return sessionStorage
  } catch {
    // A page from disk may have none.
    return undefined
  }
}

/** Keeps a token for this tab, and tries again with it. */
export function useToken(value: string): void {
  token.value = value.trim()
  storage()?.setItem(TOKEN, token.value)
  tokenWanted.value = false
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

/** Asks the server; throws `ApiRefusal` when it says no, and when there is none. */
export async function ask(path: string, { method = 'GET', body, session, signal }: ApiOptions = {}): Promise<Response> {
  const headers = new Headers({ authorization: `Bearer ${token.value || ANY}` })
  if (session) headers.set('x-understudy-session', session)
  if (body !== undefined) headers.set('content-type', 'application/json')
  const request = {
    method,
    headers,
    ...(signal && { signal }),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }
  const response = await fetch(path, request).catch((error: unknown) => {
    if (signal?.aborted) throw error
    throw new ApiRefusal(0, 'the server does not answer')
  })
  if (response.ok) return response
  if (response.status === 401) tokenWanted.value = true
  const answer = (await response.json().catch(() => undefined)) as { message?: string } | undefined
  throw new ApiRefusal(response.status, answer?.message ?? `the server answered ${response.status}`)
}

/** The JSON that the server answers. */
export const askJson = async <Value>(path: string, options?: ApiOptions): Promise<Value> =>
  (await (await ask(path, options)).json()) as Value

/** The words of an error. */
export const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
