// The inspector in a real browser, of a server in this process: calls as they arrive, filters, one call over time, and actions.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { serveHere } from '../support/cli.ts'
import { type InspectorBrowser, inspectorBrowser, screenshot } from '../support/inspector.ts'
import type { Server } from '../support/server.ts'

let server: Server
let browser: InspectorBrowser
let page: Page

const json = { 'content-type': 'application/json', authorization: 'Bearer any' }
async function send(method: string, path: string, body?: unknown, session = 'default') {
  const headers = { ...json, 'x-understudy-session': session }
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok && !path.startsWith('/v2/router')) throw new Error(`${response.status} ${text}`)
  return text
}
const chat = (content: string, more: object = {}) => ({
  model: 'openai/gpt-4o',
  messages: [{ role: 'user', content }],
  ...more,
})
const call = (session: string, content = 'Hello!', more: object = {}) =>
  send('POST', '/v2/router/chat/completions', chat(content, more), session)
const rows = () => page.locator('.grid .row')
/** Goes to a view of the page that is open. */
const visit = (hash: string) => page.evaluate((one) => void (location.hash = one), hash)

beforeAll(async () => {
  ;[server, browser] = await Promise.all([serveHere(['--db', ':memory:'], {}), inspectorBrowser()])
  page = await browser.open(`${server.url}/`)
}, 90_000)
afterAll(async () => {
  await browser?.close()
  await server?.stop()
})

test('inspector start page: shows snippets with the right address and sends a first call', async () => {
  await page.getByRole('heading', { name: 'Connect your app' }).waitFor()
  for (const name of ['curl', 'OpenAI SDK', 'AI SDK', 'LangChain', 'Python']) {
    await page.getByRole('tab', { name, exact: true }).click()
    expect(await page.getByRole('tabpanel').textContent()).toContain(`${server.url}/v1`)
  }
  await page.getByRole('tab', { name: 'Anthropic SDK', exact: true }).click()
  expect(await page.getByRole('tabpanel').textContent()).toContain(`baseURL: '${server.url}'`)
  await page.getByRole('button', { name: 'Send a test call' }).click()
  await rows().first().waitFor()
  expect(await rows().count()).toBe(1)
})

test('inspector list: shows calls as they are made, newest first', async () => {
  await call('default', 'Good morning!', { model: 'anthropic/claude-sonnet-4-5' })
  await rows().filter({ hasText: 'anthropic/claude-sonnet-4-5' }).waitFor()
  expect(await rows().first().textContent()).toContain('anthropic/claude-sonnet-4-5')
})

test('inspector list: is filtered by the address, by words in bodies too, and moved through by keys', async () => {
  await call('other', 'A needle in the hay')
  await call('other', 'Nothing here', { model: 'nobody/x' })
  await visit('#/calls?session=other')
  await page.getByText('2 of 4').waitFor()
  await page.getByRole('searchbox').fill('needle')
  await page.getByText('1 of 4').waitFor()
  expect(page.url()).toContain('text=needle')
  await visit('#/calls?status=4xx')
  await page.getByText('1 of 4').waitFor()
  await visit('#/calls')
  await page.getByText('4 calls').waitFor()
  await page.getByRole('grid').focus()
  await page.keyboard.press('n')
  const chosen = page.locator('.row.chosen')
  expect(await chosen.textContent()).toContain('404')
  await page.keyboard.press('j')
  expect(await chosen.textContent()).toContain('200')
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('/')
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('search')
  await page.keyboard.press('Escape')
})

test('inspector list: shows time fields on focus and when the address has a time', async () => {
  await visit('#/calls?since=2000-01-01T00:00:00.000Z')
  await page.getByLabel('From', { exact: true }).waitFor()
  await visit('#/calls')
  await page.getByRole('searchbox').focus()
  await page.getByLabel('To', { exact: true }).waitFor()
  await page.keyboard.press('Escape')
})

