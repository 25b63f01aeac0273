// An image answer as the strictest known client parses it: enums are closed and null is not absent.
import { z } from 'zod'

export const StrictImages = z.object({
  created: z.number(),
  data: z.array(
    z.object({
      revised_prompt: z.string().nullish(),
      b64_json: z.string().optional(),
      url: z.string().optional(),
    }),
  ),
  usage: z
    .object({
      input_tokens: z.number().optional(),
      input_tokens_details: z.object({ text_tokens: z.number().optional(), image_tokens: z.number().optional() }),
      output_tokens: z.number().optional(),
      total_tokens: z.number().optional(),
    })
    .optional(),
})
