// Answers of chat completions on the wire, whole and as chunks, and what legacy completions share with them.
import { z } from 'zod'
import { FinishReason } from './finish-reason.ts'

const integer = z.int().min(0)
/** Token counts of a chat or legacy completion. */
export const Usage = z.object({
  completion_tokens: integer.describe('Tokens of the answer.'),
  prompt_tokens: integer.describe('Tokens of the request.'),
  total_tokens: integer,
  prompt_tokens_details: z
    .object({
      cached_tokens: integer.describe('Tokens of the request that the provider had in its prompt cache.'),
      cache_creation_tokens: integer.describe('Tokens of the request that were put into the prompt cache.'),
      audio_tokens: integer.describe('Tokens of sound.'),
    })
    .describe('What of the request is counted apart.'),
  completion_tokens_details: z
    .object({
      reasoning_tokens: integer.describe('Tokens of reasoning.'),
      accepted_prediction_tokens: integer.describe('Tokens of a prediction that came true; 0 here.'),
      rejected_prediction_tokens: integer.describe('Tokens of a prediction that did not; 0 here.'),
      audio_tokens: integer.describe('Tokens of sound.'),
    })
    .describe('What of the answer is counted apart.'),
})
export type Usage = z.infer<typeof Usage>

const AlternativeLogprob = z.object({
  token: z.string().describe('Text of the token.'),
  logprob: z.number().describe('Its log probability; 0 is certain.'),
  bytes: z.array(z.int()).describe('The bytes of its text in UTF-8.').nullable(),
})
/** The log probability of one token, and of the likeliest ones at its place. */
export const TokenLogprob = AlternativeLogprob.extend({
  top_logprobs: z
    .array(AlternativeLogprob)
    .describe('The likeliest tokens at this position, as many as `top_logprobs` asked for.'),
})
export type TokenLogprob = z.infer<typeof TokenLogprob>
const Logprobs = z.object({
  content: z.array(TokenLogprob).describe('One entry for each token of the text.').nullable(),
  refusal: z.array(TokenLogprob).describe('One entry for each token of the refusal.').nullable(),
})

const thought_signature = z
  .string()
  .optional()
  .describe('Sent back with the call in a later request; of models that sign their thoughts.')
const redacted_reasoning = z
  .string()
  .optional()
  .describe('Reasoning that the provider hides; sent back as it is in a later call.')
const FunctionCall = z.object({
  name: z.string().describe('Name of the function, as the request has it.'),
  arguments: z
    .string()
    .describe('The arguments as JSON text, which a model may get wrong; in a stream the next piece.'),
})
const OlderCall = z.object({
  name: z.string().describe('Name of the function.'),
  arguments: z.string().describe('The arguments as JSON text.'),
})
const toolIndex = integer.describe('Which call of the answer it is, from 0.')
const callId = z.string().describe('Names the call; the message with its result has it as `tool_call_id`.')
const AnswerToolCall = z.discriminatedUnion('type', [
  z.object({
    index: toolIndex.optional(),
    id: callId,
    type: z.literal('function').describe('Whether a function or a custom tool is called.'),
    function: FunctionCall.describe('The function that is called.'),
    thought_signature,
  }),
  z.object({
    index: toolIndex.optional(),
    id: callId,
    type: z.literal('custom').describe('Whether a function or a custom tool is called.'),
    custom: z
      .object({
        name: z.string().describe('Name of the tool, as the request has it.'),
        input: z.string().describe('The text for the tool; in a stream the next piece.'),
      })
      .describe('The custom tool that is called.'),
  }),
])
/** One call of a tool in an answer. */
export type AnswerToolCall = z.infer<typeof AnswerToolCall>
const finishReason = FinishReason.describe(
  'Why it ends: `stop` by itself or at a stop sequence, `length` at the limit of tokens, `tool_calls` to have tools called, `content_filter` because the provider held it back; null in a stream until it ends.',
)
const frame = {
  created: z.int().describe('When the answer was made, in seconds since 1970.'),
  model: z.string().describe('The model that answered, as `<provider>/<model>`, which a fallback may have changed.'),
  system_fingerprint: z.string().describe('Names the configuration that answered: the same for the same model.'),
}

