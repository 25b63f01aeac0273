// The fields of a request that its response repeats, in the forms that strict clients accept.
import type { ResponsesRequest } from '../../contract/router/responses.ts'
import type { ModelResponse } from '../../contract/router/responses-answer.ts'

/** The fields of the request that a response repeats, with their defaults. */
export const echoOf = (request: ResponsesRequest) => ({
  background: request.background ?? false,
  instructions: request.instructions ?? null,
  max_output_tokens: request.max_output_tokens ?? null,
  parallel_tool_calls: request.parallel_tool_calls ?? true,
  previous_response_id: request.previous_response_id ?? null,
  reasoning: { effort: request.reasoning?.effort ?? null, summary: request.reasoning?.summary ?? null },
  service_tier: request.service_tier ?? 'auto',
  store: request.store ?? true,
  temperature: request.temperature ?? 1,
  text: {
    format: formatEcho(request),
    ...(request.text?.verbosity ? { verbosity: request.text.verbosity } : {}),
  },
  tool_choice: choiceEcho(request),
  tools: toolsEcho(request),
  top_logprobs: request.top_logprobs ?? 0,
  logprobs: withLogprobs(request),
  top_p: request.top_p ?? 1,
  truncation: request.truncation ?? 'disabled',
  user: request.user ?? null,
  metadata: request.metadata ?? {},
})

/** Whether the text includes log probabilities. */
export const withLogprobs = ({ include, top_logprobs }: ResponsesRequest): boolean =>
  include?.includes('message.output_text.logprobs') === true || (top_logprobs ?? 0) > 0

/** Whether the response contains a summary of its reasoning, or only counts it. */
export const showsSummary = ({ reasoning, thinking }: ResponsesRequest): boolean =>
  reasoning?.summary != null || (thinking != null && thinking.type !== 'disabled')

function formatEcho({ text }: ResponsesRequest): ModelResponse['text']['format'] {
  const format = text?.format ?? { type: 'text' }
  if (format.type !== 'json_schema') return { type: format.type }
  const { name, description, schema, strict } = format
  return { type: 'json_schema', name, ...(description ? { description } : {}), schema, strict: strict ?? true }
}

// Strict clients accept a function only in the nested form, and no other object.
function choiceEcho({ tool_choice: choice }: ResponsesRequest): ModelResponse['tool_choice'] {
  if (choice == null) return 'auto'
  if (typeof choice === 'string') return choice
  if (choice.type === 'function') return { type: 'function', function: { name: choice.name as string } }
  return choice.type === 'allowed_tools' ? (choice.mode as 'auto' | 'required') : 'required'
}

const toolsEcho = ({ tools }: ResponsesRequest): ModelResponse['tools'] =>
  (tools ?? []).map((tool) => {
    if (tool.type !== 'function') return tool
    const { type, name, description, parameters, strict } = tool
    const optional = { ...(description == null ? {} : { description }), ...(parameters == null ? {} : { parameters }) }
    return { type, name, ...optional, strict: strict ?? true }
  })
