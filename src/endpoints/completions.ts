// POST /v2/router/completions (the specification, "Create a legacy completion").
import { usageScriptOf } from '../answers/script-of.ts'
import { cutText, joinTokenChunks, type TextAnswer, type TextChunk, tokenChunks } from '../answers/text-answer.ts'
import { usageOf } from '../answers/usage.ts'
import { type AnswerAssembly, assembled } from '../contract/core/assembly.ts'
import type {
  AnswerContext,
  AttemptContext,
  FillText,
  Operation,
  RenderedAnswer,
  StreamRules,
} from '../contract/core/operation.ts'
import type { Usage } from '../contract/router/chat.ts'
import { Completion, CompletionRequest, CompletionScript, DEFAULT_MAX_TOKENS } from '../contract/router/completions.ts'
import { dataEvent, type StreamEvent } from '../lib/sse.ts'
import { asIndex, asObject, asText, type JsonObject, objectsIn } from '../lib/values.ts'
import { systemFingerprint } from './chat/chunks.ts'
import { choicesProblem, chunkProblem } from './chat/normalize.ts'
import { streamedOperation } from './common.ts'
import { type InputText, inputTextsOf, longestTokens, textsPrompt, totalTokens } from './texts.ts'

/** One choice of a legacy completion. */
type CompletionChoice = Completion['choices'][number]
/** Fields at the beginning of a response and of each of its chunks. */
type CompletionFrame = Omit<Completion, 'choices' | 'usage'>

/** A choice before it is serialized. */
interface CompletionParts {
  pieces: readonly TextChunk[]
  finish: CompletionChoice['finish_reason']
}

/** A choice with its text and finish reason, without log probabilities. */
const completionChoice = (
  index: number,
  text: string,
  finish: CompletionChoice['finish_reason'],
): CompletionChoice => ({
  index,
  text,
  logprobs: null,
  finish_reason: finish,
})

/**
 * The chunks of all choices, interleaved; each choice ends with a chunk without text. Every chunk carries the final
 * finish reason: strict clients reject null and a missing key, others keep the last value and read until `[DONE]`. So
 * no client ever reads a wrong reason.
 */
function completionChunks(
  frame: CompletionFrame,
  choices: readonly CompletionParts[],
  usage: Usage | undefined,
): StreamEvent[] {
  const queues = choices.map(({ pieces, finish }, index) =>
    [...pieces, { text: '', tokens: 0 }].map(({ text, tokens }): StreamEvent => {
      const data: Completion = { ...frame, choices: [completionChoice(index, text, finish)] }
      return dataEvent(data, { tokens: tokens || undefined })
    }),
  )
  const longest = Math.max(...queues.map((queue) => queue.length))
  const events = Array.from({ length: longest }, (_, step) => queues.flatMap((queue) => queue[step] ?? [])).flat()
  if (usage) events.push(dataEvent({ ...frame, choices: [], usage } satisfies Completion))
  return events
}

type OpenChoice = Omit<CompletionChoice, 'finish_reason'> & { finish_reason: string | null }

/** Whether chunks have the finish reason only at the end, as those of providers do. Generated ones repeat it. */
const isForeign = ({ model, system_fingerprint: own }: JsonObject): boolean => own !== systemFingerprint(String(model))

/** A generated chunk with its finish reason only at the end, as OpenAI sends it. */
function openaiChunk(data: JsonObject): JsonObject {
  if (isForeign(data)) return data
  const choices = objectsIn(data.choices)
  return {
    ...data,
    choices: choices.map((choice) => (choice.text === '' ? choice : { ...choice, finish_reason: null })),
  }
}

