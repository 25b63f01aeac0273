// POST /v2/router/chat/completions (the specification, "Create a chat completion").

import { generateText } from '../answers/generate.ts'
import { checkSchemaField } from '../answers/schemas.ts'
import type { Operation } from '../contract/core/operation.ts'
import type { ChatRequest } from '../contract/router/chat-request.ts'
import type { TextScript } from '../contract/router/script.ts'
import { lazy } from '../lib/lazy.ts'
import { asList } from '../lib/values.ts'
import { checkEffort } from '../providers/catalogue.ts'
import { composeChat } from './chat/answer.ts'
import { chatProblem } from './chat/normalize.ts'
import {
  CHAT_SCHEMA_PARAM,
  chatAnswerRequest,
  chatAttachments,
  chatOpening,
  chatPrompt,
  chatPromptTokens,
  fillChatTexts,
} from './chat/prompt.ts'
import { keepPrefixes } from './chat/prompt-cache.ts'
import {
  addChatContext,
  chatAssembly,
  chatEvents,
  chatInputTexts,
  chatOutputTexts,
  chatScriptOf,
  replayChat,
} from './chat/provider-answer.ts'
import { CITY_SCHEMA, streamedOperation, WEATHER_PARAMETERS } from './common.ts'

// Loaded when a body is invalid, for the documents, and for fixture files.
const requests = lazy<typeof import('../contract/router/chat-request.ts')>(() =>
  require('../contract/router/chat-request.ts'),
)
const answers = lazy<typeof import('../contract/router/chat.ts')>(() => require('../contract/router/chat.ts'))
const scripts = lazy<typeof import('../contract/router/script.ts')>(() => require('../contract/router/script.ts'))

/** The operation "Create a chat completion" of the specification. */
export const chatCompletions: Operation<ChatRequest, TextScript> = {
  ...streamedOperation,
  name: 'chat.completions',
  neighbour: { name: 'responses', answers: false },
  path: '/v2/router/chat/completions',
  answerName: 'chat completion',
  summary: 'Create a chat completion',
  description:
    'Responds to a conversation with one or more choices, either complete or as a stream of chunks that ends with `[DONE]`.',
  examples: {
    greeting: { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Hello!' }] },
    stream: {
      model: 'openai/gpt-4o-mini',
      messages: [{ role: 'user', content: 'Tell me a long story' }],
      stream: true,
      stream_options: { include_usage: true },
    },
    tool: {
      model: 'openai/gpt-4o',
      messages: [{ role: 'user', content: 'What is the weather in Paris?' }],
      tools: [
        {
          type: 'function',
          function: {
            name: 'get_weather',
            parameters: WEATHER_PARAMETERS,
          },
        },
      ],
    },
    structured: {
      model: 'openai/gpt-4o',
      messages: [{ role: 'user', content: 'Name a city and its country.' }],
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'city',
          strict: true,
          schema: CITY_SCHEMA,
        },
      },
    },
  },
  longList: 'messages',
  get request() {
    return requests().ChatRequest
  },
  get response() {
    return answers().ChatCompletion
  },
  get chunk() {
    return answers().ChatChunk
  },
  get script() {
    return scripts().TextScript
  },
  prompt: chatPrompt,
  opening: chatOpening,
  conversation: ({ messages }) => ({ form: 'chat', messages: asList(messages) }),
  promptTokens: chatPromptTokens,
  attachments: chatAttachments,
  fillTexts: fillChatTexts,
  check: ({ model, reasoning_effort }) => checkEffort(model, reasoning_effort, 'reasoning_effort'),
  refers: ({ response_format }) => response_format?.type === 'json_schema',
  async resolve(request, answerContext) {
    const format = request.response_format
    if (format?.type === 'json_schema')
      await checkSchemaField(format.json_schema.schema ?? true, CHAT_SCHEMA_PARAM, answerContext)
    return request
  },
  generate: (request, options, call) => generateText(chatAnswerRequest(request), options, call),
  compose: composeChat,
  assembly: chatAssembly,
  wrongWith: chatProblem,
  scriptOf: chatScriptOf,
  events: chatEvents,
  replay: replayChat,
  addContext: addChatContext,
  inputTexts: chatInputTexts,
  outputTexts: chatOutputTexts,
  keep: (request, _, answerContext) => keepPrefixes(request, answerContext),
}
