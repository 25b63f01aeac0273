// The OpenAPI document: valid, complete, and true.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { Operation } from '../../src/contract/core/operation.ts'
import { PATH_PARAMETERS, PROPERTIES } from '../../src/docs/schemas.ts'
import { allOperations } from '../../src/endpoints/index.ts'
import { resourceGroups } from '../../src/resources/index.ts'
import type { ResourceDeps } from '../../src/resources/routes.ts'
import { createTestApp } from '../support/app.ts'
import { PNG } from '../support/example-calls.ts'
import { fileOf, formOf, speak } from '../support/translations.ts'

const operations = allOperations()

type Json = Record<string, unknown>
interface Described {
  operationId: string
  tags: string[]
  summary: string
  description: string
  parameters?: { name: string; in: string; schema: Json; description?: string }[]
  requestBody?: { content: Record<string, { schema: Json; examples: Record<string, { value: Json }> }> }
  responses: Record<
    string,
    { description: string; headers?: Json; content: Record<string, { schema: Json; example?: Json }> }
  >
  security?: Json[]
}
interface Document {
  openapi: string
  info: { title: string; version: string }
  security: Json[]
  tags: { name: string }[]
  paths: Record<string, Record<string, Described>>
  components: { securitySchemes: Record<string, Json>; schemas: Record<string, Json> }
}

const app = createTestApp()
afterAll(app.close)
let document: Document
let ajv: Ajv2020
beforeAll(async () => {
  document = (await app.fetch('/swagger/json')).json() as unknown as Document
  for (const { operation } of described())
    operation.responses = Object.fromEntries(
      Object.entries(operation.responses).map(([status, one]) => [status, deref(one)]),
    )
  ajv = addFormats(new Ajv2020({ strict: false, validateFormats: true }) as never) as unknown as Ajv2020
  ajv.addSchema(document as never, 'document')
})
const described = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
/** What a reference of the document refers to; anything else as it is. */
function deref<Value extends object>(value: Value): Value {
  if (!('$ref' in value)) return value
  const steps = String(value.$ref).replace('#/', '').split('/')
  return steps.reduce<unknown>((at, step) => (at as Json)[step], document) as Value
}
/** What a schema of the document has against a value; references are looked up in the document. */
function complaints(schema: Json, value: unknown): unknown {
  const text = JSON.stringify(schema).replaceAll('"#/', '"document#/')
  const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text))
  compiled.set(text, validate)
  return validate(value) ? null : validate.errors
}
const compiled = new Map<string, ValidateFunction>()

test('OpenAPI document: is valid for a public validator', async () => {
  const result = await new Validator().validate(structuredClone(document) as never)
  expect(result.errors).toBeUndefined()
  expect(result.valid).toBe(true)
  expect(document.openapi).toStartWith('3.1')
})

test('OpenAPI document: has every route of the server and nothing else', () => {
  const routes = described().map(({ path, method }) => `${method} ${path}`)
  const ofResources = resourceGroups({} as ResourceDeps)
    .flatMap(({ routes }) => routes())
    .map(({ path, method }) => `${method} ${braced(path)}`)
  expect(routes.sort()).toEqual(
    [
      ...operations.map(({ path }) => `post ${path}`),
      ...operations.map(({ path }) => `post ${path.replace('/v2/router', '/v1')}`),
      'post /v1/messages',
      'post /v1/messages/count_tokens',
      'get /v1/models',
      'get /v1/models/{model}',
      ...ofResources,
      'post /v2/agents/{key}/task',
      'post /v2/agents/run',
      'post /v2/agents/{key}/responses',
      'get /v2/agents/{key}/responses/{task_id}',
      'post /v2/agents/{key}/stream-task',
      'get /v2/agents/{key}/tasks',
      'get /v2/agents/{key}/tasks/{task_id}',
      'post /v2/agents/{key}/tasks/{task_id}/cancel',
      'get /a2a/{key}/.well-known/agent-card.json',
      'post /a2a/{key}',
      'post /_understudy/tasks/{task_id}/approve',
      'post /_understudy/tasks/{task_id}/reject',
      'get /_understudy/workspace',
      'get /_understudy/fixtures',
      'put /_understudy/fixtures',
      'delete /_understudy/fixtures',
      'get /_understudy/health',
      'get /_understudy/livez',
      'get /_understudy/readyz',
      'get /_understudy/metrics',
      'get /_understudy/live',
      'get /_understudy/scenario',
      'get /_understudy/scenarios',
      'put /_understudy/scenario',
      'post /_understudy/scenario/check',
      'delete /_understudy/scenario',
      'get /_understudy/sessions',
      'post /_understudy/sessions',
      'put /_understudy/sessions/{name}',
      'get /_understudy/sessions/{name}',
      'delete /_understudy/sessions/{name}',
      'post /_understudy/sessions/{name}/reset',
      'post /_understudy/sessions/{name}/clock',
      'post /_understudy/reset',
      'get /_understudy/verify',
      'post /_understudy/verify',
      'get /_understudy/traces',
      'get /_understudy/traces/{id}',
      'get /_understudy/traces/{id}/waterfall',
      'get /_understudy/traces/{id}/exchange',
      'get /_understudy/traces/{id}/reproduction',
      'get /_understudy/calls',
      'get /_understudy/cassettes',
      'get /files/{name}',
    ].sort(),
  )
})

