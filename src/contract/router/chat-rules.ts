// Rules between the fields of a chat request.
import { chosenTools, offerOf, type ToolFields } from './chat-tools.ts'

/** The fields that the rules use. */
interface ChatFields extends ToolFields {
  model: string
  top_logprobs?: number | null | undefined
  logprobs?: boolean | null | undefined
  stream_options?: object | null | undefined
  stream?: boolean | null | undefined
  modalities?: readonly string[] | null | undefined
  audio?: object | null | undefined
  max_tokens?: number | null | undefined
}
/** The path of a problem, and its message. */
type Problem = [path: string | (string | number)[], message: string]

/** Problems of the tool choice: it does not fit the tools, or the functions of old clients. */
function choiceProblems(body: ToolFields): Problem[] {
  const { tools, functions } = body
  if (!tools && !functions && !body.tool_choice && !body.function_call) return []
  const valid = (names: readonly string[]) => names.join(', ') || 'there are none'
  if (functions?.length && tools?.length) return [['functions', "cannot stand beside 'tools'"]]
  const old = (functions ?? []).map((one) => one.name)
  if (body.function_call != null && typeof body.function_call === 'object' && !old.includes(body.function_call.name))
    return [['function_call', `must name one of the functions (${valid(old)})`]]
  const names = offerOf({ tools }).given.map(({ name }) => name)
  if (body.tool_choice === 'required' && !tools?.length)
    return [['tool_choice', 'needs \'tools\' when it is "required"']]
  const unknown = chosenTools(body.tool_choice)?.some((name) => name !== undefined && !names.includes(name))
  return unknown ? [['tool_choice', `must name one of the tools (${valid(names)})`]] : []
}

/** Functions whose names only Google's models accept: those with dots and colons. */
function nameProblems({ model, tools, functions }: ChatFields): Problem[] {
  if ((!tools && !functions) || model.startsWith('google/')) return []
  const named = (tools ?? []) as readonly { function?: { name: string } }[]
  const problems: Problem[] = []
  const check = (name: string | undefined, path: Problem[0]) => {
    if (name !== undefined && /[.:]/.test(name))
      problems.push([path, `must be 1 to 64 letters, digits, _ and - with ${model}`])
  }
  for (const [index, tool] of named.entries()) check(tool.function?.name, ['tools', index, 'function', 'name'])
  for (const [index, { name }] of (functions ?? []).entries()) check(name, ['functions', index, 'name'])
  return problems
}

/** All problems between the fields. */
export function chatProblems(body: ChatFields): Problem[] {
  const problems: Problem[] = []
  if (body.top_logprobs != null && body.logprobs !== true)
    problems.push(['top_logprobs', "needs 'logprobs' to be true"])
  if (body.stream_options != null && body.stream !== true)
    problems.push(['stream_options', "needs 'stream' to be true"])
  if (body.modalities?.includes('audio') && body.audio == null)
    problems.push(['audio', "is required when 'modalities' has 'audio'"])
  if (body.max_tokens != null && /^openai\/o1(?:-|$)/.test(body.model))
    problems.push(['max_tokens', "is not supported by the o1 models: use 'max_completion_tokens'"])
  // Anthropic's models fill the prompt cache then, and say nothing.
  if (body.max_tokens === 0 && !body.model.startsWith('anthropic/')) problems.push(['max_tokens', 'must be at least 1'])
  problems.push(...nameProblems(body), ...choiceProblems(body))
  return problems
}
