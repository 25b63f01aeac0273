// POST /v2/router/responses (SPEC.md, "Create a model response"; WIRE.md, section 2).
import { synthesizeText } from '../backends/fixture/synthesize.ts'
import type { Operation } from '../contract/operation.ts'
import { ResponsesRequest } from '../contract/responses.ts'
import { ModelResponse, ResponseEvent } from '../contract/responses-answer.ts'
import { TextScript } from '../contract/script.ts'
import { compose } from './responses/answer.ts'
import { assemble } from './responses/assemble.ts'
import { keep, resolve } from './responses/conversation.ts'
import { attachments, fillTexts, functionTools, prompt, promptTokens, toolResult } from './responses/reading.ts'

export const responses: Operation<ResponsesRequest, TextScript> = {
  name: 'responses',
  path: '/v2/router/responses',
  tag: 'Router',
  summary: 'Create a model response',
  description:
    'Answers a text or a conversation with items (messages, function calls, reasoning), whole or as a stream of numbered events. A stored response is continued with `previous_response_id`.',
  examples: {
    greeting: { model: 'openai/gpt-4o-mini', input: 'Hello!' },
    stream: {
      model: 'openai/gpt-4o-mini',
      instructions: 'You are a friendly guide.',
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'What is there to see here?' }] }],
      stream: true,
    },
    tool: {
      model: 'openai/gpt-4o-mini',
      input: 'What is the weather in Utrecht?',
      tools: [
        {
          type: 'function',
          name: 'get_weather',
          description: 'The weather of a city.',
          parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        },
      ],
      tool_choice: 'required',
    },
    toolResult: {
      model: 'openai/gpt-4o-mini',
      input: [
        { role: 'user', content: 'What is the weather in Utrecht?' },
        { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{"city":"Utrecht"}' },
        { type: 'function_call_output', call_id: 'call_1', output: '17 degrees, light rain' },
      ],
    },
  },
  body: 'json',
  request: ResponsesRequest,
  response: ModelResponse,
  chunk: ResponseEvent,
  script: TextScript,
  model: (request) => request.model,
  streams: (request) => request.stream === true,
  prompt,
  promptTokens,
  attachments,
  fillTexts,
  resolve,
  synthesize,
  compose,
  assemble,
  keep,
}

function synthesize(request: ResponsesRequest): Promise<TextScript> {
  const { user, turn } = prompt(request)
  const { reasoning, thinking, text } = request
  const thinks = thinking ? thinking.type !== 'disabled' : reasoning?.effort != null || reasoning?.summary != null
  return synthesizeText({
    user,
    turn,
    tools: functionTools(request).map(({ name, parameters }) => ({ name, ...(parameters ? { parameters } : {}) })),
    toolChoice: choiceOf(request),
    parallel: request.parallel_tool_calls ?? true,
    toolResult: toolResult(request),
    format: formatOf(request),
    reasoning: thinks && reasoning?.effort !== 'none',
    ...(text?.verbosity ? { verbosity: text.verbosity } : {}),
  })
}

// Tools of the provider are never called here, so a call that must use one is answered with text.
function choiceOf(request: ResponsesRequest): Parameters<typeof synthesizeText>[0]['toolChoice'] {
  const { tool_choice: choice } = request
  if (typeof choice === 'object' && choice?.type === 'function') return { name: choice.name }
  if (choice === 'required') return functionTools(request).length > 0 ? choice : 'auto'
  return choice === 'none' ? choice : 'auto'
}

function formatOf({ text }: ResponsesRequest): Parameters<typeof synthesizeText>[0]['format'] {
  const format = text?.format
  if (format?.type === 'json_schema') return { kind: 'json_schema', schema: format.schema, param: 'text.format.schema' }
  return { kind: format?.type ?? 'text' }
}
