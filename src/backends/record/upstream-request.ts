// The request of an attempt in the form in which it is recorded and compared.
import {
  type FormField,
  MEANING_HEADERS,
  type UpstreamBody,
  type UpstreamRequest,
} from '../../contract/core/cassette.ts'
import { andThen } from '../../lib/and-then.ts'
import { exactJson } from '../../lib/exact-json.ts'
import { rememberingAll } from '../../lib/remember.ts'
import { parsedJson } from '../../lib/values.ts'
import type { SentAttempt } from '../forward/transport.ts'

/** A request as it is given to a transport. */
export interface SentRequest {
  url: string
  init: Pick<RequestInit, 'headers' | 'body'>
  attempt: Pick<SentAttempt, 'provider' | 'operation' | 'model' | 'session'>
}

/** The request without its key; a form has to be waited for. */
export function upstreamRequest({ url, init, attempt }: SentRequest): UpstreamRequest | Promise<UpstreamRequest> {
  const { provider, operation, model } = attempt
  const headers = new Headers(init.headers)
  const meaning: Record<string, string> = {}
  for (const name of MEANING_HEADERS) {
    const value = headers.get(name)
    if (value !== null) meaning[name] = value
  }
  const path = pathOf(url)
  return andThen(bodyOf(init.body, headers), (body) => ({ provider, operation, model, path, headers: meaning, body }))
}

const pathOf = rememberingAll((url: string): string => {
  const { pathname, search } = new URL(url)
  return pathname + search
})

function bodyOf(body: RequestInit['body'], headers: Headers): UpstreamBody | Promise<UpstreamBody> {
  if (body instanceof FormData) return formBody(body)
  if (typeof body === 'string') return textBody(body)
  if (!(body instanceof Uint8Array)) return { kind: 'text', text: '' }
  const contentType = headers.get('content-type') ?? ''
  if (!/^multipart\/form-data/i.test(contentType)) return textBody(new TextDecoder().decode(body))
  const response = new Response(body as Uint8Array<ArrayBuffer>, { headers: { 'content-type': contentType } })
  return response.formData().then(formBody, () => textBody(Buffer.from(body).toString('latin1')))
}

function textBody(text: string): UpstreamBody {
  const value = parsedJson(text)
  return value === undefined ? { kind: 'text', text } : { kind: 'json', value: exactJson(text, value) }
}

async function formBody(form: FormData): Promise<UpstreamBody> {
  const fields: FormField[] = []
  for (const [name, value] of form) {
    if (typeof value === 'string') fields.push({ name, value })
    else {
      const bytes = await value.bytes()
      const sha256 = new Bun.CryptoHasher('sha256').update(bytes).digest('hex')
      fields.push({ name, file: value.name, type: value.type, size: bytes.length, sha256 })
    }
  }
  return { kind: 'form', fields }
}

/** Fields of requests that contain a conversation: of OpenAI's and Anthropic's chat, of responses, and of Google's API. */
const CONVERSATIONS = ['messages', 'input', 'contents']

/** The number of a conversation's turn, from 1: how many messages of the user a request has. */
export function conversationTurn({ body }: UpstreamRequest): number {
  if (body.kind !== 'json' || typeof body.value !== 'object' || body.value === null) return 1
  const fields = body.value as Readonly<Record<string, unknown>>
  for (const name of CONVERSATIONS) {
    const messages = fields[name]
    if (!Array.isArray(messages)) continue
    return Math.max(1, messages.filter((message) => (message as { role?: unknown } | null)?.role === 'user').length)
  }
  return 1
}
