// Identifies the conversation of a call: a fixture's replies advance once per conversation.
import { fingerprint } from '../lib/ids.ts'
import { asObject, asText } from '../lib/values.ts'
import type { CallContext } from './types.ts'

/**
 * The key of a call's conversation in its session: the agent's task, the thread, the conversation that the request
 * names, or else the identity and the opening messages.
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
/** Instructions often contain the time of day, which differs between calls of one conversation. */
const withoutTimes = (text: string): string => text.replace(TIMES, '#').replace(MONTHS, '#')
