// POST /v2/router/completions (the specification, "Create a legacy completion").
import { cutText, joinTokenChunks, type TextAnswer } from '../answers/text-answer.ts'
import { usageOf } from '../answers/usage.ts'
import type { AttemptContext, FillText, Operation, RenderedAnswer } from '../contract/core/operation.ts'
import { Completion, CompletionRequest, CompletionScript, DEFAULT_MAX_TOKENS } from '../contract/router/completions.ts'
import { systemFingerprint } from './chat/chunks.ts'
import { streamedOperation } from './common.ts'
import {
  type CompletionChoice,
  type CompletionFrame,
  type CompletionParts,
  completionAssembly,
  completionChoice,
  completionChunks,
  completionEvents,
  completionOutputTexts,
  completionProblem,
  completionScriptOf,
  replayCompletion,
} from './completions/chunks.ts'
import { type InputText, inputTextsOf, longestTokens, textsPrompt, totalTokens } from './texts.ts'

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

function compose(request: CompletionRequest, script: CompletionScript, answerContext: AttemptContext): RenderedAnswer {
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
    id: `cmpl-${answerContext.id}`,
    object: 'text_completion',
    created: Math.floor(answerContext.now / 1000),
    model: answerContext.model,
    system_fingerprint: systemFingerprint(answerContext.model),
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
