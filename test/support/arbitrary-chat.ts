// Chat requests that fast-check makes up: valid ones of every shape, and single mistakes by field.
import fc from 'fast-check'
import { character, webUrl } from './arbitrary.ts'
import { randomSchema } from './schemas.ts'

const nullable = <T>(value: fc.Arbitrary<T>) => fc.option(value, { freq: 5 })
const optional = <T extends Record<string, fc.Arbitrary<unknown>>>(fields: T) => fc.record(fields, { requiredKeys: [] })
const text = fc.oneof(
  fc.string(),
  fc.string({ unit: character }),
  fc.constantFrom('hello', 'count', 'think', 'no way', 'both'),
)
const key = (maxLength: number) => fc.string({ maxLength }).filter((one) => one !== '__proto__')
const name = fc.stringMatching(/^[a-zA-Z0-9_-]{1,12}$/)
const mark = nullable(fc.record({ type: fc.constant('ephemeral'), ttl: fc.constantFrom('5m', '1h') }))
const base64 = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString('base64'))

const textPart = fc.record({ type: fc.constant('text'), text, cache_control: mark }, { requiredKeys: ['type', 'text'] })
const parts = (...more: fc.Arbitrary<unknown>[]) =>
  fc.array(fc.oneof(textPart, ...more), { minLength: 1, maxLength: 3 })
const userParts = parts(
  fc.record({
    type: fc.constant('image_url'),
    image_url: fc.record({
      url: fc.oneof(
        webUrl,
        base64.map((data) => `data:image/png;base64,${data}`),
        text,
      ),
      detail: nullable(fc.constantFrom('low', 'high', 'auto')),
    }),
  }),
  fc.record({
    type: fc.constant('input_audio'),
    input_audio: fc.record({ data: base64, format: fc.constantFrom('mp3', 'wav') }),
  }),
  fc.record({
    type: fc.constant('file'),
    file: fc.record({ file_data: base64, filename: nullable(text), mimeType: nullable(text) }),
  }),
)
const toolCall = fc.record({
  id: text,
  type: fc.constant('function'),
  function: fc.record({ name, arguments: fc.oneof(fc.json(), text) }),
})
const named = { name: nullable(name) }
const message = fc.oneof(
  fc.record({ role: fc.constantFrom('system', 'developer'), content: fc.oneof(text, parts()), ...named }),
  fc.record({ role: fc.constant('user'), content: fc.oneof(text, userParts), ...named }),
  fc.record({
    role: fc.constant('assistant'),
    content: nullable(fc.oneof(text, parts(fc.record({ type: fc.constant('refusal'), refusal: text })))),
    refusal: nullable(text),
    tool_calls: nullable(fc.array(toolCall, { maxLength: 2 })),
  }),
  fc.record({ role: fc.constant('tool'), content: fc.oneof(text, parts()), tool_call_id: nullable(text) }),
)

const objectSchema = fc
  .dictionary(name, fc.constantFrom({ type: 'string' }, { type: 'integer', minimum: 2 }, { enum: ['a', 1] }), {
    maxKeys: 3,
  })
  .map((properties) => ({ type: 'object', properties, required: Object.keys(properties).slice(0, 2) }))
const tools = fc.uniqueArray(name, { minLength: 1, maxLength: 3 }).chain((names) =>
  fc.tuple(
    ...names.map((one) =>
      fc.record({
        type: fc.constant('function'),
        function: fc.record(
          {
            name: fc.constant(one),
            description: nullable(text),
            parameters: nullable(objectSchema),
            strict: nullable(fc.boolean()),
          },
          { requiredKeys: ['name'] },
        ),
      }),
    ),
  ),
)
const tooled = tools.chain((list) => {
  const names = list.map((tool) => tool.function.name)
  const choice = fc.oneof(
    fc.constantFrom('none', 'auto', 'required'),
    fc.constantFrom(...names).map((one) => ({ type: 'function', function: { name: one } })),
  )
  return fc.record({
    tools: fc.constant(list),
    tool_choice: nullable(choice),
    parallel_tool_calls: nullable(fc.boolean()),
  })
})