test('OpenAPI document: marks operations outside the specification as extensions', () => {
  const shown = described().filter(
    ({ path, operation }) => path.startsWith('/v2') && !/extension\)/.test(operation.description),
  )
  const contract = [
    'get /v2/datasets/{dataset_id}',
    'patch /v2/datasets/{dataset_id}',
    'patch /v2/datasets/{dataset_id}/datapoints/{datapoint_id}',
    'post /v2/knowledge/{knowledge_id}/datasources',
    'post /v2/evaluators',
    'get /v2/evaluators/{id}/versions',
    'post /v2/human-eval-sets',
    'get /v2/tools',
    'get /v2/tools/{tool_id}/versions/{version_id}',
    'post /v2/agents',
    'post /v2/agents/{key}/task',
    'post /v2/contacts',
    'post /v2/feedback',
    'post /v2/feedback/remove',
  ]
  expect(shown.map(({ path, method }) => `${method} ${path}`).sort()).toEqual(
    [...contract, ...operations.filter(({ extension }) => !extension).map(({ path }) => `post ${path}`)].sort(),
  )
})
const braced = (path: string) => path.replace(/:(\w+)/g, '{$1}')

test('OpenAPI document: has a unique name, a known tag, a summary and a description for every operation', () => {
  const all = described().map(({ operation }) => operation)
  expect(new Set(all.map(({ operationId }) => operationId)).size).toBe(all.length)
  const tags = document.tags.map(({ name }) => name)
  for (const { operationId, summary, description, tags: own } of all) {
    expect(operationId).toMatch(/^[a-z][A-Za-z]+$/)
    expect(summary).not.toBe('')
    expect(description.length).toBeGreaterThan(20)
    expect(own.every((tag) => tags.includes(tag))).toBe(true)
  }
})

test('OpenAPI document: requires a bearer token everywhere except health, metrics and images', () => {
  expect(document.components.securitySchemes).toMatchObject({ bearer: { type: 'http', scheme: 'bearer' } })
  expect(document.security).toEqual([{ bearer: [] }])
  const open = described().filter(({ operation }) => operation.security?.length === 0)
  expect(open.map(({ path }) => path)).toEqual([
    '/_understudy/health',
    '/_understudy/metrics',
    '/_understudy/livez',
    '/_understudy/readyz',
    '/files/{name}',
  ])
})

test('OpenAPI document: names the requested address with the session in it', async () => {
  const serversAt = async (path: string) => (await app.fetch(path)).json().servers as { url: string }[]
  expect((await serversAt('/swagger/json')).map(({ url }) => url)).toEqual(['http://localhost'])
  expect((await serversAt('/s/mine/swagger/json')).map(({ url }) => url)).toEqual(['http://localhost/s/mine'])
})