/** The whole answer. */
export const ChatCompletion = z.object({
  id: z.string().describe('Names this answer, beginning with `chatcmpl-`.'),
  ...frame,
  object: z.literal('chat.completion'),
  choices: z
    .array(
      z.object({
        index: integer.describe('Which answer of several it is, from 0.'),
        finish_reason: finishReason,
        message: z
          .object({
            role: z.literal('assistant'),
            content: z.string().describe('The text; null when tools are called instead.').nullable(),
            refusal: z.string().describe('Why the model declines, instead of a text.').nullable(),
            reasoning: z.string().describe('What the model thought before it answered.').optional(),
            reasoning_signature: z.string().optional().describe('Sent back with the reasoning in a later call.'),
            redacted_reasoning,
            tool_calls: z
              .array(AnswerToolCall)
              .describe('The tools that are to be called; the results come back in messages of the role `tool`.')
              .optional(),
            function_call: OlderCall.optional().describe('Instead of `tool_calls` when the call had `functions`.'),
            audio: z
              .object({
                id: z.string().describe('Names the spoken answer, so that a later message can refer to it.'),
                expires_at: z.int().describe('Unix time in seconds.'),
                data: z.string().describe('The sound in the format asked for, as base64.'),
                transcript: z.string().describe('What is said.'),
              })
              .describe('The spoken answer, with `modalities` that include `audio`.')
              .optional(),
          })
          .describe('The response.'),
        logprobs: Logprobs.describe('Log probabilities of the tokens, when `logprobs` asked for them.').nullable(),
      }),
    )
    .describe('The answers, `n` of them, in the order of `index`.'),
  usage: Usage,
})
export type ChatCompletion = z.infer<typeof ChatCompletion>

/** One chunk of a streamed answer. */
export const ChatChunk = z.object({
  id: z.string().describe('Names the answer that the chunk is of: the same in all of them.'),
  ...frame,
  object: z.literal('chat.completion.chunk'),
  choices: z
    .array(
      z.object({
        index: integer.describe('Which answer of several it is, from 0.'),
        finish_reason: finishReason.nullable(),
        delta: z
          .object({
            role: z.literal('assistant').describe('Whose message it is; only in the first chunk.').optional(),
            content: z.string().describe('The next piece of the text.').nullish(),
            refusal: z.string().describe('The next piece of the refusal.').nullish(),
            reasoning: z.string().describe('The next piece of what the model thinks.').optional(),
            reasoning_signature: z
              .string()
              .describe('The signature of the provider on the reasoning; send it back unchanged.')
              .optional(),
            redacted_reasoning,
            audio: z
              .object({
                id: z.string().describe('Names the spoken answer, so that a later message can refer to it.'),
                expires_at: z.int().describe('Until when it can be referred to, in seconds since 1970.').optional(),
                data: z.string().describe('The sound in base64, in the format that was asked for.').optional(),
                transcript: z.string().describe('What is said.').optional(),
              })
              .describe('The next piece of the spoken answer.')
              .optional(),
            tool_calls: z
              .array(
                z.object({
                  index: toolIndex,
                  id: callId.optional(),
                  type: z
                    .enum(['function', 'custom'])
                    .describe('Whether a function or a custom tool is called.')
                    .optional(),
                  function: z
                    .object({
                      name: z.string().describe('Name of the function, as the request has it.').optional(),
                      arguments: z
                        .string()
                        .describe(
                          'The arguments as JSON text, which a model may get wrong; in a stream the next piece.',
                        ),
                    })
                    .describe('The function that is called.')
                    .optional(),
                  thought_signature,
                  custom: z
                    .object({
                      name: z.string().describe('Name of the tool, as the request has it.').optional(),
                      input: z.string().describe('The text for the tool; in a stream the next piece.'),
                    })
                    .describe('The custom tool that is called.')
                    .optional(),
                }),
              )
              .describe('Pieces of the calls, by `index`.')
              .optional(),
            function_call: z
              .object({
                name: z.string().describe('Name of the function.').optional(),
                arguments: z.string().describe('The arguments as JSON text.'),
              })
              .describe('A piece of the call, in the older form with `functions`.')
              .optional(),
          })
          .describe('What is new of the answer since the last chunk.'),
        logprobs: Logprobs.describe('Log probabilities of the tokens, when `logprobs` asked for them.').nullable(),
      }),
    )
    .describe('The answers, `n` of them, in the order of `index`.'),
  usage: Usage.nullish(),
})
export type ChatChunk = z.infer<typeof ChatChunk>
