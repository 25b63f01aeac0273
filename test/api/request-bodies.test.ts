// Optional bodies, and the first error of a path with an unknown id.
import { afterAll, describe, expect, test } from 'bun:test'
import { agentSession } from '../support/agents.ts'
import { createTestApp, SHIPPED_WORKSPACE } from '../support/app.ts'
import { openApiDocument } from '../support/document.ts'
import { errorOf } from '../support/errors.ts'

const app = createTestApp(SHIPPED_WORKSPACE)
afterAll(app.close)

interface Documented {
  requestBody?: { required: boolean; content: Record<string, unknown> }
}
const document = await openApiDocument<{ paths: Record<string, Record<string, Documented>> }>()
/** Each path with a JSON body, and whether it must have one. */
const withBody = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).flatMap(([method, { requestBody }]) =>
    requestBody?.content['application/json']
      ? [{ path, method: method.toUpperCase(), required: requestBody.required }]
      : [],
  ),
)
const ask = (method: string, path: string, body?: string) =>
  app.fetch(path, {
    method,
    ...(body !== undefined && { body, headers: { 'content-type': 'application/json' } }),
  })

// It makes the session that it names.
const inIds = withBody.filter(({ path, method }) => path.includes('{') && method !== 'PUT')
test.each(inIds.map(({ method, path }) => [method, path] as const))(
  '%s %s: reports an unknown id before it looks at the body',
  async (method, path) => {
    const named = path.replaceAll(/\{\w+\}/g, 'unknown')
    for (const body of [undefined, '{"half":', '[]', '"text"', '{"no_such_field":1}', '{}']) {
      const { status, text } = await ask(method, named, body)
      expect([body, status]).toEqual([body, 404])
      expect(text).toContain('unknown')
    }
  },
)

test('OpenAPI: marks bodies with only optional fields as optional', () => {
  const optional = withBody.filter(({ required }) => !required).map(({ path }) => path)
  expect(optional).toContain('/_understudy/tasks/{task_id}/approve')
  expect(optional).toContain('/_understudy/tasks/{task_id}/reject')
  expect(optional).toContain('/v2/knowledge/{knowledge_id}/datasources/{datasource_id}/chunks/list')
  expect(optional).toContain('/v2/knowledge/{knowledge_id}/datasources/{datasource_id}/chunks/count')
  expect(optional).not.toContain('/v2/router/chat/completions')
})

describe('request without a body', () => {
  const idsIn = async () => {
    const { data: bases } = (await app.fetch('/v2/knowledge')).json() as { data: { _id: string }[] }
    const base = bases[0]?._id
    const { data: sources } = (await app.fetch(`/v2/knowledge/${base}/datasources`)).json() as {
      data: { _id: string }[]
    }
    return `/v2/knowledge/${base}/datasources/${sources[0]?._id}`
  }
  test.each(['list', 'count'])('equals one with {} when pages are read (%s)', async (verb) => {
    const path = `${await idsIn()}/chunks/${verb}`
    const [none, empty] = [await ask('POST', path), await ask('POST', path, '{}')]
    expect([none.status, none.text]).toEqual([200, empty.text])
  })

  test.each(['approve', 'reject'])('decides about all calls (%s)', async (decision) => {
    const one = agentSession(app, {})
    await one.begin([[{ name: 'current_date' }], 'Done.'])
    await one.agent({ settings: { tool_approval_required: 'all', tools: [{ type: 'current_date' }] } })
    const { id } = await one.ask('Date?')
    const answer = await app.fetch(`/_understudy/tasks/${id}/${decision}`, { method: 'POST', headers: one.headers })
    expect(answer.status).toBe(200)
    expect((await one.settled(id)).status.state).toBe('completed')
  })

  test('changes nothing in an update with only optional fields', async () => {
    const { data } = (await app.fetch('/v2/datasets')).json() as { data: { _id: string; display_name: string }[] }
    const { status, text } = await ask('PATCH', `/v2/datasets/${data[0]?._id}`)
    expect([status, JSON.parse(text).display_name]).toEqual([200, data[0]?.display_name])
  })

  test('is rejected when something is required', async () => {
    const { message } = errorOf((await ask('POST', '/v2/datasets')).text, 400)
    expect(message).toContain('the body')
  })
})