test('inspector timeline: shows retries, waits, faults and a fallback against what the client saw', async () => {
  await send('POST', '/_understudy/sessions', { name: 'storm', clock: 'virtual' })
  await send('PUT', '/_understudy/scenario', { name: 'unavailable-burst' }, 'storm')
  const more = { retry: { count: 1, on_codes: [503] }, fallbacks: [{ model: 'anthropic/claude-sonnet-4-5' }] }
  await call('storm', 'Are you there?', more)
  await visit('#/calls?session=storm')
  await page.locator('.row').first().click()
  const chart = page.getByRole('table', { name: 'Timeline of the call' })
  await chart.waitFor()
  const bars = await chart.getByRole('img').evaluateAll((all) => all.map((one) => one.getAttribute('aria-label') ?? ''))
  expect(bars[0]).toStartWith('first openai/gpt-4o, HTTP error 503')
  expect(bars.some((label) => label.startsWith('retry openai/gpt-4o'))).toBe(true)
  expect(bars.at(-1)).toStartWith('call client, ')
  expect(await chart.locator('.tag.fault').count()).toBeGreaterThan(0)
  expect(await chart.getByRole('rowgroup', { name: 'Client' }).count()).toBe(1)
  await screenshot(page, 'call')
  await page.getByRole('tab', { name: 'cURL' }).click()
  const command = await page.getByRole('region', { name: 'Command', exact: true }).textContent()
  expect(command).toContain(`curl -sS '${server.url}/v2/router/chat/completions'`)
  expect(command).toContain("-H 'x-understudy-scenario: unavailable-burst'")
})

test('inspector call: does not overflow its head with a long name', async () => {
  await call('long', 'Hello!', { model: `openai/${'x'.repeat(300)}`, name: 'A long name '.repeat(20) })
  await visit('#/calls?session=long')
  await page.locator('.row').first().click()
  await page.locator('.call-head').waitFor()
  expect(await page.locator('.call-head').evaluate((head) => head.scrollWidth - head.clientWidth)).toBe(0)
  // Whoever is in the panel with the keyboard goes on in the list.
  await page.getByRole('tab', { name: 'Request' }).focus()
  await page.keyboard.press('Escape')
  await page.waitForFunction(() => document.activeElement?.getAttribute('role') === 'grid')
})

test('inspector call: shows stored markup as text', async () => {
  const evil = '<script>window.hit=1</script><img src=x onerror="window.hit=1">"><svg onload=window.hit=1>'
  await send('POST', '/_understudy/sessions', {
    name: 'evil',
    clock: 'virtual',
    fixtures: [{ name: evil, match: { operation: 'chat.completions' }, replies: [{ content: evil }] }],
  })
  await call('evil', evil, { metadata: { note: evil }, thread: { id: evil } })
  await visit('#/calls?session=evil')
  await page.locator('.row').first().click()
  for (const tab of ['Timeline', 'Request', 'Response', 'Headers', 'cURL', 'Trace']) {
    await page.getByRole('tab', { name: tab }).click()
    await page.getByRole('tabpanel', { name: tab }).waitFor()
  }
  await page.getByRole('tab', { name: 'Response' }).click()
  await page.getByRole('radio', { name: 'Parsed' }).check()
  expect(await page.getByRole('tabpanel').textContent()).toContain(evil)
  expect(await page.evaluate(() => (globalThis as { hit?: number }).hit)).toBeUndefined()
  expect(await page.locator('main img, main script').count()).toBe(0)
})

