// Which requests of compatible APIs a provider gets as they came, and how much of them is understood here.
import type { Backend } from '../contract/backend.ts'
import { ApiError } from '../contract/error.ts'
import type { Operation, Prompt } from '../contract/operation.ts'
import type { Call } from './call.ts'

/** Fields of the router's own API, which no provider knows: a request with one of them is acted on here. */
const OWN_FIELDS = [
  'svc',
  'name',
  'fallbacks',
  'retry',
  'cache',
  'load_balancer',
  'timeout',
  'identity',
  'contact',
  'thread',
  'variables',
  'template_engine',
  'guardrails',
  'knowledge',
]
/** Those that another API has too, where they mean something else. */
const SHARED: Record<string, readonly string[]> = { anthropic: ['thread'] }

/** Whether the provider of a call gets its body as it came. */
export function isPassedOn({ raw, wire }: Call, { passing }: Backend): boolean {
  if (!passing || !raw || !wire) return false
  const { fields, fullModel } = raw
  const isOurs = (field: string) => fields[field] != null && !SHARED[wire.api]?.includes(field)
  return !OWN_FIELDS.some(isOurs) && passing.takes(fullModel, wire.api)
}

/** The body of a call that is passed on, and whether it fits our schema. */
export interface PassedBody {
  request: object
  isRead: boolean
}

/** The body of a call that is passed on: where it does not fit our schema, it is the provider who says so. */
export function parsePassed(call: Call): PassedBody | Promise<PassedBody> {
  const read = (request: unknown) => ({ request: request as object, isRead: true })
  const unread = (error: unknown) => {
    if (!(error instanceof ApiError) || !call.raw) throw error
    const { fields, fullModel } = call.raw
    return { request: { ...fields, model: fullModel }, isRead: false }
  }
  try {
    const parsed = call.parse()
    return parsed instanceof Promise ? parsed.then(read, unread) : read(parsed)
  } catch (error) {
    return unread(error)
  }
}

const NO_PROMPT: Prompt = { system: '', user: '', turn: 0, tools: [], toolResult: false }

/** The conversation of a body that may be of any shape. */
export function promptIn(operation: Operation, request: object): Prompt {
  try {
    return operation.prompt(request)
  } catch {
    return NO_PROMPT
  }
}
