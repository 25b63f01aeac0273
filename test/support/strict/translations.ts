// A translation answer as the strictest known client parses it: an object with the text, one with everything, or a string.
import { z } from 'zod'

const Result = z.union([
  z.strictObject({ text: z.string() }),
  z.object({
    task: z.string().optional(),
    language: z.string().optional(),
    duration: z.number().optional(),
    text: z.string(),
    words: z
      .array(
        z.object({ word: z.string().optional(), start: z.number().optional(), end: z.number().optional() }).loose(),
      )
      .optional(),
    segments: z
      .array(
        z
          .object({
            id: z.number(),
            seek: z.number(),
            start: z.number(),
            end: z.number(),
            text: z.string(),
            tokens: z.array(z.number()),
            temperature: z.number(),
            avg_logprob: z.number(),
            compression_ratio: z.number(),
            no_speech_prob: z.number(),
          })
          .loose(),
      )
      .optional(),
  }),
  z.string(),
])

/** The answer as such a client gives it on; throws where the client would. */
export const strictTranslation = (value: unknown) => Result.parse(value)