test('inspector: activates another scenario and shows its rules and findings', async () => {
  await visit('#/scenarios?session=storm')
  const scenario = page.getByRole('region', { name: 'Scenario' })
  await scenario.getByRole('heading', { name: 'unavailable-burst' }).waitFor()
  expect(await page.getByRole('region', { name: 'Rules' }).textContent()).toContain('http-error')
  await page.getByRole('region', { name: 'Verdict' }).waitFor()
  await page.locator('figure.chart canvas').waitFor()
  await screenshot(page, 'scenarios')
  await scenario.getByRole('combobox').selectOption('outage')
  await scenario.getByRole('button', { name: 'Activate', exact: true }).click()
  await scenario.getByRole('heading', { name: 'outage' }).waitFor()
  expect(JSON.parse(await send('GET', '/_understudy/scenario', undefined, 'storm')).scenario).toBe('outage')
})

test('scenario editor: marks mistakes at their lines, applies a valid text and reverts changes', async () => {
  await visit('#/scenarios?session=storm')
  const scenario = page.getByRole('region', { name: 'Scenario' })
  await scenario.getByText('Edit', { exact: true }).click()
  const text = scenario.getByRole('textbox', { name: 'Scenario as YAML' })
  await text.waitFor()
  await text.press('Control+End')
  await text.pressSequentially('n: 1')
  await scenario.getByText(/^Line \d+: /).waitFor()
  expect(await scenario.locator('.cm-remark').count()).toBe(1)
  expect(await scenario.getByRole('button', { name: 'Apply' }).isDisabled()).toBe(true)
  await screenshot(page, 'scenario-editor')
  await scenario.getByRole('button', { name: 'Revert' }).click()
  await scenario.getByText('Valid', { exact: true }).waitFor()
  await text.press('Control+A')
  await text.press('Delete')
  await page.keyboard.insertText('name: own\nrules:\n  - name: refused\n    fault: { type: http-error, status: 418 }\n')
  await scenario.getByText('Valid', { exact: true }).waitFor()
  const colors = await text.evaluate((element) =>
    ['.cm-line', '.cm-syntax-propertyName', '.cm-syntax-content'].map((selector) => {
      const found = element.querySelector(selector)
      return found && getComputedStyle(found).color
    }),
  )
  // The line, a key and a text.
  expect(new Set(colors).size).toBe(3)
  expect(colors).not.toContain(null)
  await scenario.getByRole('button', { name: 'Apply' }).click()
  await scenario.getByRole('heading', { name: 'own' }).waitFor()
  // It goes by no name that is known, and yet it is the one that is chosen and can be begun anew.
  expect(await scenario.getByRole('combobox').inputValue()).toBe('own')
  await scenario.getByRole('button', { name: 'Restart' }).click()
  await visit('#/scenarios?session=other')
  await scenario.getByRole('heading', { name: 'No active scenario' }).waitFor()
  expect(await scenario.getByRole('combobox').inputValue()).toBe('')
  await call('storm', 'Tea?')
  expect(JSON.parse(await send('GET', '/_understudy/calls?limit=1', undefined, 'storm')).data[0].status).toBe(418)
})

