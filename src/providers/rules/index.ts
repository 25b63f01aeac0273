// Finds the first rule of a provider that a request breaks.
import type { BackendCall } from '../../contract/core/backend.ts'
import { ApiError } from '../../contract/core/error.ts'
import type { ModelConversation } from '../../contract/core/history.ts'
import { asObject } from '../../lib/values.ts'
import { inputLimit, modelOf } from '../catalogue.ts'
import { providerNamed } from '../index.ts'
import { findChatProblems } from './chat-problems.ts'
import { chatOfItems, messagesOfChat } from './convert.ts'
import { findMessagesProblems } from './messages-problems.ts'
import { openaiHistory } from './openai.ts'
import { brokenParameterRule, type ParameterFacts, type ParameterRule } from './parameter-rule.ts'
import { findItemProblems } from './responses-problems.ts'
import type { HistoryProblem, HistoryProblemName, HistoryRule, RequestRejection } from './rule.ts'

/** A request to check. */
export interface JudgedRequest {
  /** `<provider>/<model>`. */
  model: string
  conversation: ModelConversation
  /** The conversation in the format of the operation, if the client's API has another one. */
  converted?: ModelConversation | undefined
  /** The body in the format of the conversation's API. */
  request: Readonly<Record<string, unknown>>
  /** Whether there is no gateway that translates parameters for the provider. */
  isDirect: boolean
  /** Whether the conversation has only instructions and one user text. */
  isPlain?: boolean
  /** Whether to find only problems that make a response impossible. */
  onlyImpossible?: boolean
}

/** A rule that a request breaks. */
export interface BrokenRule {
  /** Name of the rule. */
  name: string
  /** Ids at fault, such as those of tool calls. */
  ids: readonly string[]
  rejection: RequestRejection
  /** URL of the rule's source. */
  source: string
  /** Path of the message, item or field, such as `messages[2].content[0]`. */
  path: string
  /** Whether a response is impossible with any setting. */
  isImpossible: boolean
  /** Whether the client is certainly at fault: what it refers to cannot have been dropped by this server. */
  isCertain: boolean
}

/** The first rule of its provider that a request breaks. Undefined if it breaks none. Linear in the length of the conversation. */
export function findBrokenRule(judged: JudgedRequest): BrokenRule | undefined {
  const rules = rulesFor(judged.model)
  return (judged.isPlain ? undefined : brokenHistoryRule(judged, rules)) ?? brokenParameter(judged, rules)
}

function brokenHistoryRule(judged: JudgedRequest, { history: rules }: ModelRules): BrokenRule | undefined {
  const { conversation, onlyImpossible = false } = judged
  const { form, problems, pathOf } = problemsIn(judged, rules)
  for (const problem of problems) {
    const isImpossible = IMPOSSIBLE.has(problem.problem)
    if (onlyImpossible && !isImpossible) continue
    const has = (one: HistoryRule) => one.problem === problem.problem
    const rule = rules.find((one) => has(one) && one.form === form) ?? (isImpossible && DEFAULT_RULES.find(has))
    if (!rule) continue
    const isCertain =
      problem.problem !== 'unknown-response' ||
      conversation.form !== 'responses' ||
      !problem.ids.some(conversation.earlier.mayHaveStored)
    const { problem: name, ids } = problem
    const rejection = rule.reject(problem)
    return { name, ids, rejection, source: rule.source, path: pathOf(problem), isImpossible, isCertain }
  }
  return undefined
}

/** The first parameter rule that a request breaks, if it is in the format of its provider. */
function brokenParameter(
  { conversation, request, isDirect, onlyImpossible = false }: JudgedRequest,
  { parameters, facts }: ModelRules,
): BrokenRule | undefined {
  if (!isDirect || onlyImpossible || parameters.length === 0) return undefined
  const broken = brokenParameterRule(parameters, conversation.form, request, facts)
  if (!broken) return undefined
  const { rule, rejection } = broken
  const about = { name: rule.id, ids: [], source: rule.source, path: rejection.param ?? 'parameters' }
  return { ...about, rejection, isImpossible: false, isCertain: true }
}

/**
 * Rejects an input that is too long for its model, with the provider's message if it is known.
 * @param tokens Number of input tokens.
 * @throws ApiError 400 `context_length_exceeded`
 */
