// Request shapes that the router operations share (the specification, "Shared request structures"), with their limits and defaults.
import { z } from 'zod'
import { describedLoose } from '../core/described.ts'
import { MAX_METADATA_PAIRS, rules } from '../core/rules.ts'
import { FilterBy } from '../workspace/filter.ts'

/**
 * `<provider>/<model>`. Whether the provider exists is checked later, with its own error.
 * @example
 * ModelId.parse('openai/gpt-4o') // => 'openai/gpt-4o'
 * ModelId.parse('gpt-4o') // throws must be '<provider>/<model>'
 */
export const ModelId = z
  .string()
  .regex(/^[^/\s]+\/\S+$/, { error: "must be '<provider>/<model>', such as 'openai/gpt-4o'" })
  .describe('The model, as `<provider>/<model>`.')
  .meta({ examples: ['openai/gpt-4o'] })

const SEED_BITS = 63
/** Clients may send 64 bits; a JSON number keeps the first 53. */
export const ModelSeed = z
  .number()
  .min(-(2 ** SEED_BITS))
  .max(2 ** SEED_BITS)
  .refine(rules.isInteger, 'must be an integer')
  .meta({ type: 'integer' })

/** The `fallbacks` of a request: models that are tried in order after the primary one. */
export const Fallbacks = z
  .array(z.looseObject({ model: ModelId }))
  .describe('Models to try in order if the primary model fails.')
/** The `retry` of a request: 1 to 5 extra attempts, and the status codes that are retried (default 429). */
export const Retry = describedLoose('When and how often to retry a failed attempt.', {
  count: z.int().min(1).max(5).optional().describe('Maximum number of retries.').meta({ default: 3 }),
  on_codes: z
    .array(z.int().min(100).max(599))
    .optional()
    .describe('Status codes to retry.')
    .meta({ default: [429] }),
})
/** The `load_balancer` of a request: models with weights from 0.001 to 1 (default 0.5). */
export const LoadBalancer = describedLoose('Distributes calls over models by weight.', {
  type: z.literal('weight_based'),
  models: z
    .array(
      z.looseObject({
        model: ModelId,
        weight: z.number().min(0.001).max(1).default(0.5).describe('Weight: share of the calls.'),
      }),
    )
    .min(1)
    .describe('The models and their weights. The `model` of the request is ignored.'),
})
/** The `cache` of a request: its `ttl` is 1 to 259200 seconds (default 1800). */
export const Cache = describedLoose('Response cache: identical calls get a stored response.', {
  type: z.literal('exact_match'),
  ttl: z
    .int()
    .min(1)
    .max(259_200)
    .optional()
    .describe('Lifetime of a stored response in seconds.')
    .meta({ default: 1800 }),
})
/** The `timeout` of a request: the limit of one attempt in milliseconds. */
export const Timeout = z
  .looseObject({ call_timeout: z.int().min(1).describe('Timeout of an attempt in milliseconds.') })
  .describe('Time limit of one attempt.')
/** The `thinking` of a request: disabled, adaptive, or enabled with a token budget. */
export const Thinking = z
  .discriminatedUnion('type', [
    z.looseObject({ type: z.literal('disabled') }),
    z.looseObject({ type: z.literal('adaptive') }),
    z.looseObject({
      type: z.literal('enabled'),
      budget_tokens: z.int().min(1).describe('Maximum number of reasoning tokens.'),
      thinking_level: z.enum(['low', 'medium', 'high']).describe('Reasoning effort.').optional(),
    }),
  ])
  .describe('Whether and how long the model reasons before it responds.')
/** The `reasoning_effort` of a request; the accepted values depend on the model. */
export const ReasoningEffort = z
  .enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh'])
  .describe('Reasoning effort. The accepted values depend on the model.')
export type ReasoningEffort = z.infer<typeof ReasoningEffort>
/** The `guardrails` of a request: which checks run on the input and the output. */
export const Guardrails = z
  .array(
    z.looseObject({
      id: z.string().min(1).describe('A built-in guardrail, or an evaluator of the workspace by key or id.'),
      execute_on: z.enum(['input', 'output']).describe('Whether it checks the input or the output of the model.'),
    }),
  )
  .describe(
    'Checks of the input or the output. Built in: `svc_pii_detection`, `svc_sexual_moderation`, `svc_harmful_moderation`.',
  )
/** The `identity` of a request: the end user on whose behalf the call is made. */
export const Identity = describedLoose('The end user on whose behalf the call is made.', {
  id: z.string().min(1).describe("The person's id in your system."),
  display_name: z.string().describe("The person's name.").optional(),
  email: z.email({ error: 'must be an e-mail address' }).optional(),
  metadata: z.array(z.record(z.string(), z.unknown())).describe('Custom metadata about the person.').optional(),
  logo_url: z.string().describe("URL of the person's avatar.").optional(),
  tags: z.array(z.string()).describe('Tags of the person.').optional(),
})
/** The `thread` of a request, by which traces are grouped. */
export const Thread = describedLoose('Groups related calls.', {
  id: z.string().min(1).describe('Id of the thread. Traces group calls with the same id.'),
  tags: z.array(z.string()).describe('Tags of the thread.').optional(),
})
/** How chunks of a knowledge base are scored. */
export const SearchType = z
  .enum(['vector_search', 'keyword_search', 'hybrid_search'])
  .describe(
    'How chunks are scored, from 0 to 1: by vector cosine, by words (BM25, scaled so that the best match is 1), or by the mean of both.',
  )
