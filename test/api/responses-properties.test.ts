// Model responses to any valid request, and to any with one invalid field.
import { afterAll, describe, expect } from 'bun:test'
import { Ajv } from 'ajv'
import fc from 'fast-check'
import type { ModelResponse } from '../../src/contract/router/responses-answer.ts'
import { createTestApp } from '../support/app.ts'
import { webUrl } from '../support/arbitrary.ts'
import { errorOf } from '../support/errors.ts'
import { property, runs } from '../support/property.ts'
import { type Body, lastResponse, PATH, readEvents, whole } from '../support/responses.ts'
import { StrictEvent } from '../support/strict/responses.ts'

// Generated items do not belong together.
const app = createTestApp({ history: 'off' })
afterAll(app.close)
const RUNS = { numRuns: runs(50) }
// The machine may be busy: what this limits is a hang.
const PATIENCE = 60_000

const text = fc.string({ unit: 'grapheme', maxLength: 60 })
const name = fc.stringMatching(/^[a-z][a-z0-9_]{0,12}$/)
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value)
const parts = fc.array(
  fc.oneof(
    text.map((one) => ({ type: 'input_text', text: one })),
    fc.record({
      type: fc.constant('input_image'),
      image_url: webUrl,
      detail: fc.constantFrom('low', 'auto', null),
    }),
    fc.record({ type: fc.constant('input_file'), filename: text, file_data: fc.base64String() }),
  ),
  { maxLength: 3 },
)
const item = fc.oneof(
  fc.record({ role: fc.constantFrom('user', 'system', 'developer'), content: fc.oneof(text, parts) }),
  fc.record({ type: fc.constant('message'), role: fc.constant('assistant'), content: text, id: maybe(text) }),
  fc.record({ type: fc.constant('function_call'), call_id: name, name, arguments: fc.json() }),
  fc.record({ type: fc.constant('function_call_output'), call_id: name, output: fc.oneof(text, parts) }),
  fc.record({ type: fc.constant('item_reference'), id: name }),
)
const schema = fc.record({
  type: fc.constant('object'),
  properties: fc.constant({ city: { type: 'string', minLength: 2 }, people: { type: 'integer', minimum: 1 } }),
  required: fc.subarray(['city', 'people']),
})
const tools = fc.uniqueArray(
  fc.record({ type: fc.constant('function'), name, parameters: maybe(schema), strict: maybe(fc.boolean()) }),
  { minLength: 1, maxLength: 3, selector: (tool) => tool.name },
)
const withTools = maybe(tools).chain((offered) =>
  fc.record({
    tools: fc.constant(offered),
    tool_choice: offered
      ? fc.constantFrom(null, 'none', 'auto', 'required', { type: 'function', name: offered[0]?.name })
      : fc.constantFrom(null, 'none', 'auto'),
  }),
)
const format = fc.oneof(
  fc.constantFrom({ type: 'text' }, { type: 'json_object' }),
  fc.record({ type: fc.constant('json_schema'), name, schema, strict: maybe(fc.boolean()) }),
)
const settings = fc.record(
  {
    instructions: maybe(text),
    temperature: maybe(fc.double({ min: 0, max: 2, noNaN: true })),
    top_p: maybe(fc.double({ min: 0, max: 1, noNaN: true })),
    max_output_tokens: maybe(fc.integer({ min: 1, max: 120 })),
    parallel_tool_calls: maybe(fc.boolean()),
    store: maybe(fc.boolean()),
    background: maybe(fc.boolean()),
    user: maybe(text),
    metadata: maybe(fc.dictionary(fc.string({ maxLength: 64 }), fc.string({ maxLength: 512 }), { maxKeys: 16 })),
    reasoning: maybe(
      fc.record({
        effort: fc.constantFrom(null, 'none', 'minimal', 'low', 'medium', 'high', 'xhigh'),
        summary: fc.constantFrom(null, 'auto', 'concise', 'detailed'),
      }),
    ),
    text: maybe(fc.record({ format, verbosity: fc.constantFrom(null, 'low', 'high') }, { requiredKeys: [] })),
    include: maybe(
      fc.subarray(['message.output_text.logprobs', 'reasoning.encrypted_content', 'web_search_call.results']),
    ),
    top_logprobs: maybe(fc.integer({ min: 0, max: 20 })),
    truncation: fc.constantFrom(null, 'auto', 'disabled'),
    service_tier: fc.constantFrom(null, 'auto', 'default', 'flex', 'scale', 'priority'),
  },
  { requiredKeys: [] },
)
const input = fc.oneof(text, fc.array(item, { minLength: 1, maxLength: 5 }))
const request: fc.Arbitrary<Body> = fc
  .tuple(input, withTools, settings)
  .map(([said, choice, more]) => ({ model: 'openai/gpt-4o', input: said, ...choice, ...more }))

/** What is said, without what belongs to one call: ids and probabilities. */
const said = ({ output, output_text, status, usage }: ModelResponse) => ({
  output: JSON.parse(
    JSON.stringify(output, (key, value) =>
      /^(id|call_id|encrypted_content|logprob|top_logprobs)$/.test(key) ? '' : value,
    ),
  ),
  output_text,
  status,
  usage,
})