/** Assembles a completion from its chunks; an unfinished choice has no finish reason. */
function completionAssembly(): AnswerAssembly {
  let frame: JsonObject | undefined
  let foreign = false
  let usage: JsonObject | undefined
  // Choice numbers come from the provider, so they are keys here, never array indexes.
  const choices = new Map<number, OpenChoice>()
  return {
    add({ data }) {
      const chunk = normalizeCompletion(data)
      if (!frame) {
        frame = chunk.frame
        foreign = isForeign(frame)
      }
      usage = chunk.usage ?? usage
      for (const { index, text = '', finish } of chunk.choices) {
        const choice = choices.get(index) ?? { index, text: '', logprobs: null, finish_reason: null }
        choices.set(index, choice)
        choice.text += text
        if (finish !== undefined && (text === '' || foreign)) choice.finish_reason = finish
      }
    },
    whole() {
      if (!frame) return {}
      const inOrder = [...choices.values()].sort((a, b) => a.index - b.index)
      return { ...frame, choices: inOrder, ...(usage ? { usage } : {}) }
    },
  }
}

/**
 * Reads a completion or a chunk; invalid parts are left out. `frame` are all fields other than choices and usage; the
 * finish reason is undefined until it arrives.
 */
function normalizeCompletion(value: unknown) {
  const { choices, usage, ...frame } = asObject(value) ?? {}
  return {
    frame,
    choices: objectsIn(choices).map(({ index, text, finish_reason: finish }, position) => ({
      index: asIndex(index) ?? position,
      text: asText(text),
      finish: asText(finish) || undefined,
    })),
    usage: asObject(usage),
  }
}

/** Why a value is not a completion; undefined for a valid one. A filtered choice needs no text. */
const completionProblem = (value: unknown): string | undefined =>
  choicesProblem(value, normalizeCompletion(value).choices, { field: 'text', isIn: ({ text }) => text !== undefined })

/** The rules for a stream of completion chunks. */
const completionEvents: StreamRules = {
  wrongWith: chunkProblem,
  hasContent: (data) => normalizeCompletion(data).choices.some(({ text }) => Boolean(text)),
  asOpenai: openaiChunk,
  complete: (events) => completionProblem(assembled(completionAssembly(), events)) === undefined,
}

/** A stored response with a new id, whole or as chunks. */
function replayCompletion(
  request: CompletionRequest,
  stored: object,
  answerContext: AnswerContext,
): Pick<RenderedAnswer, 'body' | 'events'> {
  const named = { id: `cmpl-${answerContext.id}`, created: Math.floor(answerContext.now / 1000) }
  return {
    body: () => ({ ...stored, ...named }),
    events() {
      const { frame, choices, usage } = normalizeCompletion(stored)
      // A provider may have other finish reasons.
      const parts = choices.map(({ text = '', finish }) => ({
        pieces: tokenChunks(text),
        finish: finish as CompletionParts['finish'],
      }))
      const counts = request.stream_options?.include_usage ? (usage as Usage | undefined) : undefined
      return completionChunks({ ...frame, ...named } as unknown as CompletionFrame, parts, counts)
    },
  }
}

/** The texts of all choices. */
const completionOutputTexts = (answer: unknown): string[] =>
  normalizeCompletion(answer).choices.flatMap(({ text }) => text ?? [])

/** The script that reproduces a response: a text for each choice, which is one per prompt unless the call requested more. */
function completionScriptOf(answer: unknown): CompletionScript | undefined {
  if (completionProblem(answer) !== undefined) return undefined
  const { choices, usage } = normalizeCompletion(answer)
  const ordered = choices.toSorted((a, b) => a.index - b.index)
  const texts = ordered.map(({ text = '' }) => text)
  const reason = CompletionScript.shape.finish_reason.safeParse(ordered[0]?.finish).data
  const shared = ordered.every(({ finish }) => finish === reason)
  return {
    content: texts.length === 1 ? (texts[0] ?? '') : texts,
    ...(reason && reason !== 'stop' && shared && { finish_reason: reason }),
    ...usageScriptOf({ promptTokens: usage?.prompt_tokens, completionTokens: usage?.completion_tokens }),
  }
}

