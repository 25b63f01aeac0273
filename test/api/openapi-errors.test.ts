// The errors in the OpenAPI document are those that the server really returns, at every operation.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020.js'
import { ERRORS } from '../../src/docs/openapi.ts'
import { testApps } from '../support/app.ts'
import { openApiDocument } from '../support/document.ts'
import { type DescribedOperation, PROVOCATIONS, provokeAll } from '../support/provocations.ts'
import type { Json } from '../support/workspace.ts'

const apps = testApps()
afterAll(() => apps.close())
const app = apps.appWith()

describe('OpenAPI error example', () => {
  const hello = { model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hello' }] }
  const guarded = {
    ...hello,
    messages: [{ role: 'user', content: 'Write to ada@example.com' }],
    guardrails: [{ id: 'svc_pii_detection', execute_on: 'input' }],
  }
  const failing = (fault: object) => ({ name: 'errors', clock: 'virtual', rules: [{ name: 'rule', fault }] })

  /** A call that ends so, by status: its body, headers, and what the provider does. */
  const CALLS: Record<number, { body?: object | string; headers?: Record<string, string>; fault?: object }> = {
    400: { body: { ...hello, temperature: 3 } },
    401: { headers: { authorization: '' } },
    415: { body: 'Hello', headers: { 'content-type': 'text/plain' } },
    422: { body: guarded },
    500: { fault: { type: 'http-error', status: 500 } },
    502: { fault: { type: 'reset' } },
    503: { fault: { type: 'http-error', status: 503 } },
    504: { body: { ...hello, timeout: { call_timeout: 1000 } }, fault: { type: 'hang' } },
  }

  test.each(Object.entries(CALLS))(
    'is what the server returns with status %s',
    async (status, { body = hello, headers, fault }) => {
      if (fault) await app.post('/_understudy/sessions', { name: `of-${status}`, scenario: failing(fault) })
      const answer = await app.fetch(`${fault ? `/s/of-${status}` : ''}/v2/router/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      })
      const { error } = JSON.parse(answer.text)
      const { code, message, param = null } = ERRORS[Number(status)] ?? {}
      expect([answer.status, { ...error }]).toEqual([Number(status), { ...error, code, message, param }])
    },
  )
})

interface Document {
  paths: Record<string, Record<string, Described>>
}
interface Described {
  operationId: string
  requestBody?: { content: Record<string, { examples?: Record<string, { value: Json }> }> }
  responses: Record<string, Json>
}

/** Operation and status, in words. */
const pair = (id: string, status: string | number) => `${id} ${status}`
/** Statuses that stand for any others in the document. */
const keyOf = ({ responses }: DescribedOperation, status: number) =>
  [String(status), `${Math.floor(status / 100)}XX`, 'default'].find((key) => key in responses)

// What stands for bugs of this program and for a full disk cannot be provoked here, and where it says nothing else
// its description explains it; too many waiters are those of verify-wait.test.ts.
const ONLY_EXPLAINED = [
  /^\w+ default$/,
  /^openaiModels? 5XX$/,
  /^anthropicCountTokens 5XX$/,
  /^verify(?:Expectations)? 429$/,
]

describe('OpenAPI error responses', () => {
  const operations: DescribedOperation[] = []
  const given = new Map<string, string>()
  const wrong: string[] = []
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  const validators = new Map<string, ValidateFunction>()

  /** What a body of an error has that the document does not, or lacks. */
  function complaints(described: Json, text: string): unknown {
    const path = '$ref' in described ? `document${described.$ref}` : undefined
    const content = path ? { $ref: `${path}/content/application~1json/schema` } : contentOf(described)
    const schema = JSON.stringify(content).replaceAll('"#/', '"document#/')
    const validate = validators.get(schema) ?? ajv.compile(JSON.parse(schema))
    validators.set(schema, validate)
    return validate(JSON.parse(text)) ? undefined : validate.errors
  }
  const contentOf = ({ content }: Json) => (content as { 'application/json': Json })['application/json'].schema

  beforeAll(async () => {
    const document = await openApiDocument<Document>()
    ajv.addSchema(document, 'document')
    for (const [path, methods] of Object.entries(document.paths))
      for (const [method, { operationId: id, requestBody, responses }] of Object.entries(methods)) {
        const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? []
        const example = content && (Object.values(content.examples ?? {})[0]?.value ?? {})
        operations.push({
          id,
          method: method.toUpperCase(),
          path,
          responses,
          example,
          form: type === 'multipart/form-data',
        })
      }
  }, 60_000)

  test.each(PROVOCATIONS.map((provocation) => [provocation.name, provocation] as const))(
    'describe every error caused by %s',
    async (name, provocation) => {
      await provokeAll(provocation, operations, async (operation, answer) => {
        const { status } = answer
        if (status < 400) return answer.body?.cancel()
        const text = await answer.text()
        const key = keyOf(operation, status)
        if (key === undefined) wrong.push(`${pair(operation.id, status)}: ${name}`)
        else given.set(pair(operation.id, key), name)
        const against = key && complaints(operation.responses[key] as Json, text)
        if (against) wrong.push(`${pair(operation.id, status)} by ${name}: ${JSON.stringify(against)} ${text}`)
      })
      expect(wrong.splice(0)).toEqual([])
    },
    60_000,
  )

  test('are all provoked', () => {
    const documented = operations.flatMap(({ id, responses }) =>
      Object.keys(responses)
        .filter((status) => !status.startsWith('2'))
        .map((status) => pair(id, status)),
    )
    const left = documented.filter((one) => !given.has(one) && !ONLY_EXPLAINED.some((shape) => shape.test(one)))
    expect(left).toEqual([])
  })
})
