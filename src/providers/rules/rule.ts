// Types of rules for conversations that providers reject, and the names of their problems.

/** The form of a request: chat completions, responses, or Anthropic's messages. */
export type RequestForm = 'chat' | 'responses' | 'messages'

/** How a provider rejects a request: the fields of its error. */
export interface RequestRejection {
  status: number
  type: string
  code: string | null
  /** Path of the field at fault, as the provider writes it. */
  param: string | null
  message: string
}

/** The fields of most errors, without their messages. */
export const INVALID_REQUEST = { status: 400, type: 'invalid_request_error', code: null, param: null } as const

/** Problems of conversations by their names in rules, reports and the reference. */
export const HISTORY_PROBLEMS = {
  'empty-conversation': 'The conversation has no messages.',
  'empty-calls': 'An assistant message has an empty list of tool calls.',
  'call-without-result': 'A tool call has no result in the messages that follow it.',
  'result-without-call': 'A tool result has no tool call before it.',
  'unknown-call-id': 'A tool result has an id that none of the tool calls before it has.',
  'missing-call-id': 'A tool result has no id of a tool call.',
  'duplicate-result': 'A tool call has two results.',
  'duplicate-call-id': 'Two tool calls have the same id.',
  'long-call-id': 'The id of a tool call is too long.',
  'invalid-call-id': 'The id of a tool call contains invalid characters.',
  'result-after-content': 'A user message has other content before its tool results.',
  'reasoning-without-item': 'A reasoning item is not followed by the item that it belongs to.',
  'item-without-reasoning': 'An item lacks the reasoning item that it was created with.',
  'unknown-item': 'A reference names an item that was not stored.',
  'unknown-response': 'A request continues a response that was not stored.',
  'duplicate-item': 'Two items have the same id.',
  'changed-encrypted-content': 'Encrypted reasoning is not what this server sent.',
  'missing-thinking': 'The assistant message of a tool continuation does not start with a thinking block.',
  'changed-thinking': 'A thinking block is not what this server sent.',
  'thinking-not-enabled': 'The final assistant message contains a thinking block, but thinking is not enabled.',
  'assistant-last': 'The conversation ends with an assistant message.',
  'trailing-whitespace': 'The final assistant message ends with whitespace.',
  'empty-message': 'A message has no content.',
  'empty-text': 'A text block is empty.',
  'blank-text': 'A text block contains only whitespace.',
  'system-message': 'A message within the conversation has the role `system`.',
  'system-message-first': 'The first message has the role `system`.',
  'roles-not-alternating': 'Two messages in a row have the same role.',
} as const
/** The name of a problem. */
export type HistoryProblemName = keyof typeof HISTORY_PROBLEMS

/** A problem at one position of a conversation. */
export interface HistoryProblem {
  problem: HistoryProblemName
  /** Index of the first message or item at fault. */
  index: number
  /** Index of the block, part or tool call within it. */
  part?: number
  /** Index of an earlier message at fault, if there are two. */
  first?: number
  /** Ids of the tool calls, items or responses at fault. */
  ids: readonly string[]
  /** The found type, role or length, for messages that contain it. */
  found?: string
}

/** A rule about conversations: how one provider rejects one problem. */
export interface HistoryRule {
  problem: HistoryProblemName
  form: RequestForm
  /** Matches the models that it applies to, by name without provider. Default: all. */
  models?: RegExp
  /** URL of the documentation, SDK test or quoted error that it is based on. */
  source: string
  /** The error with the provider's message. */
  reject(problem: HistoryProblem): RequestRejection
}

/** A rule in the list of a provider. */
interface ListedRule extends Pick<HistoryRule, 'problem' | 'models' | 'source'> {
  /** The provider's message. */
  message(problem: HistoryProblem): string
  /** Fields of the error that differ from those of most errors. */
  error?(problem: HistoryProblem): Partial<RequestRejection>
}

/** The rules of a provider for one form of requests. `error` are the fields that its errors have in common. */
export const historyRules = (
  { form, ...error }: { form: RequestForm } & Partial<RequestRejection>,
  rules: readonly ListedRule[],
): readonly HistoryRule[] =>
  rules.map(({ message, error: own, ...rule }) => ({
    ...rule,
    form,
    reject: (problem) => ({ ...INVALID_REQUEST, ...error, ...own?.(problem), message: message(problem) }),
  }))
