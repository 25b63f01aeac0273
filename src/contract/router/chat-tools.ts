// The tools of a chat request and the calls in its messages, in one form whatever the client calls them: functions, custom tools
// that take a text, and the `functions` of clients from before there were tools.

/** A tool that may be called. */
export interface ChatTool {
  kind: 'function' | 'custom'
  name: string
  description: string | undefined
  /** JSON Schema of a function's arguments. */
  parameters: object | undefined
  strict: boolean | undefined
  /** What the text of a custom tool is like. */
  grammar: { syntax: 'lark' | 'regex'; definition: string } | undefined
  /** Where the schema stands in the request. */
  param: string
}

/** What a call offers. */
interface ToolOffer {
  /** The tools that may be called: of those that are given the ones that the choice leaves. */
  tools: readonly ChatTool[]
  /** All that are given. */
  given: readonly ChatTool[]
  choice: 'none' | 'auto' | 'required' | { name: string }
  /** Whether they came as `functions`, so that the answer has a `function_call`. */
  legacy: boolean
}

/** What of a request is about tools. */
export interface ToolFields {
  tools?: readonly { type: string }[] | null | undefined
  tool_choice?: 'none' | 'auto' | 'required' | object | null | undefined
  functions?: readonly FunctionFields[] | null | undefined
  function_call?: 'none' | 'auto' | { name: string } | null | undefined
}
interface FunctionFields {
  name: string
  description?: string | null | undefined
  parameters?: object | null | undefined
  strict?: boolean | null | undefined
}
interface CustomFields {
  name: string
  description?: string | null | undefined
  format?: { type: string; grammar?: ChatTool['grammar'] } | null | undefined
}

const functionTool = ({ name, description, parameters, strict }: FunctionFields, param: string): ChatTool => ({
  kind: 'function',
  name,
  description: description ?? undefined,
  parameters: parameters ?? undefined,
  strict: strict ?? undefined,
  grammar: undefined,
  param: `${param}.parameters`,
})
const customTool = ({ name, description, format }: CustomFields, param: string): ChatTool => ({
  kind: 'custom',
  name,
  description: description ?? undefined,
  parameters: undefined,
  strict: undefined,
  grammar: format?.grammar,
  param: `${param}.format.grammar.definition`,
})

function givenTools({ tools, functions }: ToolFields): ChatTool[] {
  const own = (tools ?? []).flatMap((tool, index): ChatTool[] => {
    const { function: called, custom } = tool as { function?: FunctionFields; custom?: CustomFields }
    if (tool.type === 'function' && called) return [functionTool(called, `tools[${index}].function`)]
    return tool.type === 'custom' && custom ? [customTool(custom, `tools[${index}].custom`)] : []
  })
  return [...own, ...(functions ?? []).map((one, index) => functionTool(one, `functions[${index}]`))]
}

/** The name of a tool that is chosen; undefined for a tool of the provider. */
function chosenName(choice: object): string | undefined {
  const { function: called, custom } = choice as { function?: { name: string }; custom?: { name: string } }
  return called?.name ?? custom?.name
}

/** The tools that a choice names, in the form `allowed_tools` or by name; undefined when it names none. */
export function chosenTools(choice: ToolFields['tool_choice']): (string | undefined)[] | undefined {
  if (typeof choice !== 'object' || choice === null) return undefined
  const { allowed_tools: allowed } = choice as { allowed_tools?: { tools: object[] } }
  return allowed ? allowed.tools.map(chosenName) : [chosenName(choice)]
}

const NO_TOOLS: ToolOffer = { given: [], tools: [], choice: 'auto', legacy: false }

/** What a call offers of its tools. */
export function offerOf(request: ToolFields): ToolOffer {
  const { tools, functions, tool_choice: chosen, function_call: called } = request
  return tools || functions || chosen || called ? offered(request) : NO_TOOLS
}

function offered(request: ToolFields): ToolOffer {
  const given = givenTools(request)
  const legacy = (request.functions?.length ?? 0) > 0
  const { tool_choice: chosen, function_call: called } = request
  if (legacy) return narrowed(given, called ?? 'auto', legacy)
  const names = chosenTools(chosen)
  if (typeof chosen !== 'object' || chosen === null) return narrowed(given, chosen ?? 'auto', legacy)
  const allowed = (chosen as { allowed_tools?: { mode: 'auto' | 'required' } }).allowed_tools
  if (!allowed) return narrowed(given, { name: names?.[0] ?? '' }, legacy)
  return { given, tools: given.filter(({ name }) => names?.includes(name)), choice: allowed.mode, legacy }
}

function narrowed(given: readonly ChatTool[], choice: ToolOffer['choice'], legacy: boolean): ToolOffer {
  if (choice === 'none') return { given, tools: [], choice, legacy }
  const tools = typeof choice === 'object' ? given.filter(({ name }) => name === choice.name) : given
  return { given, tools, choice, legacy }
}

/** One call in an assistant's message. */
interface MessageCall {
  id: string
  kind: 'function' | 'custom'
  name: string
  /** The arguments of a function, or the text of a custom tool. */
  text: string
  /** Where it stands in the message. */
  param: string
  thoughtSignature: string | undefined
}

interface CallFields {
  id: string
  type: 'function' | 'custom'
}

/** The calls of an assistant's message. That of an old client has no id, and is known by its name. */
export function callsOf(message: {
  tool_calls?: readonly CallFields[] | null | undefined
  function_call?: { name?: string | undefined; arguments?: string | undefined } | null | undefined
}): MessageCall[] {
  const calls = (message.tool_calls ?? []).map((call, index): MessageCall => {
    const { id, type } = call
    const {
      function: called,
      custom,
      thought_signature: signature,
    } = call as {
      function?: { name?: string; arguments?: string }
      custom?: { name: string; input: string }
      thought_signature?: unknown
    }
    return {
      id,
      kind: type,
      name: (called?.name ?? custom?.name) || '',
      text: (called?.arguments ?? custom?.input) || '',
      param: `tool_calls[${index}].function.arguments`,
      thoughtSignature: typeof signature === 'string' ? signature : undefined,
    }
  })
  const old = message.function_call
  if (!old) return calls
  const { name = '', arguments: text = '' } = old
  const param = 'function_call.arguments'
  return [...calls, { id: name, kind: 'function', name, text, param, thoughtSignature: undefined }]
}
