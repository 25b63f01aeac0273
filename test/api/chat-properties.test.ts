// Properties of every chat call: any valid request gets a valid response in both forms, any single mistake is named.
import { afterAll, expect } from 'bun:test'
import fc from 'fast-check'
import { judgement } from '../support/ajv.ts'
import { createTestApp } from '../support/app.ts'
import { chatMistake, chatMistakes, chatRequest } from '../support/arbitrary-chat.ts'
import { both, CHAT, FIXTURES, MODEL, refused, user } from '../support/chat.ts'
import { openApiDocument } from '../support/document.ts'
import { property, runs, test } from '../support/property.ts'

// Generated messages do not belong together.
const app = createTestApp({ fixtures: [FIXTURES], history: 'off' })
afterAll(app.close)

interface Asked {
  tools?: { function: { name: string; parameters?: object | null } }[]
  tool_choice?: unknown
  max_tokens?: number | null
  max_completion_tokens?: number | null
  n?: number | null
  stop?: string | string[] | null
  response_format?: { type: string; json_schema?: { schema: object } } | null
}

property(
  'property: any valid chat request gets a valid response, whole and streamed alike, within its limits and schemas',
  async () => {
    await fc.assert(
      fc.asyncProperty(chatRequest, async (request) => {
        const { choices, usage } = await both(app, { ...request, svc: null, cache: null })
        const asked = request as Asked
        expect(choices).toHaveLength(asked.n ?? 1)
        const most = asked.max_completion_tokens ?? asked.max_tokens
        const spoken = usage.completion_tokens - usage.completion_tokens_details.audio_tokens
        if (most != null) expect(spoken).toBeLessThanOrEqual(most * choices.length)
        for (const { message, finish_reason } of choices) {
          const said = message.audio?.transcript ?? message.content
          for (const sequence of [asked.stop ?? []].flat())
            if (sequence !== '') expect(said ?? '').not.toContain(sequence)
          if (finish_reason === 'length' || asked.stop != null) continue
          for (const { function: called } of message.tool_calls ?? []) {
            const tool = asked.tools?.find((one) => one.function.name === called.name)
            expect(tool).toBeDefined()
            expect(judgement(tool?.function.parameters ?? {}, JSON.parse(called.arguments))).toEqual([])
          }
          if (said != null && asked.response_format?.json_schema) {
            expect(judgement(asked.response_format.json_schema.schema, JSON.parse(said))).toEqual([])
          }
        }
      }),
      { seed: 11, numRuns: runs(100) },
    )
  },
  60_000,
)

test('property: has an invalid value for every field of a chat request', async () => {
  const { components } = await openApiDocument<{
    components: { schemas: { ChatCompletionsRequest: { properties: object } } }
  }>()
  const { properties } = components.schemas.ChatCompletionsRequest
  expect(Object.keys(chatMistakes).sort()).toEqual(Object.keys(properties).sort())
})

property('property: any single mistake in a chat request is a 4xx that names its field', async () => {
  await fc.assert(
    fc.asyncProperty(chatMistake, async ([field, wrong]) => {
      const error = await refused(app, { [field]: wrong })
      expect({ wrong, param: error.param?.split(/[.[]/)[0] ?? null }).toEqual({ wrong, param: field })
      // Of an empty conversation, the provider's words are sent.
      expect(error.message).toMatch(new RegExp(`^(?:Invalid )?'${RegExp.escape(error.param ?? '')}'`))
    }),
    { seed: 5, numRuns: runs(600) },
  )
})

property('property: any JSON gets a response or an error, never a server error', async () => {
  const anything = fc.oneof(
    fc.json(),
    fc.string(),
    fc
      .dictionary(fc.constantFrom(...Object.keys(chatMistakes)), fc.jsonValue())
      .map((patch) => JSON.stringify({ model: MODEL, ...user('x'), ...patch })),
  )
  await fc.assert(
    fc.asyncProperty(anything, async (body) => {
      const { status } = await app.post(CHAT, body)
      expect(status === 200 || (status >= 400 && status < 500)).toBe(true)
    }),
    { seed: 3, numRuns: runs(500) },
  )
})

const deep = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
property.each([1_000, 100_000])('chat request: is no server error when nested %p deep', async (depth) => {
  for (const field of ['messages', 'metadata', 'variables', 'extra', 'tools']) {
    const { status } = await app.post(CHAT, `{"model":"${MODEL}","messages":[],"${field}":${deep(depth)}}`)
    expect(status).toBe(400)
  }
})