const format = fc.oneof(
  fc.constantFrom({ type: 'text' }, { type: 'json_object' }),
  fc.record({
    type: fc.constant('json_schema'),
    json_schema: fc.record({
      name,
      schema: fc.oneof(
        objectSchema,
        randomSchema.filter((one) => typeof one === 'object'),
      ),
      strict: nullable(fc.boolean()),
    }),
  }),
)

/** The body of a valid chat request, all fields but `stream`. */
export const chatRequest = fc
  .tuple(
    fc.record({
      model: fc.constantFrom('openai/gpt-4o', 'anthropic/claude-sonnet-4', 'google/gemini-2.5-pro', 'ollama/any:1b'),
      messages: fc.array(message, { minLength: 1, maxLength: 4 }),
    }),
    optional({
      name: nullable(text),
      metadata: nullable(fc.dictionary(key(64), fc.string({ maxLength: 512 }), { maxKeys: 16 })),
      max_tokens: nullable(fc.integer({ min: 1, max: 200 })),
      max_completion_tokens: nullable(fc.integer({ min: 1, max: 200 })),
      n: nullable(fc.integer({ min: 1, max: 3 })),
      stop: nullable(fc.oneof(text, fc.array(text, { maxLength: 4 }))),
      seed: nullable(fc.maxSafeInteger()),
      temperature: nullable(fc.double({ min: 0, max: 2, noNaN: true })),
      top_p: nullable(fc.double({ min: 0, max: 1, noNaN: true })),
      top_k: nullable(fc.nat()),
      frequency_penalty: nullable(fc.double({ min: -2, max: 2, noNaN: true })),
      presence_penalty: nullable(fc.double({ min: -2, max: 2, noNaN: true })),
      verbosity: nullable(fc.oneof(fc.constantFrom('low', 'medium', 'high'), text)),
      reasoning_effort: nullable(fc.constantFrom('none', 'minimal', 'low', 'medium', 'high', 'xhigh')),
      thinking: nullable(
        fc.oneof(
          fc.constantFrom({ type: 'disabled' }, { type: 'adaptive' }),
          fc.record({ type: fc.constant('enabled'), budget_tokens: fc.integer({ min: 1, max: 100 }) }),
        ),
      ),
      response_format: nullable(format),
      variables: nullable(fc.dictionary(key(9), fc.jsonValue(), { maxKeys: 3 })),
      identity: nullable(fc.record({ id: fc.string({ minLength: 1 }) })),
      thread: nullable(fc.record({ id: fc.string({ minLength: 1 }), tags: fc.array(text, { maxLength: 2 }) })),
      extra: fc.jsonValue(),
    }),
    fc.oneof(fc.constant({}), tooled),
    fc.oneof(
      fc.constant({}),
      fc.record({ logprobs: fc.constant(true), top_logprobs: nullable(fc.integer({ min: 0, max: 20 })) }),
    ),
    fc.oneof(
      { arbitrary: fc.constant({}), weight: 5 },
      {
        arbitrary: fc.record({
          modalities: fc.constant(['text', 'audio']),
          audio: fc.record({
            voice: fc.constantFrom('alloy', 'onyx'),
            format: fc.constantFrom('wav', 'pcm16', 'flac'),
          }),
        }),
        weight: 1,
      },
    ),
  )
  .map((groups): Record<string, unknown> => Object.assign({}, ...groups))

type Kind = 'string' | 'number' | 'boolean' | 'object' | 'array'
const kindOf = (value: unknown) => (Array.isArray(value) ? 'array' : typeof value)
/** Any JSON value but null that is none of these kinds. */
const notOf = (...kinds: Kind[]): fc.Arbitrary<unknown> =>
  fc.jsonValue({ maxDepth: 1 }).filter((value) => value !== null && !kinds.includes(kindOf(value) as Kind))
const outside = (min: number, max: number) =>
  fc.oneof(
    notOf('number'),
    fc.integer({ max: min - 1 }),
    Number.isFinite(max) ? fc.integer({ min: Math.floor(max) + 1 }) : fc.integer({ max: min - 1 }),
  )
const wrongInteger = (min: number, max = Number.POSITIVE_INFINITY) =>
  fc.oneof(outside(min, max), fc.constant(min + 0.5))
const wrongObject = (...values: object[]) => fc.oneof(notOf('object'), fc.constantFrom(...values))

