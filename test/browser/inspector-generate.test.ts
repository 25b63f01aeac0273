// What the inspector generates from a call: a fixture, a scenario and a test that repeat it, and the difference between two calls.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { YAML } from 'bun'
import type { Page } from 'playwright-core'
import { accepted } from '../support/accepted.ts'
import { createTestApp, type TestApp } from '../support/app.ts'
import { CHAT, user } from '../support/chat.ts'
import { serveHere } from '../support/cli.ts'
import { type InspectorBrowser, inspectorBrowser, screenshot } from '../support/inspector.ts'
import type { Server } from '../support/server.ts'

let app: TestApp
beforeAll(() => {
  app = createTestApp()
})
afterAll(() => app.close())

interface Made {
  fixture: { name: string; text: string } | null
  scenario: { name: string; text: string } | null
  test: { name: string; text: string } | null
}
const made = async (session: string, id: string | null) =>
  (await app.fetch(`/s/${session}/_understudy/traces/${id}/reproduction`)).json() as unknown as Made

test('inspector generate: makes a fixture and a scenario that repeat a call', async () => {
  const json = { 'content-type': 'application/json' }
  const fixtures = [
    {
      name: 'own',
      match: { operation: 'chat.completions' },
      replies: [{ content: 'Only once: 17' }, { content: 'later' }],
    },
  ]
  await accepted(app.post('/_understudy/sessions', { name: 'one', scenario: 'rate-limit-burst', fixtures }))
  const request = { model: 'openai/gpt-4o', ...user('What is it?'), retry: { count: 3 } }
  const first = await app.post(`/s/one${CHAT}`, request)
  const { fixture, scenario, test: file } = await made('one', first.headers.get('x-understudy-trace'))
  const scenarioBody = YAML.parse(scenario?.text ?? '') as { name: string }
  const body = { name: 'two', scenario: scenarioBody, fixtures: [YAML.parse(fixture?.text ?? '')] }
  const begun = await app.post('/_understudy/sessions', body)
  expect([begun.status, begun.json().scenario]).toEqual([200, scenarioBody.name])
  const again = await app.post(`/s/two${CHAT}`, request)
  const facts = ({ headers, json: read }: typeof first) => ({
    attempts: headers.get('x-understudy-attempts'),
    said: (read().choices as { message: { content: string } }[])[0]?.message.content,
  })
  expect(facts(again)).toEqual({ attempts: '3', said: 'Only once: 17' })
  expect(facts(again)).toEqual(facts(first))
  expect(
    await app.fetch('/s/two/_understudy/scenario', { headers: json }).then((one) => one.json().rules),
  ).toMatchObject([{ applied: 1 }, { applied: 1 }])
  expect(new Bun.Transpiler({ loader: 'ts' }).transformSync(file?.text ?? '')).toContain(
    'expect(response.status).toBe(200)',
  )
})

test('inspector generate: makes a fixture of an error, and no scenario of a successful call', async () => {
  const failed = await app.post(CHAT, { model: 'nobody/x', ...user('Hi') })
  const one = await made('default', failed.headers.get('x-understudy-trace'))
  expect(YAML.parse(one.fixture?.text ?? '')).toMatchObject({ reply: { error: { status: 404 } } })
  const well = await app.post(CHAT, { model: 'openai/gpt-4o', ...user('Hi') })
  expect((await made('default', well.headers.get('x-understudy-trace'))).scenario).toBeNull()
})

let server: Server
let browser: InspectorBrowser
let page: Page
beforeAll(async () => {
  ;[server, browser] = await Promise.all([serveHere(['--db', ':memory:', '--instance-strict'], {}), inspectorBrowser()])
  const headers = { 'content-type': 'application/json', authorization: 'Bearer session:shop' }
  for (const text of ['How much is it?', 'How much was it?']) {
    const body = JSON.stringify({ model: 'openai/gpt-4o', messages: [{ role: 'user', content: text }] })
    await fetch(`${server.url}/v2/router/chat/completions`, { method: 'POST', headers, body })
  }
  page = await browser.open(`${server.url}/#/calls?session=shop`)
}, 90_000)
afterAll(async () => {
  await browser?.close()
  await server?.stop()
})

test('inspector generate: shows the fixture as a file, and a session can use it', async () => {
  await page.locator('.row').first().click()
  await page.getByRole('tab', { name: 'Generate' }).click()
  const text = page.locator('.editor .cm-content')
  await text.waitFor()
  await screenshot(page, 'make')
  const fixture = YAML.parse((await text.locator('.cm-line').allTextContents()).join('\n')) as Record<string, object>
  expect(fixture.match).toMatchObject({ model: 'openai/gpt-4o', user: 'How much was it?' })
  await page.getByRole('button', { name: /^Create the session again-/ }).click()
  const session = await page
    .getByRole('region', { name: /^Session again-/ })
    .getByRole('heading')
    .first()
    .textContent()
  const headers = { 'content-type': 'application/json', authorization: `Bearer session:${session}` }
  const body = JSON.stringify({ model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'How much was it?' }] })
  const again = await fetch(`${server.url}/v2/router/chat/completions`, { method: 'POST', headers, body })
  expect(again.headers.get('x-understudy-fixture')).toBe(String(fixture.name))
  await page.goBack()
  await page.locator('.row').first().waitFor()
})

test('inspector comparison: marks what differs in two requests', async () => {
  const ids = await page.locator('.row').evaluateAll((rows) => rows.map((row) => row.id.replace('call-', '')))
  await page.evaluate((hash) => void (location.hash = hash), `#/compare?a=${ids[0]}&b=${ids[1]}`)
  const request = page.getByRole('region', { name: 'Request (parsed)', exact: true })
  await request.locator('.cm-changedText').first().waitFor()
  await page.getByRole('region', { name: 'Response (raw)', exact: true }).waitFor()
  await screenshot(page, 'compare')
  expect(browser.complaints).toEqual([])
})
