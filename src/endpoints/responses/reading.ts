// What a request for a response says: what fixtures match on, what it counts, and what the synthesizer is asked for.
import { attachmentName } from '../../answers/input-tokens.ts'
import type { AnswerRequest } from '../../answers/synthesize.ts'
import { countCached } from '../../answers/text-answer.ts'
import type { Attachment, Prompt } from '../../contract/operation.ts'
import type { InputMessage, ResponsesRequest } from '../../contract/responses.ts'
import { modelOf } from '../../providers/catalogue.ts'
import { RESPONSES_SCHEMA_PARAM, summaryOf } from './conversation.ts'
import { instructionsTokens, isMessage, itemText, type MessageContent, ownItems, partsOf } from './items.ts'

/** The conversation as fixtures match on it. */
export function responsesPrompt(request: ResponsesRequest): Prompt {
  const { system, user, turn } = summaryOf(request)
  const last = ownItems(request).at(-1)
  const toolText = last?.type === 'function_call_output' ? itemText(last.output) : undefined
  return {
    system: [request.instructions ?? '', ...system].filter((text) => text !== '').join('\n'),
    user,
    turn,
    tools: offered(request),
    toolResult: toolText !== undefined,
    ...(toolText === undefined ? {} : { toolText }),
  }
}

/** Names of the functions that may be called: none, the one that must be, or all. */
function offered({ tools, tool_choice: choice }: ResponsesRequest): string[] {
  if (choice === 'none') return []
  const names = (tools ?? []).flatMap((tool) => (tool.type === 'function' ? [tool.name] : []))
  return typeof choice === 'object' && choice?.type === 'function'
    ? names.filter((name) => name === choice.name)
    : names
}

/** How hard the call asks to think; undefined is not at all. */
function effortOf({ reasoning, thinking }: ResponsesRequest): string | undefined {
  if (reasoning?.effort === 'none' || thinking?.type === 'disabled') return undefined
  if (reasoning?.effort) return reasoning.effort
  if (thinking?.type === 'enabled') return thinking.thinking_level ?? 'medium'
  return thinking || reasoning?.summary ? 'medium' : undefined
}

/** What the synthesizer has to satisfy. */
export function responsesAnswerRequest(request: ResponsesRequest): AnswerRequest {
  const { user, turn, toolText } = responsesPrompt(request)
  const { tools, text } = request
  const format = text?.format
  return {
    user,
    turn,
    tools: (tools ?? []).flatMap((tool, index) =>
      tool.type === 'function' ? [{ ...tool, param: `tools[${index}].parameters` }] : [],
    ),
    toolChoice: choiceOf(request),
    toolResult: toolText,
    format:
      format?.type === 'json_schema'
        ? { kind: 'json_schema', schema: format.schema, param: RESPONSES_SCHEMA_PARAM }
        : { kind: format?.type ?? 'text' },
    effort: effortOf(request),
    verbosity: text?.verbosity ?? undefined,
  }
}

// Tools of the provider are never called here, so a call that must use one is answered with text.
function choiceOf({ tool_choice: choice }: ResponsesRequest): AnswerRequest['toolChoice'] {
  if (typeof choice !== 'object') return choice ?? 'auto'
  return choice?.type === 'function' ? { name: choice.name } : 'auto'
}

// 3 tokens open the answer, as OpenAI's cookbook counts.
const OPENING = 3

/** Tokens of the whole conversation; with `truncation: auto` no more than the model takes, since the rest is dropped. */
export function responsesPromptTokens(request: ResponsesRequest): number {
  const { instructions, tools } = request
  const offering = tools && tools.length > 0 ? countCached(JSON.stringify(tools)) : 0
  const all = OPENING + summaryOf(request).tokens + instructionsTokens(instructions) + offering
  return request.truncation === 'auto' ? Math.min(all, modelOf(request.model)?.context ?? all) : all
}

/** Pictures and files of the body, by file name, id or address; data is named by its type. */
export const responsesAttachments = (request: ResponsesRequest): Attachment[] =>
  partsOf(ownItems(request)).flatMap((part): Attachment[] => {
    if (part.type === 'input_image') return [{ kind: 'image', name: attachmentName(part.file_id ?? part.image_url) }]
    if (part.type !== 'input_file') return []
    const { filename, file_id: id, file_url: url, file_data: data } = part
    return [{ kind: 'file', name: attachmentName(id ?? url ?? data, filename) }]
  })

/** The request with its instructions and the texts of its messages made anew. */
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
