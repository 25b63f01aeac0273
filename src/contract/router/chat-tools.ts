// The tools of a chat request and the calls in its messages, in one form whatever the client uses: functions, custom
// tools with a text input, or the `functions` of old clients. The rules between the fields of such a request.
import { asObject, asText } from '../../lib/values.ts'

/** A tool that may be called. */
export interface ChatTool {
  kind: 'function' | 'custom'
  name: string
  description?: string | null | undefined
  /** JSON Schema of a function's arguments. */
  parameters?: object | null | undefined
  strict?: boolean | null | undefined
  /** The format of a custom tool's text. */
  grammar?: { syntax: 'lark' | 'regex'; definition: string } | undefined
  /** JSON path of the schema in the request. */
  param: string
}

/** The tools that a call offers. */
interface ToolOffer {
  /** The tools that may be called: those in the request that the choice allows. */
  tools: readonly ChatTool[]
  /** All tools in the request. */
  given: readonly ChatTool[]
  choice: 'none' | 'auto' | 'required' | { name: string }
  /** Whether they were sent as `functions`, so that the response has a `function_call`. */
  legacy: boolean
}

/** The fields of a request that concern tools. */
interface ToolFields {
  tools?: readonly { type: string }[] | null | undefined
  tool_choice?: 'none' | 'auto' | 'required' | object | null | undefined
  functions?: readonly FunctionFields[] | null | undefined
  function_call?: 'none' | 'auto' | { name: string } | null | undefined
}
type FunctionFields = Pick<ChatTool, 'name' | 'description' | 'parameters' | 'strict'>
interface CustomFields extends Pick<ChatTool, 'name' | 'description'> {
  format?: { type: string; grammar?: ChatTool['grammar'] } | null | undefined
}

const functionTool = ({ name, description, parameters, strict }: FunctionFields, param: string): ChatTool => ({
  kind: 'function',
  name,
  description,
  parameters,
  strict,
  param: `${param}.parameters`,
})
const customTool = ({ name, description, format }: CustomFields, param: string): ChatTool => ({
  kind: 'custom',
  name,
  description,
  grammar: format?.grammar,
  param: `${param}.format.grammar.definition`,
})

function providedTools({ tools, functions }: ToolFields): ChatTool[] {
  const own = (tools ?? []).flatMap((tool, index): ChatTool[] => {
    const { function: called, custom } = tool as { function?: FunctionFields; custom?: CustomFields }
    if (tool.type === 'function' && called) return [functionTool(called, `tools[${index}].function`)]
    return tool.type === 'custom' && custom ? [customTool(custom, `tools[${index}].custom`)] : []
  })
  return [...own, ...(functions ?? []).map((one, index) => functionTool(one, `functions[${index}]`))]
}

/** The name of the chosen tool; undefined for a tool of the provider. */
function chosenName(choice: object): string | undefined {
  const { function: called, custom } = choice as { function?: { name: string }; custom?: { name: string } }
  return called?.name ?? custom?.name
}

/** The tools that a choice names, in the form `allowed_tools` or by name; undefined if it names none. */
function chosenTools(choice: ToolFields['tool_choice']): (string | undefined)[] | undefined {
  if (typeof choice !== 'object' || choice === null) return undefined
  const { allowed_tools: allowed } = choice as { allowed_tools?: { tools: object[] } }
  return allowed ? allowed.tools.map(chosenName) : [chosenName(choice)]
}

const NO_TOOLS: ToolOffer = { given: [], tools: [], choice: 'auto', legacy: false }

/** The tools that a call offers. */
export function offerOf(request: ToolFields): ToolOffer {
  const { tools, functions, tool_choice: chosen, function_call: called } = request
  return tools || functions || chosen || called ? offered(request) : NO_TOOLS
}

function offered(request: ToolFields): ToolOffer {
  const provided = providedTools(request)
  const legacy = (request.functions?.length ?? 0) > 0
  const { tool_choice: chosen, function_call: called } = request
  if (legacy) return narrowed(provided, called ?? 'auto', legacy)
  const names = chosenTools(chosen)
  if (typeof chosen !== 'object' || chosen === null) return narrowed(provided, chosen ?? 'auto', legacy)
  const allowed = (chosen as { allowed_tools?: { mode: 'auto' | 'required' } }).allowed_tools
  if (!allowed) return narrowed(provided, { name: names?.[0] ?? '' }, legacy)
  return { given: provided, tools: provided.filter(({ name }) => names?.includes(name)), choice: allowed.mode, legacy }
}

function narrowed(provided: readonly ChatTool[], choice: ToolOffer['choice'], legacy: boolean): ToolOffer {
  if (choice === 'none') return { given: provided, tools: [], choice, legacy }
  const tools = typeof choice === 'object' ? provided.filter(({ name }) => name === choice.name) : provided
  return { given: provided, tools, choice, legacy }
}

/** One call in an assistant's message. */
interface MessageCall {
  id: string
  kind: 'function' | 'custom'
  name: string
  /** The arguments of a function, or the text of a custom tool. */
  text: string
  /** Its path in the message. */
  param: string
  thoughtSignature?: string | undefined
}

interface CallFields {
  id: string
  type: 'function' | 'custom'
  function?: unknown
  custom?: unknown
  thought_signature?: unknown
}

/** The calls of an assistant's message. A call of an old client has no id, and is identified by its name. */
export function callsOf(message: {
  tool_calls?: readonly CallFields[] | null | undefined
  function_call?: { name?: string | undefined; arguments?: string | undefined } | null | undefined
}): MessageCall[] {
  const calls = (message.tool_calls ?? []).map((call, index): MessageCall => {
    const { id, type: kind } = call
    const { name, arguments: json, input } = asObject(call[kind]) ?? {}
    return {
      id,
      kind,
      name: asText(name) ?? '',
      text: asText(kind === 'custom' ? input : json) ?? '',
      param: `tool_calls[${index}].function.arguments`,
      thoughtSignature: asText(call.thought_signature),
    }
  })
  const old = message.function_call
  if (!old) return calls
  const { name = '', arguments: text = '' } = old
  return [...calls, { id: name, kind: 'function', name, text, param: 'function_call.arguments' }]
}

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
