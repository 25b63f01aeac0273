// Router calls find knowledge bases and evaluators in the workspace of their caller, and in no other of the session.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import type { TestApp } from '../support/app.ts'
import { createTestApp } from '../support/app.ts'
import { CHAT } from '../support/chat.ts'
import { errorOf } from '../support/errors.ts'
import { type Json, workspaceOf } from '../support/workspace.ts'

let app: TestApp
beforeEach(() => {
  app = createTestApp({ tokens: { a: { workspace: 'a' }, b: { workspace: 'b' } } })
})
afterEach(() => app.close())

const as = (token: string) => ({ authorization: `Bearer ${token}` })
const chat = (token: string, more: object) =>
  app.post(CHAT, { model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'When?' }], ...more }, as(token))

/** A knowledge base with one chunk of text. */
async function knowledge(token: string, key: string, text: string): Promise<Json> {
  const { ok } = workspaceOf(app, as(token))
  const base = await ok('POST', '/v2/knowledge', { key, display_name: key, path: 'Default' })
  const form = new FormData()
  form.set('file', new File([text], 'help.md'))
  const file = await app.fetch('/v2/files', { method: 'POST', body: form, headers: as(token) })
  const at = `/v2/knowledge/${base._id}/datasources`
  const made = await ok('POST', at, { file_id: file.json()._id })
  const { clock } = app.understudy.sessions.get('default')
  while ((await ok('GET', `${at}/${made._id}`)).status !== 'completed') await clock.sleep(1000)
  return base
}

describe('knowledge base of another workspace', () => {
  const bases = (id: unknown) => ({
    svc: { knowledge_bases: [{ knowledge_id: id, query: 'delivery', search_type: 'keyword_search' }] },
  })

  test('is not found by id or key', async () => {
    const { _id, key } = await knowledge('a', 'help', 'Delivery takes three days.')
    for (const name of [_id, key]) {
      expect((await chat('a', bases(name))).status).toBe(200)
      const answer = await chat('b', bases(name))
      expect(errorOf(answer.text, 404).code).toBe('knowledge_not_found')
      expect((await app.traceOf(answer)).retrievals).toEqual([])
    }
  })

  test('is not used when the caller has one of the same key', async () => {
    await knowledge('a', 'help', 'Delivery takes three days.')
    await knowledge('b', 'help', 'Delivery takes a week.')
    for (const [token, text] of [
      ['a', 'three days'],
      ['b', 'a week'],
    ] as const) {
      const { retrievals } = await app.traceOf(await chat(token, bases('help')))
      expect(retrievals[0]?.chunks.map((chunk) => chunk.text)).toEqual([`Delivery takes ${text}.`])
    }
  })
})

describe('stored data of another workspace', () => {
  const RESPONSES = '/v2/router/responses'
  const respond = (token: string, more: object) =>
    app.post(RESPONSES, { model: 'openai/gpt-4o', input: 'Go on.', ...more }, as(token))

  test('is not returned from the cache', async () => {
    const cache = { cache: { type: 'exact_match', ttl: 60 } }
    const found: (string | null)[] = []
    for (const token of ['a', 'b', 'a', 'b']) found.push((await chat(token, cache)).headers.get('x-understudy-cache'))
    expect(found).toEqual(['miss', 'miss', 'hit', 'hit'])
  })

  test('cannot be continued as a response', async () => {
    const first = (await respond('a', { instructions: 'A secret.' })).json() as { id: string; output: { id: string }[] }
    const previous_response_id = first.id
    expect((await respond('a', { previous_response_id })).status).toBe(200)
    const answer = await respond('b', { previous_response_id })
    expect(errorOf(answer.text, 400).code).toBe('previous_response_not_found')
  })

  test('cannot be referred to as an item', async () => {
    const first = (await respond('a', {})).json() as { output: { id: string }[] }
    const input = [
      { type: 'item_reference', id: first.output[0]?.id },
      { role: 'user', content: 'Go on.' },
    ]
    const tokens = async (token: string) =>
      ((await respond(token, { input })).json() as { usage: { input_tokens: number } }).usage.input_tokens
    expect(await tokens('a')).toBeGreaterThan(await tokens('b'))
  })
})

describe('evaluator of another workspace', () => {
  const evaluator = (token: string, values: string[]) =>
    workspaceOf(app, as(token)).ok('POST', '/v2/evaluators', {
      type: 'json_schema',
      key: 'short',
      schema: { enum: values },
      guardrail_config: { enabled: true, type: 'boolean', value: true },
    })
  const guarded = (id: unknown) => ({ guardrails: [{ id, execute_on: 'input' }] })

  test('is not found by id or key', async () => {
    const { _id, key } = await evaluator('a', [])
    for (const name of [_id, key]) {
      expect(errorOf((await chat('a', guarded(name))).text, 422).code).toBe('guardrail_violation')
      expect(errorOf((await chat('b', guarded(name))).text, 404).code).toBe('guardrail_not_found')
    }
  })
})
