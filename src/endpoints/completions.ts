// POST /v2/router/completions (SPEC.md, "Create a legacy completion"; WIRE.md, section 2).
import { cutText, type Piece, type TextAnswer, textOf, usageOf } from '../backends/fixture/text-answer.ts'
import { Completion, CompletionRequest, CompletionScript } from '../contract/completions.ts'
import type { Composed, Making, Operation } from '../contract/operation.ts'
import { fingerprint } from '../lib/ids.ts'
import type { StreamEvent } from '../lib/sse.ts'
import { checkTokens, longestOf, promptOf, type Text, textsOf, tokensOf } from './texts.ts'

type Choice = Completion['choices'][number]

export const completions: Operation<CompletionRequest, CompletionScript> = {
  name: 'completions',
  path: '/v2/router/completions',
  tag: 'Router',
  summary: 'Create a legacy completion',
  description:
    'Continues one or more prompts, whole or as a stream of chunks that ends with `[DONE]`. Without `max_tokens` a text ends after 16 tokens.',
  examples: {
    prompt: { model: 'openai/gpt-3.5-turbo-instruct', prompt: 'Once upon a time', max_tokens: 64 },
    stream: {
      model: 'openai/gpt-3.5-turbo-instruct',
      prompt: ['Once upon a time', 'In a land far away'],
      echo: true,
      stream: true,
    },
  },
  body: 'json',
  request: CompletionRequest,
  response: Completion,
  chunk: Completion,
  script: CompletionScript,
  model: (request) => request.model,
  streams: (request) => request.stream === true,
  prompt: (request) => promptOf(request.prompt, request.model),
  promptTokens: (request) => longestOf(textsOf(request.prompt, request.model)),
  fillTexts,
  resolve(request) {
    checkTokens(request.prompt, request.model, 'prompt')
    return request
  },
  synthesize,
  compose,
  assemble,
}

/** Only texts have variables: tokens stand for a text that is final. */
function fillTexts(request: CompletionRequest, fill: (text: string) => string): CompletionRequest {
  const { prompt } = request
  if (typeof prompt === 'string') return { ...request, prompt: fill(prompt) }
  if (typeof prompt[0] !== 'string') return request
  return { ...request, prompt: (prompt as string[]).map(fill) }
}

function synthesize({ prompt, model }: CompletionRequest): CompletionScript {
  const continued = ({ text }: Text) => {
    const end = text.length > 200 ? `...${text.slice(-200)}` : text
    return ` This is a synthesized continuation of the prompt, which ends with: ${JSON.stringify(end)}`
  }
  return { content: textsOf(prompt, model).map(continued) }
}

const DEFAULT_MAX_TOKENS = 16

/** One choice before it is put on the wire. */
interface Written {
  pieces: Piece[]
  finish: Choice['finish_reason']
}

function compose(request: CompletionRequest, script: CompletionScript, making: Making & { model: string }): Composed {
  const prompts = textsOf(request.prompt, request.model)
  const n = request.n ?? 1
  const answers = answersOf(request, script, prompts.length)
  const usage = usageOf(
    { usage: script.usage },
    tokensOf(prompts),
    answers.flatMap((answer) => Array<TextAnswer>(n).fill(answer)),
  )
  const choices = answers.flatMap((answer, index) => {
    const prompt = prompts[index]?.text
    const echoed = request.echo && prompt ? [{ text: prompt, tokens: 0 }] : []
    const pieces = [...echoed, ...(answer.content ?? [])]
    // The script's schema allows no other reason.
    return Array<Written>(n).fill({ pieces, finish: answer.finish as Choice['finish_reason'] })
  })
  const frame = {
    id: `cmpl-${making.id}`,
    object: 'text_completion' as const,
    created: Math.floor(making.now / 1000),
    model: making.model,
    system_fingerprint: `fp_${fingerprint(making.model).slice(0, 10)}`,
  }
  const choice = (index: number, text: string, finish: Choice['finish_reason']): Choice => ({
    index,
    text,
    logprobs: null,
    finish_reason: finish,
  })
  const body = (): Completion => ({
    ...frame,
    choices: choices.map(({ pieces, finish }, index) => choice(index, textOf(pieces), finish)),
    usage,
  })
  return {
    usage,
    tokens: Math.max(0, ...answers.map((answer) => answer.tokens)),
    body,
    events: () => {
      const events = steps(choices).map(({ index, text, tokens, finish }): StreamEvent => {
        const data: Completion = { ...frame, choices: [choice(index, text, finish)] }
        return { data, ...(tokens ? { tokens } : {}) }
      })
      if (request.stream_options?.include_usage) events.push({ data: { ...frame, choices: [], usage } })
      return events
    },
  }
}

/** One answer for each prompt, all cut to the limits of the request. */
function answersOf(request: CompletionRequest, script: CompletionScript, prompts: number): TextAnswer[] {
  const stop = typeof request.stop === 'string' ? [request.stop] : (request.stop ?? [])
  const limits = { maxTokens: request.max_tokens ?? DEFAULT_MAX_TOKENS, stop }
  const contents = typeof script.content === 'string' ? [script.content] : script.content
  const { finish_reason } = script
  const answers = contents.map((content) => cutText({ content, finish_reason }, limits))
  return Array.from({ length: prompts }, (_, index) => answers[Math.min(index, answers.length - 1)] as TextAnswer)
}

interface Step extends Piece {
  index: number
  finish: Choice['finish_reason']
}

/**
 * The chunks of all choices in turn; each choice is closed by a chunk without text. Every chunk carries the reason with which
 * its choice will end: a strict client throws on null and on a missing key, while the others keep the reason that came last
 * and go on reading until `[DONE]`. With the true reason throughout, no client ever reads a wrong one.
 */
function steps(choices: readonly Written[]): Step[] {
  const queues = choices.map(({ pieces, finish }, index) =>
    [...pieces, { text: '', tokens: 0 }].map((piece) => ({ ...piece, index, finish })),
  )
  const longest = Math.max(...queues.map((queue) => queue.length))
  return Array.from({ length: longest }, (_, step) => queues.flatMap((queue) => queue[step] ?? [])).flat()
}

/** The completion that a client has put together after these chunks; a choice that was not closed has no reason. */
function assemble(events: readonly StreamEvent[]): object {
  const chunks = events.map((event) => event.data as Completion)
  const first = chunks[0]
  if (!first) return {}
  const choices: (Omit<Choice, 'finish_reason'> & { finish_reason: Choice['finish_reason'] | null })[] = []
  for (const { index, text, finish_reason } of chunks.flatMap((chunk) => chunk.choices)) {
    const choice = (choices[index] ??= { index, text: '', logprobs: null, finish_reason: null })
    choice.text += text
    if (text === '') choice.finish_reason = finish_reason
  }
  const { usage: _, ...frame } = first
  const usage = chunks.at(-1)?.usage
  return { ...frame, choices, ...(usage ? { usage } : {}) }
}
