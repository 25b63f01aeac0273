// POST /v2/router/chat/completions (SPEC.md, "Create a chat completion"; WIRE.md, section 2).
import { countCached, cutText, type TextAnswer, textOf, usageOf } from '../backends/fixture/text-answer.ts'
import { ChatChunk, ChatCompletion, ChatRequest, type Message } from '../contract/chat.ts'
import type { Composed, Making, Operation, Prompt } from '../contract/operation.ts'
import { TextScript } from '../contract/script.ts'
import { fingerprint } from '../lib/ids.ts'
import type { StreamEvent } from '../lib/sse.ts'

type Choice = ChatCompletion['choices'][number]
type Delta = ChatChunk['choices'][number]['delta']

export const chatCompletions: Operation<ChatRequest, TextScript> = {
  name: 'chat.completions',
  path: '/v2/router/chat/completions',
  tag: 'Router',
  summary: 'Create a chat completion',
  description:
    'Answers a conversation with one or more choices, whole or as a stream of chunks that ends with `[DONE]`.',
  examples: {
    greeting: { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Hello!' }] },
    stream: {
      model: 'openai/gpt-4o-mini',
      messages: [{ role: 'user', content: 'Tell me a long story' }],
      stream: true,
      stream_options: { include_usage: true },
    },
  },
  body: 'json',
  request: ChatRequest,
  response: ChatCompletion,
  chunk: ChatChunk,
  script: TextScript,
  model: (request) => request.model,
  streams: (request) => request.stream === true,
  prompt,
  promptTokens,
  fillTexts,
  synthesize,
  compose,
  assemble,
}

/** All text of a message's content; parts that are not text have none. */
function contentText(content: Message['content']): string {
  if (content == null) return ''
  if (typeof content === 'string') return content
  return content.map((part) => ('text' in part && typeof part.text === 'string' ? part.text : '')).join('')
}

function prompt({ messages, tools }: ChatRequest): Prompt {
  const users = messages.filter((message) => message.role === 'user')
  const instructions = messages.filter((message) => message.role === 'system' || message.role === 'developer')
  return {
    system: instructions.map((message) => contentText(message.content)).join('\n'),
    user: contentText(users.at(-1)?.content),
    turn: users.length,
    tools: (tools ?? []).map((tool) => tool.function.name),
    toolResult: messages.at(-1)?.role === 'tool',
  }
}

function fillTexts(request: ChatRequest, fill: (text: string) => string): ChatRequest {
  const messages = request.messages.map((message) => {
    const { content } = message
    if (typeof content === 'string') return { ...message, content: fill(content) }
    if (!Array.isArray(content)) return message
    const parts = content.map((part) => (part.type === 'text' ? { ...part, text: fill(part.text as string) } : part))
    return { ...message, content: parts } as Message
  })
  return { ...request, messages }
}

function synthesize(request: ChatRequest): TextScript {
  const { user, turn } = prompt(request)
  const about = user.length > 200 ? `${user.slice(0, 200)}...` : user
  return { content: `This is a synthesized answer to message ${turn} of the conversation: ${JSON.stringify(about)}` }
}

// Counts of OpenAI's cookbook: 3 tokens frame every message, 1 a name, and 3 open the answer.
const PER_MESSAGE = 3
const PER_NAME = 1
const OPENING = 3
// What an image costs without knowing its size: OpenAI's low-detail price, and one 512-pixel tile at high detail.
const IMAGE_TOKENS = { low: 85, high: 255, auto: 255 }

function messageTokens(message: Message): number {
  let tokens = PER_MESSAGE + countCached(message.role) + countCached(contentText(message.content))
  if (message.name) tokens += PER_NAME + countCached(message.name)
  if (message.role === 'assistant') {
    for (const call of message.tool_calls ?? [])
      tokens += countCached(`${call.function.name}${call.function.arguments}`)
  }
  if (message.role === 'user' && Array.isArray(message.content)) {
    for (const part of message.content) {
      if (part.type === 'image_url') tokens += IMAGE_TOKENS[part.image_url.detail ?? 'auto']
    }
  }
  return tokens
}

function promptTokens({ messages, tools }: ChatRequest): number {
  const spoken = messages.reduce((total, message) => total + messageTokens(message), OPENING)
  return tools && tools.length > 0 ? spoken + countCached(JSON.stringify(tools)) : spoken
}

function compose(request: ChatRequest, script: TextScript, making: Making & { model: string }): Composed {
  const stop = typeof request.stop === 'string' ? [request.stop] : (request.stop ?? [])
  const maxTokens = request.max_completion_tokens ?? request.max_tokens ?? undefined
  const answer = cutText(script, { maxTokens, stop })
  const answers = Array.from({ length: request.n ?? 1 }, () => answer)
  const usage = usageOf(script, promptTokens(request), answers)
  const frame = {
    id: `chatcmpl-${making.id}`,
    created: Math.floor(making.now / 1000),
    model: making.model,
    system_fingerprint: `fp_${fingerprint(making.model).slice(0, 10)}`,
  }
  const callId = (choice: number, call: number, given: string | undefined) =>
    given ?? `call_${fingerprint(`${making.id}:${choice}:${call}`)}`
  return {
    usage,
    tokens: answer.tokens,
    body: () => ({
      ...frame,
      object: 'chat.completion',
      choices: answers.map((one, index) => wholeChoice(one, index, callId)),
      usage,
    }),
    events: () => {
      const chunk = (
        choices: ChatChunk['choices'],
        tokens?: number,
        total: typeof usage | null = null,
      ): StreamEvent => ({
        data: {
          ...frame,
          object: 'chat.completion.chunk',
          choices,
          ...(request.stream_options?.include_usage ? { usage: total } : {}),
        },
        ...(tokens ? { tokens } : {}),
      })
      const perChoice = answers.map((one, index) => deltas(one, index, callId))
      const events: StreamEvent[] = []
      for (let step = 0; step < (perChoice[0]?.length ?? 0); step++) {
        for (const [index, steps] of perChoice.entries()) {
          const { delta = {}, finish = null, tokens } = steps[step] ?? {}
          events.push(chunk([{ index, delta, logprobs: null, finish_reason: finish }], tokens))
        }
      }
      if (request.stream_options?.include_usage) events.push(chunk([], undefined, usage))
      return events
    },
  }
}

type CallId = (choice: number, call: number, given: string | undefined) => string

function wholeChoice(answer: TextAnswer, index: number, callId: CallId): Choice {
  return {
    index,
    message: {
      role: 'assistant',
      content: answer.content && textOf(answer.content),
      refusal: answer.refusal && textOf(answer.refusal),
      ...(answer.reasoning.length > 0 ? { reasoning: textOf(answer.reasoning) } : {}),
      ...(answer.toolCalls.length > 0
        ? {
            tool_calls: answer.toolCalls.map((call, number) => ({
              index: number,
              id: callId(index, number, call.id),
              type: 'function' as const,
              function: { name: call.name, arguments: textOf(call.arguments) },
            })),
          }
        : {}),
    },
    logprobs: null,
    finish_reason: answer.finish,
  }
}

interface Step {
  delta?: Delta
  finish?: Choice['finish_reason']
  tokens?: number
}

/** The steps of one streamed choice: role, reasoning, text, tool calls, finish reason. */
function deltas(answer: TextAnswer, choice: number, callId: CallId): Step[] {
  const steps: Step[] = [{ delta: { role: 'assistant', content: answer.content ? '' : null, refusal: null } }]
  for (const { text, tokens } of answer.reasoning) steps.push({ delta: { reasoning: text }, tokens })
  for (const { text, tokens } of answer.content ?? []) steps.push({ delta: { content: text }, tokens })
  for (const { text, tokens } of answer.refusal ?? []) steps.push({ delta: { refusal: text }, tokens })
  for (const [index, call] of answer.toolCalls.entries()) {
    const head = { index, id: callId(choice, index, call.id), type: 'function' as const }
    steps.push({ delta: { tool_calls: [{ ...head, function: { name: call.name, arguments: '' } }] } })
    for (const { text, tokens } of call.arguments) {
      steps.push({ delta: { tool_calls: [{ index, function: { arguments: text } }] }, tokens })
    }
  }
  steps.push({ delta: {}, finish: answer.finish })
  return steps
}

/** The completion that a client has put together after these chunks. */
function assemble(events: readonly StreamEvent[]): object {
  const chunks = events.map((event) => event.data as ChatChunk)
  const first = chunks[0]
  if (!first) return {}
  const choices: (Omit<Choice, 'finish_reason'> & { finish_reason: Choice['finish_reason'] | null })[] = []
  for (const { index, delta, finish_reason } of chunks.flatMap((chunk) => chunk.choices)) {
    const choice = (choices[index] ??= {
      index,
      message: { role: 'assistant', content: null, refusal: null },
      logprobs: null,
      finish_reason: null,
    })
    const { message } = choice
    for (const field of ['content', 'refusal', 'reasoning'] as const) {
      const piece = delta[field]
      if (piece != null) message[field] = (message[field] ?? '') + piece
    }
    for (const piece of delta.tool_calls ?? []) {
      const calls = (message.tool_calls ??= [])
      const call = (calls[piece.index] ??= {
        index: piece.index,
        id: piece.id ?? '',
        type: 'function',
        function: { name: piece.function.name ?? '', arguments: '' },
      })
      call.function.arguments += piece.function.arguments
    }
    choice.finish_reason = finish_reason ?? choice.finish_reason
  }
  const { usage: _, ...frame } = first
  const usage = chunks.findLast((chunk) => chunk.usage)?.usage
  return { ...frame, object: 'chat.completion', choices, ...(usage ? { usage } : {}) }
}
