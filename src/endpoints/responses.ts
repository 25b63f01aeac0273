// POST /v2/router/responses (the specification, "Create a model response").
import { generateText } from '../answers/generate.ts'
import type { Operation } from '../contract/core/operation.ts'
import { ResponsesRequest } from '../contract/router/responses.ts'
import { ModelResponse, ResponseEvent } from '../contract/router/responses-answer.ts'
import { TextScript } from '../contract/router/script.ts'
import { CITY_SCHEMA, streamedOperation, WEATHER_PARAMETERS } from './common.ts'
import { composeResponse } from './responses/answer.ts'
import { keep, resolve, responsesConversation } from './responses/conversation.ts'
import { responseProblem } from './responses/normalize.ts'
import {
  addResponsesContext,
  replayResponse,
  responseAssembly,
  responseEvents,
  responseScriptOf,
  responsesInputTexts,
  responsesOutputTexts,
} from './responses/provider-answer.ts'
import {
  fillResponsesTexts,
  responsesAnswerRequest,
  responsesAttachments,
  responsesOpening,
  responsesPrompt,
  responsesPromptTokens,
} from './responses/reading.ts'

/** The operation "Create a model response" of the specification. */
export const responses: Operation<ResponsesRequest, TextScript> = {
  ...streamedOperation,
  name: 'responses',
  neighbour: { name: 'chat.completions', answers: true },
  path: '/v2/router/responses',
  answerName: 'model response',
  summary: 'Create a model response',
  description:
    'Responds to a text or a conversation with items (messages, function calls, reasoning), either complete or as a stream of numbered events. `previous_response_id` continues a stored response.',
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
          parameters: WEATHER_PARAMETERS,
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
    structured: {
      model: 'openai/gpt-4o',
      input: 'Name a city and its country.',
      text: {
        format: {
          type: 'json_schema',
          name: 'city',
          schema: CITY_SCHEMA,
        },
      },
    },
  },
  longList: 'input',
  request: ResponsesRequest,
  response: ModelResponse,
  chunk: ResponseEvent,
  script: TextScript,
  prompt: responsesPrompt,
  opening: responsesOpening,
  conversation: responsesConversation,
  promptTokens: responsesPromptTokens,
  attachments: responsesAttachments,
  fillTexts: fillResponsesTexts,
  resolve,
  generate: (request, options, call) => generateText(responsesAnswerRequest(request), options, call),
  compose: composeResponse,
  assembly: responseAssembly,
  wrongWith: responseProblem,
  scriptOf: responseScriptOf,
  events: responseEvents,
  replay: replayResponse,
  addContext: addResponsesContext,
  inputTexts: responsesInputTexts,
  outputTexts: responsesOutputTexts,
  keep,
}
