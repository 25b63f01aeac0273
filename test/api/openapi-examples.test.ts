// Every operation has an example of its response, and both match the document. `EXAMPLES=write bun test` of this file writes down what the
// server returns now.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { createTestApp } from '../support/app.ts'
import { openApiDocument } from '../support/document.ts'
import { type CallableOperation, type ExampleAnswer, playExamples } from '../support/example-calls.ts'
import type { Json } from '../support/workspace.ts'

interface Described {
  operationId: string
  requestBody?: { content: Record<string, { examples?: Record<string, { value: Json }> }> }
  responses: Record<string, { content?: Record<string, { schema: Json; example?: unknown }> }>
}

const app = createTestApp()
afterAll(app.close)
const operations = new Map<string, CallableOperation & { responses: Described['responses'] }>()
const answers = new Map<string, ExampleAnswer>()
const ajv = addFormats(new Ajv2020({ strict: false }) as never) as unknown as Ajv2020
/** What answers with bytes, and what goes on for as long as somebody listens. */
const WITHOUT = ['getPicture', 'audioSpeech', 'watchLive']

beforeAll(async () => {
  const document = await openApiDocument<Json>()
  ajv.addSchema(document as never, 'document')
  for (const [path, methods] of Object.entries(document.paths as Record<string, Record<string, Described>>))
    for (const [method, { operationId, requestBody, responses }] of Object.entries(methods)) {
      // The same operations by another door.
      if (method === 'post' && path.startsWith('/v1/') && !path.includes('/messages')) continue
      const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? []
      const [example] = Object.values(content?.examples ?? {})
      const body = example && { value: example.value, form: type === 'multipart/form-data' }
      operations.set(operationId, { method, path, responses, body })
    }
  for await (const answer of playExamples(app, operations)) answers.set(answer.id, answer)
  if (process.env.EXAMPLES === 'write') await write()
}, 60_000)

const validators = new Map<string, ValidateFunction>()
const complaints = (schema: Json, value: unknown): unknown => {
  const text = JSON.stringify(schema).replaceAll('"#/', '"document#/')
  const validate = validators.get(text) ?? ajv.compile(JSON.parse(text))
  validators.set(text, validate)
  return validate(value) ? null : validate.errors
}
const saidBy = ({ type, text }: ExampleAnswer): unknown => {
  if (type === 'application/json') return JSON.parse(text)
  return type === 'text/event-stream' ? JSON.parse(/^data: (\{.*)$/m.exec(text)?.[1] ?? 'null') : text
}

/** Writes the answers as the examples of the document. */
async function write(): Promise<void> {
  const values = [...answers.values()].filter(({ id, status }) => !WITHOUT.includes(id) && status !== 204)
  const sorted = values.sort((one, other) => (one.id < other.id ? -1 : 1)).map((one) => [one.id, saidBy(one)])
  const file = join(import.meta.dir, '..', 'golden', 'openapi-examples.json')
  await Bun.write(file, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`)
}

test('OpenAPI examples: have a call for every operation', () => {
  expect([...operations.keys()].filter((id) => !answers.has(id))).toEqual(['watchLive'])
})

test('OpenAPI schemas: describe every response', () => {
  const wrong = [...answers.values()].flatMap((answer) => {
    const { id, status, type, text } = answer
    const said = operations.get(id)?.responses[status]
    if (!said || status >= 300) return [`${id}: ${status} ${text.slice(0, 300)}`]
    if (status === 204) return []
    const content = said.content?.[type] ?? said.content?.[`${type.split('/')[0]}/*`] ?? said.content?.['*/*']
    if (!content) return [`${id}: ${type}`]
    const against = complaints(content.schema, saidBy(answer))
    return against === null ? [] : [`${id}: ${JSON.stringify(against)}`]
  })
  expect(wrong).toEqual([])
})

test('OpenAPI examples: have a valid response for every operation', () => {
  const wrong = [...operations].flatMap(([id, { responses }]) => {
    const [content] = Object.values(
      Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1].content ?? {},
    )
    if (!content || WITHOUT.includes(id)) return []
    if (content.example === undefined) return [`${id} has none`]
    const against = complaints(content.schema, content.example)
    return against === null ? [] : [`${id}: ${JSON.stringify(against)}`]
  })
  expect(wrong).toEqual([])
})
