// Legacy completions with generated requests: every valid one is answered in full, every invalid field is named.
import { afterAll, expect } from 'bun:test'
import fc from 'fast-check'
import { decodeTokens, VOCABULARIES } from '../../src/lib/tokens.ts'
import { createTestApp, eventsOf } from '../support/app.ts'
import { notOf, oneOf, routingFields, routingMistakes } from '../support/arbitrary.ts'
import { errorOf } from '../support/errors.ts'
import { property, runs } from '../support/property.ts'
import { strictCompletion } from '../support/strict/completions.ts'

const OLDER = 'openai/gpt-3.5-turbo-instruct'
const PATH = '/v2/router/completions'
const app = createTestApp()
afterAll(app.close)

const text = fc.string({ unit: 'grapheme' })
const tokens = fc.array(fc.nat(VOCABULARIES.cl100k - 1), { minLength: 1, maxLength: 20 })
const several = <T>(item: fc.Arbitrary<T>) => fc.array(item, { minLength: 1, maxLength: 4 })
const penalty = fc.option(fc.double({ min: -2, max: 2, noNaN: true }))
const valid = fc.record(
  {
    prompt: fc.oneof(text, tokens, several(text), several(tokens)),
    model: fc.constantFrom(OLDER, 'ollama/x'),
    echo: fc.option(fc.boolean()),
    frequency_penalty: penalty,
    presence_penalty: penalty,
    max_tokens: fc.option(fc.nat(80)),
    seed: fc.option(fc.maxSafeInteger()),
    stop: fc.option(fc.oneof(text, fc.array(fc.constantFrom('generated', 'of', ' p', '"'), { maxLength: 4 }))),
    temperature: fc.option(fc.double({ min: 0, max: 2, noNaN: true })),
    top_p: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
    n: fc.option(fc.integer({ min: 1, max: 3 })),
    user: fc.option(text),
    suffix: fc.option(text),
    logprobs: fc.option(fc.nat(5)),
    thinking: fc.option(fc.constantFrom({ type: 'disabled' }, { type: 'enabled', budget_tokens: 99 })),
    variables: fc.option(fc.constant({ name: 'Ada' })),
    ...routingFields,
  },
  { requiredKeys: ['prompt', 'model'] },
)

/** The prompts as texts, in their order. */
function promptsOf(prompt: string | number[] | string[] | number[][], model: string): string[] {
  const vocabulary = model === OLDER ? 'cl100k' : 'o200k'
  const list = Array.isArray(prompt) && typeof prompt[0] !== 'number' ? (prompt as (string | number[])[]) : [prompt]
  return list.map((one) => (typeof one === 'string' ? one : decodeTokens(one as number[], vocabulary)))
}

property(
  'property: any valid completion request gets the same valid response, whole and streamed, and usage that adds up',
  async () => {
    await fc.assert(
      fc.asyncProperty(valid, async (body) => {
        const answer = await app.post(PATH, body)
        expect(answer.status).toBe(200)
        const { choices, usage } = strictCompletion(answer.json())
        const prompts = promptsOf(body.prompt, body.model)
        const n = body.n ?? 1
        expect(choices.map(({ index }) => index)).toEqual(Array.from({ length: prompts.length * n }, (_, at) => at))
        const stops = [body.stop ?? []].flat().filter((stop) => stop !== '')
        for (const [at, choice] of choices.entries()) {
          const echoed = body.echo ? (prompts[Math.floor(at / n)] ?? '') : ''
          expect(choice.text).toStartWith(echoed)
          for (const stop of stops) expect(choice.text.slice(echoed.length)).not.toContain(stop)
        }
        const { prompt_tokens = 0, completion_tokens = 0, total_tokens = 0 } = usage ?? {}
        expect(total_tokens).toBe(prompt_tokens + completion_tokens)
        expect(completion_tokens).toBeLessThanOrEqual(choices.length * (body.max_tokens ?? 16))

        const streamed = await app.post(PATH, { ...body, stream: true, stream_options: { include_usage: true } })
        const events = eventsOf(streamed.text)
        expect(events.pop()).toBe('[DONE]')
        const chunks = events.map(strictCompletion)
        expect(chunks.at(-1)?.usage).toEqual(usage)
        const parts = chunks.flatMap((chunk) => chunk.choices)
        const joined = choices.map(({ index }) => {
          const own = parts.filter((part) => part.index === index)
          return { index, text: own.map((part) => part.text).join(''), finish_reason: own.at(-1)?.finish_reason }
        })
        expect(joined).toEqual(choices)
      }),
      { numRuns: runs(100) },
    )
  },
)

const number = (...wrong: number[]) => fc.oneof(notOf('number'), fc.constantFrom(...wrong))
const mistakes = oneOf({
  ...routingMistakes,
  prompt: fc.oneof(notOf('string', 'array'), fc.constantFrom<unknown>([], [true], [-1], ['a', 1], [[1], ['a']])),
  echo: notOf('boolean'),
  frequency_penalty: number(-2.1, 3),
  presence_penalty: number(-3, 2.1),
  max_tokens: number(-1, 0.5),
  seed: number(0.5),
  stop: fc.oneof(notOf('string', 'array'), fc.constantFrom([1], ['a', 'b', 'c', 'd', 'e'])),
  temperature: number(-1, 2.1),
  top_p: number(-1, 1.1),
  n: number(0, 1.5, 129),
  user: notOf('string'),
  thinking: fc.oneof(notOf('object'), fc.constantFrom({}, { type: 'enabled' }, { type: 'hard' })),
  variables: notOf('object'),
  template_engine: fc.oneof(notOf('string'), fc.constant('erb')),
  stream: notOf('boolean'),
  stream_options: fc.oneof(notOf('object'), fc.constantFrom({}, { include_usage: 'yes' })),
})

property('property: any invalid field of a completion request is rejected by name', async () => {
  await fc.assert(
    fc.asyncProperty(valid, mistakes, async (body, [field, wrong]) => {
      const answer = await app.post(PATH, { ...body, [field]: wrong })
      expect(errorOf(answer.text, 400).param).toMatch(new RegExp(`^${field}\\b`))
    }),
    { numRuns: runs(300) },
  )
})
