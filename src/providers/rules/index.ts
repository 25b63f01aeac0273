// What a provider thinks of a request: the first of its rules that the request breaks.
import type { ModelConversation } from '../../contract/core/history.ts'
import { asObject } from '../../lib/values.ts'
import { providerNamed } from '../index.ts'
import { findChatProblems } from './chat-problems.ts'
import { chatOfItems, messagesOfChat } from './convert.ts'
import { findMessagesProblems } from './messages-problems.ts'
import { openaiHistory } from './openai.ts'
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
  /** Whether only problems count with which no response is possible. */
  onlyImpossible?: boolean
}

/** A rule that a request breaks. */
export interface BrokenRule {
  problem: HistoryProblem
  rejection: RequestRejection
  /** URL of what the rule is based on. */
  source: string
  /** Path of the message or item, such as `messages[2].content[0]`. */
  path: string
  /** Whether no response is possible, whatever the setting. */
  isImpossible: boolean
  /** Whether the client is at fault for certain: what it refers to cannot have been dropped here. */
  isCertain: boolean
}

/** The first rule of its provider that the conversation of a request breaks; undefined when it breaks none. Linear in its length. */
export function findBrokenRule(judged: JudgedRequest): BrokenRule | undefined {
  const { model, conversation, onlyImpossible = false } = judged
  const slash = model.indexOf('/')
  const rules = rulesFor(model.slice(0, slash), model.slice(slash + 1))
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
    return {
      problem,
      rejection: rule.reject(problem),
      source: rule.source,
      path: pathOf(problem),
      isImpossible,
      isCertain,
    }
  }
  return undefined
}

/** Problems with which no response is possible: a provider without rules of its own says so like OpenAI. */
const IMPOSSIBLE: ReadonlySet<HistoryProblemName> = new Set(['empty-conversation', 'unknown-response'])
const USUAL = openaiHistory

const remembered = new Map<string, readonly HistoryRule[]>()
/** Models whose rules are remembered. */
const MAX_REMEMBERED = 100

/** The rules that hold for a model. */
function rulesFor(provider: string, name: string): readonly HistoryRule[] {
  const key = `${provider}/${name}`
  const found = remembered.get(key)
  if (found) return found
  const rules = providerNamed(provider).history.filter(({ models }) => models?.test(name) ?? true)
  if (remembered.size >= MAX_REMEMBERED) remembered.clear()
  remembered.set(key, rules)
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
    return problemsIn({ model: '', conversation: other, request }, rules)
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
    problems: findMessagesProblems({ messages }),
    pathOf({ index }) {
      const place = inChat[index] ?? 0
      return `${list}[${origins?.[place] ?? place}]`
    },
  }
}
