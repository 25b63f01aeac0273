// docs/workspace.md: each of its calls works as written, and what is not emulated says so.
import { afterAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTestApp, SHIPPED_WORKSPACE } from '../support/app.ts'
import { strictTextNotFound } from '../support/strict/neighbours.ts'
import type { Json } from '../support/workspace.ts'

const app = createTestApp(SHIPPED_WORKSPACE)
afterAll(app.close)
const page = readFileSync(join(import.meta.dir, '..', '..', 'docs', 'workspace.md'), 'utf8')
const calls = [...page.matchAll(/```http\n(\w+) (\S+)\n(.*?)```\n\n```json\n(.*?)```/gs)]

test('docs/workspace.md: gets the documented response to every call', async () => {
  expect(calls).toHaveLength(4)
  expect(calls).toHaveLength(page.split('```http').length - 1)
  for (const [, method = '', path = '', body = '', answer = ''] of calls) {
    const headers = { 'content-type': 'application/json' }
    const { status, json } = await app.fetch(path, { method, headers, body })
    expect([path, status]).toEqual([path, 200])
    expect(json()).toMatchObject(JSON.parse(answer))
  }
})

const NOT_THERE: [string, string][] = [
  ['/v2/prompts', 'prompts is not emulated. Under /v2 there are agents, contacts, datasets, evaluators, '],
  ['/v2/prompts/01ABC/versions', 'prompts is not emulated'],
  ['/v2/identities/one', 'identities is not emulated'],
  ['/v2/datasets/1/2/3/4/5', 'of datasets this is not emulated. There are /v2/datasets, /v2/datasets/:dataset_id'],
]
test.each(NOT_THERE)('%s: returns 404 with what is and is not emulated', async (path, said) => {
  for (const method of ['GET', 'POST', 'DELETE']) {
    const answer = await app.fetch(path, { method })
    expect([answer.status, answer.json().code]).toEqual([404, '404'])
    expect(answer.json().message).toContain(said)
  }
})

test('identities: return an error text that its clients can read', async () => {
  expect(strictTextNotFound.parse((await app.fetch('/v2/identities/one')).json() as Json).error).toContain(
    'not emulated',
  )
})
