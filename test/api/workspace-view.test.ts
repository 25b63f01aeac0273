// The workspace as the inspector reads it: like a client, but no scenario and no verdict counts its calls.

import { afterAll, expect, test } from 'bun:test'
import { createTestApp } from '../support/app.ts'
import { playing } from '../support/scenario.ts'
import { ENDINGS, quiet, submitted, taskSession } from '../support/task-clients.ts'

const app = createTestApp()
afterAll(app.close)

const RULES = [{ at: 'workspace', when: { calls: 2 }, fault: { type: 'http-error', status: 503 } }]
const view = (prefix: string, path: string) =>
  app.fetch(`${prefix}/_understudy/workspace?${new URLSearchParams({ path })}`)

test('workspace view: returns what a client gets, without a call that a scenario counts', async () => {
  const { prefix, rule } = await playing(app, RULES)
  const body = JSON.stringify({ display_name: 'One', path: 'Default' })
  const headers = { 'content-type': 'application/json' }
  const created = await app.fetch(`${prefix}/v2/datasets`, { method: 'POST', headers, body })
  const { _id: id } = created.json() as { _id: string }
  for (const path of ['/v2/datasets?limit=1', `/v2/datasets/${id}`, `/v2/datasets/${id}/datapoints`]) {
    const { status, text } = await view(prefix, path)
    expect([path, status]).toEqual([path, 200])
    expect(JSON.parse(text)).toMatchObject(path.endsWith(id) ? { _id: id, display_name: 'One' } : { object: 'list' })
  }
  expect(await rule()).toMatchObject({ triggered: 0 })
  const verdict = (await app.fetch(`${prefix}/_understudy/verify`)).json() as { workspace_calls: number }
  expect(verdict.workspace_calls).toBe(1)
  expect((await app.fetch(`${prefix}/v2/datasets`)).status).toBe(503)
  expect(await rule()).toMatchObject({ triggered: 1 })
})

test('workspace view: does not count as a client that has read the end of a task', async () => {
  const one = await taskSession(app)
  const [ending = ''] = ENDINGS
  const id = await submitted(one, ending)
  const ended = async () => (await quiet(one)).findings.map(({ kind }) => kind)
  expect(await ended()).toEqual(['gave-up'])
  const path = `/v2/agents/${ending}/tasks/${id}`
  for (const seen of [path, `/v2/agents/${ending}/tasks`])
    await one.ok('GET', `/_understudy/workspace?${new URLSearchParams({ path: seen })}`)
  expect(await ended()).toEqual(['gave-up'])
  await one.ok('GET', path)
  expect(await ended()).toEqual([])
})

test.each([
  ['/v2/nothing', 404, '/v2/nothing is not a GET path of the workspace'],
  ['/v2/datasets/00000000-0000-4000-8000-000000000000', 404, ''],
  ['/v2/datasets?limit=no', 400, "'limit' must be a whole number"],
  ['/_understudy/sessions', 404, '/_understudy/sessions is not a GET path of the workspace'],
  ['/v2/../_understudy/sessions', 404, '/_understudy/sessions is not a GET path of the workspace'],
  ['/v2/router/chat/completions', 404, 'is not a GET path of the workspace'],
])('workspace view: responds to %s with %i', async (path, status, message) => {
  const answer = await view('', path)
  expect([answer.text, answer.status]).toEqual([expect.stringContaining(message), status])
})