/** The operation "Create a legacy completion" of the specification. */
export const completions: Operation<CompletionRequest, CompletionScript> = {
  ...streamedOperation,
  name: 'completions',
  path: '/v2/router/completions',
  answerName: 'completion',
  summary: 'Create a legacy completion',
  description:
    'Continues one or more prompts, either complete or as a stream of chunks that ends with `[DONE]`. Without `max_tokens`, a text ends after 16 tokens.',
  examples: {
    prompt: { model: 'openai/gpt-3.5-turbo-instruct', prompt: 'Once upon a time', max_tokens: 64 },
    stream: {
      model: 'openai/gpt-3.5-turbo-instruct',
      prompt: ['Once upon a time', 'In a land far away'],
      echo: true,
      stream: true,
    },
  },
  request: CompletionRequest,
  response: Completion,
  chunk: Completion,
  script: CompletionScript,
  prompt: (request) => textsPrompt(readTexts(request)),
  promptTokens: (request, count) => longestTokens(readTexts(request), count),
  fillTexts,
  generate,
  compose,
  assembly: completionAssembly,
  wrongWith: completionProblem,
  scriptOf: completionScriptOf,
  events: completionEvents,
  replay: replayCompletion,
  outputTexts: completionOutputTexts,
  addContext: (request, context) => ({
    ...request,
    prompt: readTexts(request).map(({ text }) => `Use this context:\n\n${context}\n\n${text}`),
  }),
}

const readTexts = ({ prompt, model }: CompletionRequest): readonly InputText[] =>
  inputTextsOf({ input: prompt, field: 'prompt', model })

/** Only texts have variables; tokens stand for a final text. */
function fillTexts(request: CompletionRequest, fill: FillText): CompletionRequest {
  const { prompt } = request
  if (typeof prompt === 'string') return { ...request, prompt: fill(prompt, 'prompt') }
  if (typeof prompt[0] !== 'string') return request
  return { ...request, prompt: (prompt as string[]).map((text, index) => fill(text, `prompt[${index}]`)) }
}

function generate(request: CompletionRequest): CompletionScript {
  const continued = ({ text }: InputText) => {
    const end = text.length > 200 ? `...${text.slice(-200)}` : text
    return ` This is a generated continuation of the prompt, which ends with: ${JSON.stringify(end)}`
  }
  return { content: readTexts(request).map(continued) }
}

function compose(
  request: CompletionRequest,
  script: CompletionScript,
  { model, answerContext: { id, now } }: AttemptContext,
): RenderedAnswer {
  const prompts = readTexts(request)
  const n = request.n ?? 1
  const answers = answersOf(request, script, prompts.length)
  const usage = usageOf(
    { usage: script.usage },
    totalTokens(prompts),
    answers.flatMap((answer) => Array<TextAnswer>(n).fill(answer)),
  )
  const choices = answers.flatMap((answer, index) => {
    const prompt = prompts[index]?.text
    const echoed = request.echo && prompt ? [{ text: prompt, tokens: 0 }] : []
    const pieces = [...echoed, ...(answer.content ?? [])]
    // The schema of the script allows no other reason.
    return Array<CompletionParts>(n).fill({ pieces, finish: answer.finish as CompletionChoice['finish_reason'] })
  })
  const frame: CompletionFrame = {
    id: `cmpl-${id}`,
    object: 'text_completion',
    created: Math.floor(now / 1000),
    model,
    system_fingerprint: systemFingerprint(model),
  }
  return {
    usage,
    tokens: Math.max(0, ...answers.map((answer) => answer.tokens)),
    body: (): Completion => ({
      ...frame,
      choices: choices.map(({ pieces, finish }, index) => completionChoice(index, joinTokenChunks(pieces), finish)),
      usage,
    }),
    events: () => completionChunks(frame, choices, request.stream_options?.include_usage ? usage : undefined),
  }
}

/** One text for each prompt, cut to the limits of the request. */
function answersOf(request: CompletionRequest, script: CompletionScript, prompts: number): TextAnswer[] {
  const stop = typeof request.stop === 'string' ? [request.stop] : (request.stop ?? [])
  const limits = { maxTokens: request.max_tokens ?? DEFAULT_MAX_TOKENS, stop }
  const contents = typeof script.content === 'string' ? [script.content] : script.content
  const { finish_reason } = script
  const answers = contents.map((content) => cutText({ content, finish_reason }, limits))
  return Array.from({ length: prompts }, (_, index) => answers[Math.min(index, answers.length - 1)] as TextAnswer)
}
