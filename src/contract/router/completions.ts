// Legacy completions on the wire, and their fixture replies.
import { z } from 'zod'
import { describedList } from '../core/described.ts'
import { textsSchema } from '../core/texts.ts'
import { Usage } from './chat.ts'
import { TextScript } from './script.ts'
import {
  Metadata,
  ModelId,
  ModelSeed,
  PromptServiceOptions,
  promptFields,
  Routing,
  SamplingFields,
  StreamOptions,
  Thinking,
} from './shared.ts'

const penalty = z.number().min(-2).max(2).nullish().meta({ default: 0 })
/** Default number of tokens of a choice, as of the models of this operation. */
export const DEFAULT_MAX_TOKENS = 16
/** Maximum number of choices of one call, over all of its prompts. */
const MAX_CHOICES = 2048

/** The body of `POST /v2/router/completions`; unknown fields are kept. */
export const CompletionRequest = z
  .looseObject({
    model: ModelId.meta({ examples: ['openai/gpt-3.5-turbo-instruct'] }),
    prompt: textsSchema(0).describe(
      'A string, up to 2048 strings, or their tokens (cl100k or o200k, depending on the model).',
    ),
    echo: z.boolean().nullish().describe('Whether to prepend the prompt to each choice.').meta({ default: false }),
    frequency_penalty: penalty.describe(
      'Positive values reduce the probability of tokens in proportion to their frequency. Default 0.',
    ),
    presence_penalty: penalty.describe(
      'Positive values reduce the probability of tokens that already occurred. Default 0.',
    ),
    max_tokens: z
      .int()
      .min(0)
      .nullish()
      .describe('Maximum number of generated tokens per choice.')
      .meta({ default: DEFAULT_MAX_TOKENS }),
    seed: ModelSeed.describe(
      'Makes responses of a real model repeatable, as far as the provider supports it. Fixtures are always repeatable.',
    ).nullish(),
    stop: z
      .union([z.string(), z.array(z.string()).max(4)])
      .nullish()
      .describe('Up to 4 sequences that end the text. They are not included in it.'),
    ...SamplingFields,
    n: z.int().min(1).max(128).nullish().describe('Number of choices per prompt.').meta({ default: 1 }),
    user: z.string().nullish().describe('Identifier of the end user.'),
    thinking: Thinking.nullish(),
    metadata: Metadata.nullish(),
    ...promptFields('the prompt'),
    ...Routing,
    svc: PromptServiceOptions.nullish(),
    stream: z.boolean().nullish().default(false),
    stream_options: StreamOptions,
  })
  .superRefine((body, context) => {
    const refuse = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message })
    if (body.stream_options != null && body.stream !== true) refuse('stream_options', "needs 'stream' to be true")
    const choices = promptCount(body.prompt) * (body.n ?? 1)
    if (choices > MAX_CHOICES) refuse('n', `must give at most ${MAX_CHOICES} choices over all prompts`)
  })
export type CompletionRequest = z.infer<typeof CompletionRequest>

const promptCount = (prompt: unknown): number =>
  Array.isArray(prompt) && typeof prompt[0] !== 'number' ? prompt.length : 1

/** Why a text ended. Strict clients accept no other value, and never null. */
const FinishReason = z.enum(['stop', 'length', 'content_filter', 'tool_calls'])

/** The response, and one chunk of it when streamed. Choices are ordered by prompt, then by number. */
export const Completion = z.object({
  id: z.string().describe('Id of the response, with the prefix `cmpl-`.'),
  object: z.literal('text_completion'),
  created: z.int().describe('Unix time in seconds.'),
  model: z.string().describe('The model that responded, as `<provider>/<model>`. It can be a fallback.'),
  system_fingerprint: z.string().describe('Fingerprint of the backend configuration. The same for the same model.'),
  choices: describedList('The `n` choices, ordered by `index`.', {
    index: z.int().min(0).describe('Index of the choice, from 0.'),
    text: z.string().describe('The text that follows the prompt.'),
    logprobs: z.null().describe('Log probabilities of the tokens. Only with `logprobs`.'),
    finish_reason: FinishReason.describe(
      'Why the choice ended: `stop` (natural end or stop sequence), `length` (token limit), `tool_calls` (tools to call), or `content_filter` (blocked by the provider). Null in a stream until the end.',
    ),
  }),
  usage: Usage.optional(),
})
export type Completion = z.infer<typeof Completion>

const { content, usage, timing } = TextScript.shape

/** A legacy completion as a fixture writes it. */
export const CompletionScript = z.strictObject({
  content: z
    .union([content.unwrap(), z.array(z.string()).min(1)])
    .describe('The text; a list has one for each prompt, the last one repeats.'),
  finish_reason: FinishReason.optional().describe('Default: derived from the reply.'),
  usage,
  timing,
})
export type CompletionScript = z.infer<typeof CompletionScript>
