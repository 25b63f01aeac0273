// What the provider of an attempt thinks of its conversation: a broken one is rejected in the provider's words, or only reported.

import type { BackendCall } from '../contract/core/backend.ts'
import type { HistoryRecord, ModelConversation } from '../contract/core/history.ts'
import type { HistoryMode } from '../contract/core/history-mode.ts'
import type { Reply } from '../contract/core/reply.ts'
import { lazy } from '../lib/lazy.ts'
import type { BrokenRule, JudgedRequest } from '../providers/rules/index.ts'
import type { Session } from '../sessions/session.ts'
import { Refusal } from './outcome.ts'
import type { AttemptRecorder } from './record/recording.ts'
import type { CallContext, HistorySettings } from './types.ts'

// Loaded for the first conversation that has more than texts of its user.
const rules = lazy<typeof import('../providers/rules/index.ts')>(() => require('../providers/rules/index.ts'))

/** Which setting holds for a call: that of its session, of a flag, of its scenario, and of the configuration, in this order. */
export const historyMode = (
  { session, scenario }: Pick<CallContext, 'scenario'> & { session: Pick<Session, 'history'> },
  { mode, overrides }: HistorySettings,
): HistoryMode => session.history ?? (overrides ? mode : (scenario?.history ?? mode))

/**
 * What the backend answers to an attempt. Rejects with a `Refusal` where the provider rejects the conversation, and as
 * `Backend.answer` does.
 */
export function answerAttempt(
  callContext: CallContext,
  backendCall: BackendCall,
  record: AttemptRecorder,
): Promise<Reply> {
  const rejected = judgeConversation(callContext, backendCall, record)
  if (!rejected) return callContext.backend.answer(backendCall)
  record.replied({ status: rejected.failure.status, headers: {}, fixture: null })
  return Promise.reject(rejected)
}

/** Notes what the provider thinks of the conversation of an attempt; its rejection, where the attempt does not reach a real provider. */
export function judgeConversation(
  callContext: CallContext,
  backendCall: Pick<BackendCall, 'model' | 'request'>,
  record: AttemptRecorder,
): Refusal | undefined {
  const { operation, history, backend, recording } = callContext
  if (!operation.conversation) return undefined
  const judged = conversationIn(callContext, backendCall)
  const plain = isPlain(judged.conversation)
  const isDirect = recording.direct
  if (plain && (history === 'off' || !isDirect)) return undefined
  const { model } = backendCall
  const broken = rules().findBrokenRule({
    ...judged,
    model,
    isDirect,
    isPlain: plain,
    onlyImpossible: history === 'off',
  })
  if (!broken) return undefined
  const isForwarded = backend.forwards?.(model) ?? false
  const rejects = !isForwarded && (history === 'strict' || broken.isImpossible)
  if (broken.isCertain && history !== 'off') record.judged(recordOf(broken, callContext, rejects))
  if (!rejects) return undefined
  const { status, type, code, param, message } = broken.rejection
  return new Refusal({
    ...{ status, code: code ?? type, type, param, message, headers: {} },
    ...{ verbatim: true, rejection: broken.rejection },
  })
}

/** The conversation as the client's API has it. */
function conversationIn(
  { call, operation, answerContext }: CallContext,
  { request }: Pick<BackendCall, 'request'>,
): Pick<JudgedRequest, 'conversation' | 'converted' | 'request'> {
  const converted = operation.conversation?.(request, answerContext) ?? { form: 'chat', messages: [] }
  const { wire } = call
  const fields = wire?.conversation && call.raw?.fields
  const own = fields && wire?.conversation?.(fields)
  if (own) return { conversation: own, converted, request: fields }
  return { conversation: converted, request: request as Readonly<Record<string, unknown>> }
}

/** Whether a conversation is nothing but instructions and one text of the user, which no provider rejects. */
function isPlain(conversation: ModelConversation): boolean {
  const { form } = conversation
  if (form === 'responses' && (conversation.earlier.missing !== undefined || conversation.earlier.openCalls?.length))
    return false
  let before: unknown
  for (const value of form === 'responses' ? conversation.items : conversation.messages) {
    if (typeof value !== 'object' || value === null) return false
    const { role, content, id } = value as { role?: unknown; content?: unknown; id?: unknown }
    const isOfUser = role === 'user' || (form !== 'messages' && (role === 'developer' || role === 'system'))
    if (!isOfUser || role === before || typeof content !== 'string' || content === '' || id !== undefined) return false
    before = role
  }
  return before === 'user'
}

/** How such requests are accepted, or what is missing if they never are. */
const hintOf = ({ name, isImpossible }: BrokenRule): string => {
  if (!isImpossible) return '--history lenient accepts such requests and only reports them'
  return name === 'unknown-response'
    ? 'responses are kept per session and workspace, and those created with store: false are not kept'
    : 'send at least one message'
}

function recordOf(broken: BrokenRule, { recording }: CallContext, rejected: boolean): HistoryRecord {
  const { name, ids, source, rejection, path } = broken
  const { traces } = recording.stores
  return {
    rule: name,
    rejected,
    status: rejection.status,
    message: rejection.message,
    path,
    ids: [...ids],
    traces: [...new Set(ids.flatMap((id) => traces.issuerOf(id) ?? []))],
    source,
    hint: hintOf(broken),
  }
}