/** Wrong values by field; what is wrong may lie deeper in it. */
export const chatMistakes: Record<string, fc.Arbitrary<unknown>> = {
  model: fc.oneof(notOf('string'), fc.stringMatching(/^[a-z]{0,9}\/$/)),
  messages: fc.oneof(
    notOf('array'),
    fc.constant([]),
    fc.array(fc.jsonValue({ maxDepth: 2 }), { minLength: 1, maxLength: 2 }),
    notOf('string', 'array').map((content) => [{ role: 'user', content }]),
    fc.jsonValue({ maxDepth: 2 }).map((part) => [{ role: 'user', content: [part] }]),
  ),
  name: notOf('string'),
  metadata: fc.oneof(notOf('object'), fc.constantFrom({ key: 5 }, { key: 'x'.repeat(513) })),
  audio: wrongObject({}, { voice: 'nova' }, { voice: 'bob', format: 'mp3' }),
  frequency_penalty: outside(-2, 2),
  presence_penalty: outside(-2, 2),
  max_tokens: wrongInteger(1),
  max_completion_tokens: wrongInteger(1),
  logprobs: notOf('boolean'),
  top_logprobs: wrongInteger(0, 20),
  n: wrongInteger(1, 128),
  response_format: wrongObject(
    {},
    { type: 'xml' },
    { type: 'json_schema' },
    { type: 'json_schema', json_schema: { name: '' } },
  ),
  reasoning_effort: fc.oneof(notOf('string'), fc.constant('max')),
  verbosity: notOf('string'),
  seed: fc.oneof(notOf('number'), fc.constant(0.5)),
  stop: fc.oneof(notOf('string', 'array'), fc.constantFrom([1], ['a', 'b', 'c', 'd', 'e'])),
  stream: notOf('boolean'),
  stream_options: fc.oneof(notOf('object'), fc.constant({ include_usage: true })),
  thinking: wrongObject({}, { type: 'on' }, { type: 'enabled' }, { type: 'enabled', budget_tokens: 0 }),
  temperature: outside(0, 2),
  top_p: outside(0, 1),
  top_k: wrongInteger(0),
  tools: fc.oneof(
    notOf('array'),
    fc.array(fc.jsonValue({ maxDepth: 1 }), { minLength: 1, maxLength: 2 }),
    fc.constantFrom(
      [{ function: {} }],
      [{ function: { name: 'f', parameters: { type: 'array' } } }],
      [{ type: 'x', function: { name: 'f' } }],
    ),
  ),
  tool_choice: fc.oneof(notOf('object', 'string'), fc.constantFrom('maybe', {}, { function: { name: 'nobody' } })),
  functions: fc.oneof(notOf('array'), fc.constantFrom([{}], [{ name: 'a b' }])),
  function_call: fc.oneof(notOf('object', 'string'), fc.constantFrom('maybe', {}, { name: 'nobody' })),
  parallel_tool_calls: notOf('boolean'),
  modalities: fc.oneof(notOf('array'), fc.constant(['video'])),
  guardrails: fc.oneof(notOf('array'), fc.constantFrom([{}], [{ id: 'x', execute_on: 'both' }])),
  fallbacks: fc.oneof(notOf('array'), fc.constantFrom([{}], [{ model: 'none/' }])),
  retry: wrongObject({ count: 0 }, { count: 6 }, { on_codes: [99] }),
  cache: wrongObject({}, { type: 'fuzzy' }, { type: 'exact_match', ttl: 0 }),
  load_balancer: wrongObject({}, { type: 'weight_based', models: [] }),
  timeout: wrongObject({}, { call_timeout: 0 }),
  identity: wrongObject({}, { id: '' }),
  thread: wrongObject({}, { id: 't', tags: 'x' }),
  variables: notOf('object'),
  template_engine: fc.oneof(notOf('string'), fc.constant('erb')),
  svc: wrongObject({ retry: { count: 9 } }, { prompt: { id: 'x' } }, { inputs: 5 }, { thread: {} }),
}

/** One mistake: the field and its wrong value. */
export const chatMistake: fc.Arbitrary<[string, unknown]> = fc.oneof(
  ...Object.entries(chatMistakes).map(([field, value]) => value.map((wrong): [string, unknown] => [field, wrong])),
)
