// What a provider rejects: the first of its rules that a request breaks.
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

/** A request to be judged. */
export interface JudgedRequest {
  /** `<provider>/<model>`. */
  model: string
  conversation: ModelConversation
  /** The same as the operation has it, where the client's API has a form of its own. */
  converted?: ModelConversation | undefined
  /** The body in the form of the conversation's API. */
  request: Readonly<Record<string, unknown>>
  /** Whether no gateway is in between, which would translate parameters for its provider. */
  isDirect: boolean
  /** Whether the conversation is only instructions and one text of the user. */
  isPlain?: boolean
  /** Whether only problems count with which no response is possible. */
  onlyImpossible?: boolean
}

/** A rule that a request breaks. */
export interface BrokenRule {
  /** Name of the rule. */
  name: string
  /** Ids at fault, such as those of tool calls. */
  ids: readonly string[]
  rejection: RequestRejection
  /** URL of what the rule is based on. */
  source: string
  /** Path of the message, item or field, such as `messages[2].content[0]`. */
  path: string
  /** Whether no response is possible, whatever the setting. */
  isImpossible: boolean
  /** Whether the client is at fault for certain: what it refers to cannot have been dropped here. */
  isCertain: boolean
}

/** The first rule of its provider that a request breaks; undefined if it breaks none. Linear in the length of the conversation. */
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
    const rule = rules.find((one) => has(one) && one.form === form) ?? (isImpossible && USUAL.find(has))
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

/** The first rule about parameters, where the request is in the form of its provider. */
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
 * Rejects an input that is too long for its model, in the words of its provider where they are known.
 * @param tokens number of input tokens
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

/** Problems with which no response is possible: a provider without rules of its own says so like OpenAI. */
const IMPOSSIBLE: ReadonlySet<HistoryProblemName> = new Set(['empty-conversation', 'unknown-response'])
const USUAL = openaiHistory

/** The rules that hold for a model, those that need the number of input tokens apart, and what they know of the model. */
interface ModelRules {
  history: readonly HistoryRule[]
  parameters: readonly ParameterRule[]
  counting: readonly ParameterRule[]
  facts: ParameterFacts
}
const remembered = new Map<string, ModelRules>()
/** Models whose rules are remembered. */
const MAX_REMEMBERED = 100

function rulesFor(model: string): ModelRules {
  const found = remembered.get(model)
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
  if (remembered.size >= MAX_REMEMBERED) remembered.clear()
  remembered.set(model, rules)
  return rules
}

interface FoundProblems {
  form: HistoryRule['form']
  problems: Iterable<HistoryProblem>
  pathOf(problem: HistoryProblem): string
}

const NO_PROBLEMS: readonly HistoryProblem[] = []

/** The problems of a conversation, in the form in which its provider has it. */
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
      // What a reference stands for is not known here.
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

/** A chat as Anthropic has it from a gateway, which takes care of empty texts and of thoughts itself. */
function converted(chat: readonly unknown[], list: string, origins?: readonly number[]): FoundProblems {
  const { messages, origins: inChat } = messagesOfChat(chat)
  return {
    form: 'messages',
    // Only instructions: a gateway sends something in their place.
    problems: messages.length === 0 ? NO_PROBLEMS : findMessagesProblems({ messages }),
    pathOf({ index }) {
      const place = inChat[index] ?? 0
      return `${list}[${origins?.[place] ?? place}]`
    },
  }
}
