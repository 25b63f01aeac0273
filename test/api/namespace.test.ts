// --namespace: deployments of this API differ in the name of the service options, in requests, errors and the OpenAPI document.
import { afterAll, describe, expect, test } from 'bun:test'
import { createTestApp } from '../support/app.ts'
import { errorOf } from '../support/errors.ts'
import { folderWith } from '../support/fixtures.ts'

const CHAT = '/v2/router/chat/completions'
const folder = folderWith({
  'chat.completions/vip.yaml': 'match: { body: { svc.identity.id: vip } }\nreply: { content: Welcome back }',
})
const acme = createTestApp({ namespace: 'acme', fixtures: [folder.path] })
const standard = createTestApp({ fixtures: [folder.path] })
afterAll(() => {
  acme.close()
  standard.close()
  folder.remove()
})
const say = (content: string, more: object = {}) => ({
  model: 'openai/gpt-4o',
  messages: [{ role: 'user', content }],
  ...more,
})

describe('namespaced service options', () => {
  const options = { name: 'support', identity: { id: 'vip' }, thread: { id: 't1' }, inputs: { who: 'Ada' } }

  test('are read under the configured name and traced as received', async () => {
    const body = say('I am {{who}}', { acme: options })
    const answer = await acme.post(CHAT, body)
    expect(answer.headers.get('x-understudy-fixture')).toBe('chat.completions/vip')
    expect(await acme.traceOf(answer)).toMatchObject({
      name: 'support',
      identity: { id: 'vip' },
      thread: { id: 't1' },
      request: body,
    })
  })
  test('are an unknown field under any other name', async () => {
    for (const [app, name] of [
      [acme, 'svc'],
      [standard, 'acme'],
    ] as const) {
      const answer = await app.post(CHAT, say('x', { [name]: options }))
      expect(answer.status).toBe(200)
      expect(answer.headers.get('x-understudy-fixture')).toBe('generated')
      expect(await app.traceOf(answer)).toMatchObject({ name: 'chat.completions', identity: null })
    }
  })
})

describe('errors with a namespace', () => {
  test('name the field as the client does', async () => {
    const body = (name: string) => say('x', { [name]: { retry: { count: 9 } } })
    for (const [app, name] of [
      [acme, 'acme'],
      [standard, 'svc'],
    ] as const) {
      const answer = await app.post(CHAT, body(name))
      const { param, message } = errorOf(answer.text, 400)
      expect(param).toBe(`${name}.retry.count`)
      expect(message).toStartWith(`'${name}.retry.count' must be at most 5`)
      expect((await app.traceOf(answer)).error).toMatchObject({ param: `${name}.retry.count` })
    }
  })
})

describe('OpenAPI document with a namespace', () => {
  const documentOf = async (app: typeof acme) => (await app.fetch('/swagger/json')).text
  test('has the configured name everywhere and the default one nowhere', async () => {
    const text = await documentOf(acme)
    expect(text).not.toMatch(/\bsvc/)
    const { components } = JSON.parse(text)
    const { properties } = components.schemas.ChatCompletionsRequest
    expect(Object.keys(properties)).toContain('acme')
    expect(properties.guardrails.description).toContain('`acme_pii_detection`')
  })
  test('is otherwise the same', async () => {
    expect((await documentOf(acme)).replaceAll('acme', 'svc')).toBe(await documentOf(standard))
  })
})
