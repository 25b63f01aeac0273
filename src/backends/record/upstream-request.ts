// The request of an attempt as it is noted.
import { type NotedRequest, requestOf } from '../../cassettes/noted.ts'
import { type FormField, MEANING_HEADERS, type UpstreamRequest } from '../../contract/core/cassette.ts'
import { rememberingAll } from '../../lib/remember.ts'
import type { SentAttempt } from '../forward/transport.ts'

/** A request as it is given to a transport. */
export interface SentRequest {
  url: string
  init: Pick<RequestInit, 'headers' | 'body'>
  attempt: Pick<SentAttempt, 'provider' | 'operation' | 'model' | 'session'>
}

/** The request in the form in which it is compared. */
export const upstreamRequest = async (sent: SentRequest): Promise<UpstreamRequest> =>
  requestOf(await notedRequest(sent))

/** The request without its key; a form has to be waited for. */
export function notedRequest({ url, init, attempt }: SentRequest): NotedRequest | Promise<NotedRequest> {
  const { provider, operation, model } = attempt
  const about = { provider, operation, model, path: pathOf(url), headers: meaningHeaders(init.headers) }
  const body = bodyOf(init)
  return body instanceof Promise ? body.then((fields) => ({ ...about, body: fields })) : { ...about, body }
}

function meaningHeaders(sent: HeadersInit | undefined): Record<string, string> {
  const meaning: Record<string, string> = {}
  const isList = sent instanceof Headers || Array.isArray(sent)
  // Creating `Headers` takes long, and few requests have one of these.
  if (!sent || (!isList && !Object.keys(sent).some(hasMeaning))) return meaning
  const headers = new Headers(sent)
  for (const name of MEANING_HEADERS) {
    const value = headers.get(name)
    if (value !== null) meaning[name] = value
  }
  return meaning
}

const MEANING = new Set<string>(MEANING_HEADERS)
const hasMeaning = (name: string): boolean => MEANING.has(name.toLowerCase())

const pathOf = rememberingAll((url: string): string => {
  const { pathname, search } = new URL(url)
  return pathname + search
})

function bodyOf({ body, headers }: SentRequest['init']): string | Promise<NotedRequest['body']> {
  if (body instanceof FormData) return formFields(body)
  if (typeof body === 'string') return body
  if (!(body instanceof Uint8Array)) return ''
  const contentType = new Headers(headers).get('content-type') ?? ''
  if (!/^multipart\/form-data/i.test(contentType)) return new TextDecoder().decode(body)
  const response = new Response(body as Uint8Array<ArrayBuffer>, { headers: { 'content-type': contentType } })
  return response.formData().then(formFields, () => Buffer.from(body).toString('latin1'))
}

async function formFields(form: FormData): Promise<FormField[]> {
  const fields: FormField[] = []
  for (const [name, value] of form) {
    if (typeof value === 'string') fields.push({ name, value })
    else {
      const bytes = await value.bytes()
      const sha256 = new Bun.CryptoHasher('sha256').update(bytes).digest('hex')
      fields.push({ name, file: value.name, type: value.type, size: bytes.length, sha256 })
    }
  }
  return fields
}