export function checkContext(
  { model, operation, request }: Pick<BackendCall, 'model' | 'operation' | 'request'>,
  tokens: number,
): void {
  const limit = inputLimit(model)
  if (limit === undefined || tokens <= limit) return
  const { history, counting, facts } = rulesFor(model)
  const isAnthropic = history.some(({ form }) => form === 'messages')
  const form = isAnthropic ? 'messages' : operation.name === 'responses' ? 'responses' : 'chat'
  const about = { ...facts, inputTokens: () => tokens }
  const { rejection } = brokenParameterRule(counting, form, request as JudgedRequest['request'], about) ?? {}
  if (!rejection) {
    const message = `the input has ${tokens} tokens, ${model} takes at most ${limit}: make it shorter`
    throw new ApiError(400, 'context_length_exceeded', message)
  }
  const { status, code, type, param, message } = rejection
  throw new ApiError(status, code ?? type, message, { param, type, codeless: code === null })
}

/** Problems that make a response impossible. A provider without rules reports them like OpenAI. */
const IMPOSSIBLE: ReadonlySet<HistoryProblemName> = new Set(['empty-conversation', 'unknown-response'])
const DEFAULT_RULES = openaiHistory

/** The rules for a model and its facts. `counting` are the rules that need the number of input tokens. */
interface ModelRules {
  history: readonly HistoryRule[]
  parameters: readonly ParameterRule[]
  counting: readonly ParameterRule[]
  facts: ParameterFacts
}
const cachedRules = new Map<string, ModelRules>()
/** Maximum number of models with cached rules. */
const MAX_CACHED = 100

function rulesFor(model: string): ModelRules {
  const found = cachedRules.get(model)
  if (found) return found
  const slash = model.indexOf('/')
  const name = model.slice(slash + 1)
  const { history, parameters } = providerNamed(model.slice(0, slash))
  const own = parameters.filter(({ models }) => models.test(name))
  const rules = {
    history: history.filter(({ models }) => models?.test(name) ?? true),
    parameters: own.filter(({ countsInput }) => !countsInput),
    counting: own.filter(({ countsInput }) => countsInput),
    facts: { model: name, limits: modelOf(model) },
  }
  if (cachedRules.size >= MAX_CACHED) cachedRules.clear()
  cachedRules.set(model, rules)
  return rules
}

interface FoundProblems {
  form: HistoryRule['form']
  problems: Iterable<HistoryProblem>
  pathOf(problem: HistoryProblem): string
}

const NO_PROBLEMS: readonly HistoryProblem[] = []

/** The problems of a conversation in the format of its provider. */
function problemsIn(
  { conversation, converted: other, request }: JudgedRequest,
  rules: readonly HistoryRule[],
): FoundProblems {
  const toAnthropic = rules.some(({ form }) => form === 'messages')
  if (conversation.form === 'messages' && other && !toAnthropic)
    return problemsIn({ model: '', conversation: other, request, isDirect: false }, rules)
  switch (conversation.form) {
    case 'messages':
      return {
        form: 'messages',
        problems: findMessagesProblems({ ...request, messages: conversation.messages }),
        pathOf: pathIn('messages'),
      }
    case 'chat':
      if (toAnthropic) return converted(conversation.messages, 'messages')
      return { form: 'chat', problems: findChatProblems(conversation.messages), pathOf: pathIn('messages') }
    case 'responses': {
      const { items, earlier } = conversation
      if (!toAnthropic)
        return { form: 'responses', problems: findItemProblems(items, earlier), pathOf: pathIn('input') }
      // The referenced items are unknown here.
      const isWhole = request.previous_response_id == null && !items.some(isReference)
      if (!isWhole) return { form: 'messages', problems: NO_PROBLEMS, pathOf: pathIn('input') }
      const { messages, origins } = chatOfItems(items)
      return converted(messages, 'input', origins)
    }
  }
}

const isReference = (item: unknown) => asObject(item)?.type === 'item_reference'

function pathIn(list: string) {
  return ({ index, part }: HistoryProblem): string =>
    `${list}[${index}]${part === undefined ? '' : `.content[${part}]`}`
}

/** A chat converted for Anthropic, as a gateway sends it. */
function converted(chat: readonly unknown[], list: string, origins?: readonly number[]): FoundProblems {
  const { messages, origins: inChat } = messagesOfChat(chat)
  return {
    form: 'messages',
    // For a chat with only instructions, a gateway adds a message.
    problems: messages.length === 0 ? NO_PROBLEMS : findMessagesProblems({ messages }),
    pathOf({ index }) {
      const place = inChat[index] ?? 0
      return `${list}[${origins?.[place] ?? place}]`
    },
  }
}