test('inspector stream: shows the wire, the events with times, and the assembled response', async () => {
  await call('streams', 'Tell me about ships', { stream: true })
  await visit('#/calls?session=streams')
  await page.locator('.row').first().click()
  await page.getByRole('tab', { name: 'Response' }).click()
  await page.getByRole('radio', { name: 'Parsed' }).check()
  await page.getByRole('region', { name: 'Response text' }).waitFor()
  await page.getByRole('radio', { name: 'Events' }).check()
  const events = page.getByRole('table', { name: 'Events with their times from the start of the call' })
  await events.waitFor()
  expect(await events.getByRole('row').nth(1).textContent()).toMatch(/ ?m?sdata: \{"id"/)
  await screenshot(page, 'events')
  await page.getByRole('radio', { name: 'Raw' }).check()
  expect(await page.getByRole('region', { name: 'Raw response' }).textContent()).toContain('data: [DONE]')
  await page.getByRole('tab', { name: 'Headers' }).click()
  expect(await page.getByRole('tabpanel').textContent()).toContain('Bearer (masked)')
})

test('inspector direct call: shows the sent bytes, their end, and a command that repeats it', async () => {
  const body = '{ "model":"gpt-4o", "stream":true, "own":1, "messages":[{"role":"user","content":"It\'s me"}] }'
  const headers = {
    'content-type': 'application/json',
    authorization: 'Bearer any',
    'x-understudy-scenario': 'stream-cut',
  }
  const response = await fetch(`${server.url}/s/direct/v1/chat/completions`, { method: 'POST', headers, body })
  let got = ''
  try {
    for await (const piece of response.body ?? []) got += new TextDecoder().decode(piece)
  } catch {
    // It is cut.
  }
  await visit('#/calls?session=direct')
  await page.locator('.row').first().click()
  await page.getByRole('rowgroup', { name: 'Provider' }).waitFor()
  expect(await page.locator('.call-head h2').textContent()).toEndWith('direct')
  await page.getByRole('tab', { name: 'Response' }).click()
  expect(await page.getByRole('region', { name: 'Raw response' }).textContent()).toBe(got)
  expect(await page.locator('[data-ended]').textContent()).toContain('then the connection was reset')
  await screenshot(page, 'direct')
  await page.getByRole('tab', { name: 'Request' }).click()
  expect(await page.getByRole('region', { name: 'Raw request' }).textContent()).toBe(body)
  await page.getByRole('tab', { name: 'cURL' }).click()
  const command = await page.getByRole('region', { name: 'Command', exact: true }).textContent()
  const repeated = Bun.spawn(['sh', '-c', command ?? ''], { stderr: 'ignore' })
  const again = await new Response(repeated.stdout).text()
  const without = (text: string) => text.replace(/chatcmpl-\w+|"created":\d+/g, '')
  expect(without(again)).toBe(without(got))
  expect(got).toContain('data: {')
})

test('inspector session: freezes and moves the clock', async () => {
  await visit('#/sessions?session=storm')
  const session = page.getByRole('region', { name: 'Session storm' })
  await session.getByRole('button', { name: 'Freeze' }).click()
  await session.getByRole('button', { name: 'Resume' }).waitFor()
  const now = async () => Date.parse(JSON.parse(await send('GET', '/_understudy/sessions/storm')).clock.now)
  const before = await now()
  await session.getByRole('button', { name: '10m', exact: true }).click()
  const shown = new Date(before + 600_000).toISOString().replace('T', ' ').replace('Z', ' UTC')
  await session.getByText(shown).waitFor()
  expect(await now()).toBe(before + 600_000)
})

test('inspector task: approves a tool of an agent', async () => {
  const turns = [{ tool_calls: [{ name: 'cancel_order', arguments: { number: '17' } }] }, { content: 'Done.' }]
  const fixtures = [{ name: 'turns', match: { operation: 'chat.completions' }, replies: turns }]
  await send('POST', '/_understudy/sessions', { name: 'shop', clock: 'virtual', fixtures })
  const settings = { tools: [{ type: 'function', key: 'cancel_order', requires_approval: true }] }
  const agent = { key: 'helper', role: 'Helper', description: 'Helps.', instructions: 'Help.', path: 'Default' }
  await send('POST', '/v2/agents', { ...agent, model: 'openai/gpt-4o', settings }, 'shop')
  await visit('#/agents?session=shop')
  await page.getByPlaceholder('Send the agent a message').fill('Cancel order 17')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.getByRole('button', { name: 'Approve' }).waitFor({ state: 'detached' })
  expect(await page.locator('.decision').count()).toBe(0)
  await screenshot(page, 'agents')
})

test('inspector workspace: shows its records', async () => {
  await visit('#/workspace?of=tools')
  await page.locator('summary', { hasText: 'Look up an order' }).click()
  await page.getByRole('link', { name: 'versions' }).first().click()
  await page.getByText('/ ').first().waitFor()
  await page.locator('summary').first().waitFor()
})

test('inspector: makes no other requests and leaves the console clean', () => {
  expect(browser.complaints).toEqual([])
})
