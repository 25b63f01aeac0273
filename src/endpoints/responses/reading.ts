// Reads a request for a response: what fixtures match, its token counts, and the input of the generator.

import type { AnswerRequest } from '../../answers/generate.ts'
import { attachmentName } from '../../answers/input-tokens.ts'
import { countCached } from '../../answers/text-answer.ts'
import type { Attachment, CountTokens, Prompt } from '../../contract/core/operation.ts'
import type { ChatTool } from '../../contract/router/chat-tools.ts'
import type { InputMessage, ResponsesRequest } from '../../contract/router/responses.ts'
import { calledTools, chosenNames } from '../../contract/router/responses-tools.ts'
import { modelOf } from '../../providers/catalogue.ts'
import { demandedAnswer, requestedEffort } from '../common.ts'
import {
  callNames,
  conversationTokens,
  instructionsTokens,
  isMessage,
  isResult,
  itemText,
  type MessageContent,
  ownItems,
  partsOf,
  RESPONSES_SCHEMA_PARAM,
  summaryOf,
} from './conversation.ts'

/** The prompt that fixtures match. */
export function responsesPrompt(request: ResponsesRequest): Prompt {
  const { system, user, turn } = summaryOf(request)
  const last = ownItems(request).at(-1)
  const toolText = last && isResult(last) ? itemText(last.output) : undefined
  return {
    system: [request.instructions ?? '', ...system].filter((text) => text !== '').join('\n'),
    user,
    turn,
    tools: offered(request),
    ...(request.tool_choice === 'none' && { forbidsTools: true }),
    toolResult: toolText !== undefined,
    ...(toolText === undefined ? {} : { toolText }),
    answer: demandedAnswer(choiceOf(request), request.text?.format),
  }
}

/** The beginning of the conversation: its first user message. Instructions may differ between calls. */
export function responsesOpening(request: ResponsesRequest): Pick<Prompt, 'system' | 'user'> {
  const { system, user, first = user } = summaryOf(request)
  return { system: system[0] ?? '', user: first }
}

/** Names of the tools that may be called: none, those of the tool choice, or all. */
function offered({ tools, tool_choice: choice }: ResponsesRequest): string[] {
  if (choice === 'none') return []
  const names = calledTools(tools).map(({ name }) => name)
  const chosen = chosenNames(choice)?.filter((name) => name !== undefined)
  const narrows = typeof choice === 'object' && choice?.type === 'allowed_tools'
  return chosen && (chosen.length > 0 || narrows) ? names.filter((name) => chosen.includes(name)) : names
}

/** Those tools in the format of the generator. */
function offeredTools(request: ResponsesRequest): ChatTool[] {
  const names = offered(request)
  return (request.tools ?? [])
    .flatMap((tool, index): ChatTool[] => {
      if (tool.type === 'function') return [{ ...tool, kind: 'function', param: `tools[${index}].parameters` }]
      if (tool.type !== 'custom') return []
      const { name, description, format } = tool
      const grammar = format?.type === 'grammar' ? { syntax: format.syntax, definition: format.definition } : undefined
      return [{ kind: 'custom', name, description, grammar, param: `tools[${index}].format.definition` }]
    })
    .filter(({ name }) => names.includes(name))
}

/** Names of the tools with a result after the last user message. */
function finishedTools(request: ResponsesRequest): string[] {
  const items = ownItems(request)
  const names = callNames(request)
  const round = items.slice(items.findLastIndex((item) => isMessage(item) && item.role === 'user') + 1)
  return round.flatMap((item) => (isResult(item) ? [names.get(item.call_id) ?? ''] : []))
}

/** The requested reasoning effort; undefined for no reasoning. */
function effortOf({ reasoning, thinking }: ResponsesRequest): string | undefined {
  return requestedEffort(reasoning?.effort, thinking, () => (reasoning?.summary ? 'medium' : undefined))
}

/** The input of the generator. */
export function responsesAnswerRequest(request: ResponsesRequest): AnswerRequest {
  const { user, turn, toolText } = responsesPrompt(request)
  const { text } = request
  const format = text?.format
  return {
    user,
    turn,
    tools: offeredTools(request),
    toolChoice: choiceOf(request),
    toolResult: toolText,
    finished: finishedTools(request),
    format:
      format?.type === 'json_schema'
        ? { kind: 'json_schema', schema: format.schema, param: RESPONSES_SCHEMA_PARAM }
        : { kind: format?.type ?? 'text' },
    effort: effortOf(request),
    verbosity: text?.verbosity ?? undefined,
  }
}

// Provider tools are never called, so a call that must use one gets a text.
function choiceOf(request: ResponsesRequest): AnswerRequest['toolChoice'] {
  const { tool_choice: choice } = request
  if (typeof choice !== 'object')
    return choice === 'required' && offered(request).length === 0 ? 'auto' : (choice ?? 'auto')
  if (choice === null) return 'auto'
  if (choice.type === 'allowed_tools')
    return offered(request).length === 0 ? 'auto' : (choice.mode as 'auto' | 'required')
  const [name] = chosenNames(choice) ?? []
  return name === undefined ? 'auto' : { name }
}

// OpenAI's cookbook counts 3 tokens for the response.
const OPENING = 3

/** Tokens of the whole conversation; with `truncation: auto` at most the model's context, since the rest is dropped. */
export function responsesPromptTokens(request: ResponsesRequest, count: CountTokens = countCached): number {
  const { instructions, tools } = request
  const offering = tools && tools.length > 0 ? count(JSON.stringify(tools)) : 0
  const all = OPENING + conversationTokens(request, count) + instructionsTokens(instructions, count) + offering
  return request.truncation === 'auto' ? Math.min(all, modelOf(request.model)?.context ?? all) : all
}

/** Images and files of the body, by file name, id or URL; inline data by its type. */
export const responsesAttachments = (request: ResponsesRequest): Attachment[] =>
  partsOf(ownItems(request)).flatMap((part): Attachment[] => {
    if (part.type === 'input_image') return [{ kind: 'image', name: attachmentName(part.file_id ?? part.image_url) }]
    if (part.type !== 'input_file') return []
    const { filename, file_id: id, file_url: url, file_data: data } = part
    return [{ kind: 'file', name: attachmentName(id ?? url ?? data, filename) }]
  })

/** The request with `fill` applied to its instructions and message texts. */
export function fillResponsesTexts(request: ResponsesRequest, fill: (text: string) => string): ResponsesRequest {
  const { instructions, input } = request
  const filled = (content: MessageContent) =>
    typeof content === 'string'
      ? fill(content)
      : content.map((part) => ('text' in part ? { ...part, text: fill(String(part.text)) } : part))
  return {
    ...request,
    ...(instructions ? { instructions: fill(instructions) } : {}),
    input:
      typeof input === 'string'
        ? fill(input)
        : input.map((item) => (isMessage(item) ? ({ ...item, content: filled(item.content) } as InputMessage) : item)),
  }
}
