// Which conversation a call belongs to: successive replies of a fixture are those of one conversation.
import { fingerprint } from '../lib/ids.ts'
import { asObject, asText } from '../lib/values.ts'
import type { CallContext } from './types.ts'

/**
 * What tells the conversation of a call from the others of its session: the task of an agent, the thread, the conversation that the request
 * names, or else for whom it is and how it begins.
 */
export function conversationOf({ facts, operation, request, prompt }: CallContext): string {
  const { agent, thread, identity = '' } = facts
  if (agent?.task !== undefined) return `task ${agent.task}`
  if (thread !== undefined) return `thread ${thread}`
  const named = namedIn(request)
  if (named) return `conversation ${named}`
  const { system, user } = operation.opening?.(request) ?? prompt
  return fingerprint(JSON.stringify([identity, withoutTimes(system), user]))
}

function namedIn(request: object): string {
  const { conversation } = request as { conversation?: unknown }
  return asText(conversation) || asText(asObject(conversation)?.id) || ''
}

const TIMES = /\d+|\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|mon|tue|wed|thu|fri|sat|sun|am|pm)\b/gi
const MONTHS =
  /\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:tember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b/gi
/** Instructions are often written anew for each call, with the time of day. */
const withoutTimes = (text: string): string => text.replace(TIMES, '#').replace(MONTHS, '#')