/** The `knowledge_bases` of a request, whose best chunks are inserted before the messages. */
export const KnowledgeBases = z
  .array(
    z.looseObject({
      knowledge_id: z.string().min(1),
      top_k: z
        .int()
        .min(1)
        .max(100)
        .optional()
        .describe('Maximum number of chunks. Default: the setting of the knowledge base, or 5.'),
      threshold: z
        .number()
        .min(0)
        .max(1)
        .optional()
        .describe('Minimum score of a chunk. Default: the setting of the knowledge base, or 0.'),
      search_type: SearchType.optional(),
      filter_by: FilterBy.optional(),
      query: z.string().min(1).optional().describe('Search query. Default: the last user message.'),
    }),
  )
  .describe('Knowledge bases whose matching chunks are inserted before the messages.')
/** The `metadata` of a request: at most 16 pairs, keys up to 64 and values up to 512 characters. */
export const Metadata = z
  .record(z.string().max(64), z.string().max(512))
  .refine(rules.hasFewPairs, { error: `must have at most ${MAX_METADATA_PAIRS} pairs` })
  .meta({ maxProperties: MAX_METADATA_PAIRS })
  .describe('At most 16 pairs, stored with the trace. Keys have up to 64 characters, values up to 512.')

/** The `temperature` and `top_p` of a request. */
export const SamplingFields = {
  temperature: z
    .number()
    .min(0)
    .max(2)
    .nullish()
    .meta({ default: 1 })
    .describe('Sampling temperature: 0 is the least random.'),
  top_p: z
    .number()
    .min(0)
    .max(1)
    .nullish()
    .meta({ default: 1 })
    .describe('Nucleus sampling: only the most likely tokens with this total probability are considered.'),
}
/** The `stream_options` of a chat or legacy completion. */
export const StreamOptions = z
  .looseObject({ include_usage: z.boolean().describe('Whether a final chunk contains the token usage.').nullish() })
  .nullish()
  .describe('Only with `stream: true`.')

const Inputs = z
  .union([
    z.record(z.string(), z.unknown()),
    z.array(
      z.looseObject({
        key: z.string().describe('Name of the variable.'),
        value: z.unknown().describe('Value of the variable: any JSON value.').optional(),
        is_pii: z.boolean().describe('Whether the value is personal data. Understudy does not mask it.').optional(),
      }),
    ),
  ])
  .describe('Deprecated. Use `variables`.')
/** The deprecated `inputs` of a request: values of template variables, as an object or a list. */
export type Inputs = z.infer<typeof Inputs>

/** The template syntax: `{{name}}` (text), Jinja or Mustache. */
export const TemplateEngine = z
  .enum(['text', 'jinja', 'mustache'])
  .describe('Template syntax of the variables. Default: text.')
export type TemplateEngine = z.infer<typeof TemplateEngine>

const routing = {
  name: z.string().nullish().describe('Display name of the trace.'),
  fallbacks: Fallbacks.nullish(),
  retry: Retry.nullish(),
  load_balancer: LoadBalancer.nullish(),
  timeout: Timeout.nullish(),
}
const who = {
  identity: Identity.nullish(),
  contact: Identity.nullish().meta({ deprecated: true }),
  thread: Thread.nullish(),
}

/** Routing fields at the top level of every router operation. */
export const Routing = { ...routing, cache: Cache.nullish() }

const serviceOptions = <Shape extends z.ZodRawShape>(shape: Shape) =>
  describedLoose('Service options. The same fields at the top level take precedence.', shape)
/** The service options of image and embedding calls. */
export const ServiceOptions = serviceOptions({ ...Routing, ...who })
/** The service options of audio calls. */
export const ServiceOptionsUncached = serviceOptions({ ...routing, ...who })
/** Who calls, and the values for templates in `where`. */
export const promptFields = (where: string) => ({
  identity: Identity.nullish(),
  thread: Thread.nullish(),
  variables: z.record(z.string(), z.unknown()).nullish().describe(`Values of \`{{name}}\` in ${where}.`),
  template_engine: TemplateEngine.nullish(),
})
const about = { metadata: Metadata.nullish(), identity: Identity.nullish(), thread: Thread.nullish() }
/** The optional fields of every call. */
export const CallFields = { ...about, ...Routing, svc: ServiceOptions.nullish() }
/** The same for audio calls. */
export const CallFieldsUncached = { ...about, ...routing, svc: ServiceOptionsUncached.nullish() }
/** The service options of calls with a prompt: chat, legacy completions, responses. */
export const PromptServiceOptions = serviceOptions({
  ...Routing,
  ...who,
  prompt: z
    .unknown()
    .optional()
    .refine(rules.isNothing, {
      error: 'is not emulated: stored prompts live in the hosted workspace; send their messages instead',
    })
    .optional()
    .meta({ description: 'Not emulated. A value causes an error.' }),
  inputs: Inputs.nullish(),
  knowledge_bases: KnowledgeBases.nullish(),
})
