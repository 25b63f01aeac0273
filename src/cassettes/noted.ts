// What is noted of an attempt: plain data, which the thread that records reads.
import type { FormField, RecordedAttempt, UpstreamBody, UpstreamRequest } from '../contract/core/cassette.ts'
import { exactJson } from '../lib/exact-json.ts'
import { parsedJson } from '../lib/values.ts'

/** The request of an attempt: its body is the text that was sent, or the fields of a form. */
export interface NotedRequest extends Omit<UpstreamRequest, 'body'> {
  body: string | readonly FormField[]
}

/** An attempt that was sent. */
export interface BegunAttempt {
  /** Identifies it in its recording. */
  number: number
  session: string
  /** When it was sent, as a monotonic time in ms. */
  started: number
  request: NotedRequest
}

/** An attempt that has ended. */
export interface EndedAttempt extends Pick<BegunAttempt, 'number' | 'session'> {
  attempt: RecordedAttempt
}

/** The request in the form in which it is recorded and compared. */
export const requestOf = ({ body, ...about }: NotedRequest): UpstreamRequest => ({
  ...about,
  body: typeof body === 'string' ? textBody(body) : { kind: 'form', fields: body },
})

function textBody(text: string): UpstreamBody {
  const value = parsedJson(text)
  return value === undefined ? { kind: 'text', text } : { kind: 'json', value: exactJson(text, value) }
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