test('OpenAPI document: puts extensions into groups of their own after all others', () => {
  const extension = ({ tags }: Described) => tags.every((tag) => tag.startsWith('Extension: '))
  for (const { operation } of described()) expect(extension(operation)).toBe(/extension\)/.test(operation.description))
  const names = document.tags.map(({ name }) => name)
  const first = names.findIndex((name) => name.startsWith('Extension: '))
  expect(names.slice(first).every((name) => name.startsWith('Extension: '))).toBe(true)
  const used = new Set(described().flatMap(({ operation }) => operation.tags))
  expect(names.filter((name) => !used.has(name))).toEqual([])
  expect(described().filter(({ operation }) => !extension(operation)).length).toBe(20)
})

test('OpenAPI document: describes every property and parameter', () => {
  const bare: string[] = []
  const look = (schema: unknown, path: string): void => {
    if (typeof schema !== 'object' || schema === null || 'const' in schema) return
    for (const [key, value] of Object.entries(schema)) {
      if (key !== 'properties') look(value, Array.isArray(schema) ? path : `${path}/${key}`)
      else
        for (const [name, property] of Object.entries(value as Record<string, Json>)) {
          if (!property.description && !deref(property).description) bare.push(`${path}.${name}`)
          look(property, `${path}.${name}`)
        }
    }
  }
  for (const [name, schema] of Object.entries(document.components.schemas)) look(schema, name)
  for (const { operation } of described())
    for (const { name, description } of operation.parameters ?? [])
      if (!description) bare.push(`${operation.operationId} ${name}`)
  expect(bare).toEqual([])
})

test('OpenAPI document: declares numeric parameters as integers', () => {
  const parameters = described().flatMap(({ operation }) => operation.parameters ?? [])
  const limits = parameters.filter(({ name, in: where }) => where === 'query' && name === 'limit')
  expect(limits.length).toBeGreaterThan(10)
  for (const { schema } of limits) expect(schema).toMatchObject({ type: 'integer', maximum: expect.any(Number) })
  // Digits as text would be a number.
  expect(parameters.filter(({ schema }) => String(schema.pattern).includes('\\d+$'))).toEqual([])
})

test('OpenAPI document: uses every common description', () => {
  const said = new Set(JSON.stringify(document).match(/(?<="description":")(?:[^"\\]|\\.)*/g))
  const idle = Object.entries({ ...PATH_PARAMETERS, ...PROPERTIES }).filter(
    ([, words]) => !said.has(JSON.stringify(words).slice(1, -1)),
  )
  expect(idle.map(([name]) => name)).toEqual([])
})

test('OpenAPI document: has one error schema with a valid example', () => {
  for (const { path, operation } of described()) {
    const isForeign = path.startsWith('/v1/')
    const errors = Object.entries(operation.responses).filter(([status]) => !status.startsWith('2'))
    expect(errors.length).toBeGreaterThan(0)
    for (const [status, { content, description }] of errors) {
      if (isForeign) {
        expect(content['application/json']?.schema).toEqual({
          $ref: `#/components/schemas/${path.includes('/messages') ? 'Anthropic' : 'Openai'}Error`,
        })
        continue
      }
      // Health is health while the program is being stopped.
      if (['getHealth', 'getReadiness'].includes(operation.operationId) && status === '503') continue
      // Clients read the text there.
      const name = operation.operationId === 'updateTool' && status === '404' ? 'TextError' : 'Error'
      expect(content['application/json']?.schema).toEqual({ $ref: `#/components/schemas/${name}` })
      expect(complaints({ $ref: `#/components/schemas/${name}` }, content['application/json']?.example)).toBeNull()
      if (status !== 'default') expect(content['application/json']?.example?.code).toBe(status)
      expect(description).not.toBe('Error')
    }
  }
})

/** Sends an example; in a form the name of a file stands for one. */
const sendExample = async ({ path, body }: Operation, example: object, headers: Record<string, string> = {}) => {
  if (body === 'json') return app.post(path, example, headers)
  const { file, image } = example as { file?: string; image?: string }
  const files = { ...(file && { file: fileOf(await speak('mp3'), file) }), ...(image && { image: fileOf(PNG, image) }) }
  return app.fetch(path, { method: 'POST', headers, body: formOf({ ...example, ...files }) })
}