function checkForm(body: Body, response: ModelResponse): void {
  const { output, output_text, status, usage } = response
  const { input_tokens = 0, output_tokens = 0, total_tokens, output_tokens_details } = usage ?? {}
  expect(total_tokens).toBe(input_tokens + output_tokens)
  expect(output_tokens_details?.reasoning_tokens).toBeLessThanOrEqual(output_tokens)
  expect(output_tokens).toBeLessThanOrEqual((body.max_output_tokens as number | null) ?? Number.POSITIVE_INFINITY)
  expect(response.incomplete_details).toEqual(status === 'incomplete' ? { reason: 'max_output_tokens' } : null)
  const made = output.some((one) => one.type === 'function_call')
  const { format: form } = (body.text ?? {}) as { format?: { type: string; schema?: object } }
  if (status === 'incomplete' || made || !form || form.type === 'text') return
  expect(new Ajv().validate(form.schema ?? { type: 'object' }, JSON.parse(output_text))).toBe(true)
}

describe('property: any valid responses request', () => {
  property(
    'gets a valid response, and the same in a stream',
    async () => {
      const property = fc.asyncProperty(request, async (body) => {
        const response = whole(await app.post(PATH, body))
        checkForm(body, response)
        const answer = await app.post(PATH, { ...body, stream: true })
        const events = readEvents(answer)
        for (const event of events) StrictEvent.parse(event)
        expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index))
        expect(said(lastResponse(answer))).toEqual(said(response))
        const deltas = events.map((event) =>
          event.type === 'response.output_text.delta' && 'delta' in event ? event.delta : '',
        )
        expect(deltas.join('')).toBe(response.output_text)
      })
      await fc.assert(property, RUNS)
    },
    PATIENCE,
  )
})

// Values that a field can never have.
const wrong: Record<string, unknown[]> = {
  model: [undefined, null, 3, '/gpt-4o', 'nobody/gpt-4o', ' ', {}],
  input: [undefined, null, 3, {}, [], [3], [{ role: 'robot', content: 'x' }], [{ type: 'message' }]],
  instructions: [3, ['x'], {}],
  previous_response_id: [3, {}, '', 'resp_none'],
  metadata: [3, 'x', { a: 1 }, { a: 'v'.repeat(513) }, { ['k'.repeat(65)]: 'v' }],
  temperature: [-0.1, 2.1, '1', true],
  top_p: [-1, 1.5, '1'],
  reasoning: [3, 'low', { effort: 'huge' }, { summary: 3 }],
  thinking: [3, {}, { type: 'enabled' }, { type: 'enabled', budget_tokens: 0 }],
  max_output_tokens: [0, -1, 1.5, '9'],
  text: [3, 'json', { format: 'text' }, { format: { type: 'xml' } }, { format: { type: 'json_schema' } }],
  include: ['all', ['all'], [3]],
  top_logprobs: [-1, 21, 1.5, '3'],
  tools: [3, [3], [{}], [{ type: 'function' }], [{ type: 'function', name: 'a b' }], [{ type: 'dance' }]],
  tool_choice: [3, 'always', {}, { type: 'function' }, { type: 'function', name: 'nobody' }],
  parallel_tool_calls: ['yes', 1],
  truncation: ['hard', 3],
  service_tier: ['fast', 3],
  store: ['yes', 1],
  background: [1],
  user: [3],
  stream: ['yes', 1],
  svc: [3, { retry: { count: 9 } }, { prompt: { key: 'x' } }],
  retry: [3, { count: 0 }, { on_codes: [99] }],
  fallbacks: [{}, [{ model: 'x/' }]],
  timeout: [{}, { call_timeout: 0 }],
  cache: [{}, { type: 'exact_match', ttl: 0 }],
  load_balancer: [{}, { type: 'weight_based', models: [] }],
  guardrails: [{}, [{ id: 'x', execute_on: 'both' }]],
  identity: [3, {}],
  thread: [3, {}],
  variables: [3, 'x'],
  template_engine: ['erb'],
}

describe('property: responses request with one invalid field', () => {
  property.each(Object.keys(wrong))(
    'is rejected with the name of %s',
    async (field) => {
      for (const value of wrong[field] ?? []) {
        const property = fc.asyncProperty(request, async (body) => {
          const { status, text: answer } = await app.post(PATH, { ...body, [field]: value })
          expect([400, 404]).toContain(status)
          expect(errorOf(answer, status).param).toMatch(new RegExp(`^${field}\\b`))
        })
        await fc.assert(property, { numRuns: runs(5) })
      }
    },
    PATIENCE,
  )

  property(
    'never causes a server error',
    async () => {
      const property = fc.asyncProperty(
        request,
        fc.constantFrom(...Object.keys(wrong)),
        fc.jsonValue(),
        async (...given) => {
          const [body, field, value] = given
          const answer = await app.post(PATH, { ...body, [field]: value })
          if (answer.status === 200) return
          expect([400, 404]).toContain(answer.status)
          // Taking the tools away is said of the choice among them.
          expect(errorOf(answer.text, answer.status).param).toMatch(new RegExp(`^(${field}|tool_choice)\\b`))
        },
      )
      await fc.assert(property, { numRuns: runs(200) })
    },
    PATIENCE,
  )
})