describe.each(operations.map((operation) => [operation.name, operation] as const))(
  'OpenAPI operation %s',
  (_, operation) => {
    const { path, examples, body } = operation
    const at = () => document.paths[path]?.post as Described

    test.each(Object.keys(examples))(
      'has a valid example %j that returns 200 and the described response',
      async (name) => {
        const content = at().requestBody?.content[body === 'json' ? 'application/json' : 'multipart/form-data']
        const value = content?.examples[name]?.value ?? {}
        expect(complaints(content?.schema as Json, value)).toBeNull()
        const answer = await sendExample(operation, value)
        expect(answer.status).toBe(200)
        const type = answer.headers.get('content-type')?.split(';')[0] as string
        const schema = at().responses[200]?.content[type]?.schema as Json
        if (operation.binary) return expect(schema).toEqual({ type: 'string', format: 'binary' })
        const values = type === 'application/json' ? [answer.json()] : chunksOf(answer.text)
        expect(values.length).toBeGreaterThan(0)
        for (const one of values) expect(complaints(schema, one)).toBeNull()
      },
    )

    test('describes the headers of its response', async () => {
      const played = { 'x-understudy-scenario': 'stream-missing-done' }
      const example = Object.values(examples)[0] as { model: string }
      const model = example.model.replace(/^[^/]+\//, '')
      const answer = await sendExample(operation, { ...example, model }, played)
      const sent = [...answer.headers.keys()].filter(
        (name) => name === 'x-request-id' || name.startsWith('x-understudy-'),
      )
      // The session is not new to every operation, and no other instance knows it.
      const all = new Set([...sent, 'x-understudy-session-new', 'x-understudy-session-incomplete'])
      expect([...all].sort()).toEqual(Object.keys(at().responses[200]?.headers as Json).sort())
    })
  },
)
const chunksOf = (text: string) =>
  [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']) => JSON.parse(data) as Json)

test('OpenAPI control API: describes its responses', async () => {
  await app.post('/v2/router/chat/completions', operations[0]?.examples.greeting)
  const [newest] = (await app.fetch('/_understudy/traces')).json().data as { id: string }[]
  const ours = described().filter(
    ({ method, path }) => method === 'get' && /_understudy.(?:health|traces|scenario|sessions|verify)/.test(path),
  )
  for (const { path, method, operation } of ours) {
    const answer = await app.fetch(path.replace('{id}', newest?.id ?? '').replace('{name}', 'default'), {
      method: method.toUpperCase(),
    })
    expect(answer.status).toBe(200)
    expect(complaints(operation.responses[200]?.content['application/json']?.schema as Json, answer.json())).toBeNull()
  }
})

describe('OpenAPI chat request', () => {
  const properties = () => document.components.schemas.ChatCompletionsRequest?.properties as Record<string, Json>

  const withReferences = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    const entries = Object.entries(deref(value)).map(([key, one]) => [key, withReferences(one)])
    return Array.isArray(value) ? entries.map(([, one]) => one) : Object.fromEntries(entries)
  }
  const facts: [string, RegExp][] = [
    ['temperature', /"minimum":0,"maximum":2/],
    ['top_p', /"minimum":0,"maximum":1/],
    ['frequency_penalty', /"minimum":-2,"maximum":2/],
    ['n', /"minimum":1/],
    ['top_logprobs', /"maximum":20/],
    ['stop', /"maxItems":4/],
    ['metadata', /"maxLength":512/],
    ['stream', /"default":false/],
    ['retry', /"minimum":1,"maximum":5.*"default":3|"default":3.*"minimum":1,"maximum":5/],
    ['cache', /"default":1800/],
    ['load_balancer', /"default":0.5/],
    ['reasoning_effort', /"enum":\["none","minimal","low","medium","high","xhigh",null\]/],
    ['max_tokens', /"deprecated":true/],
    ['model', /openai\/gpt-4o/],
    ['messages', /"const":"developer"/],
  ]
  test.each(facts)('shows limits and defaults of %s', (name, fact) => {
    expect(JSON.stringify(withReferences(properties()[name]))).toMatch(fact)
  })

  test('has no number that only repeats the range of integers', () => {
    expect(JSON.stringify(document)).not.toContain(String(Number.MAX_SAFE_INTEGER))
  })

  test('requires only model and messages', () => {
    const { required } = document.components.schemas.ChatCompletionsRequest ?? {}
    expect(required).toEqual(['messages', 'model'])
  })
})
