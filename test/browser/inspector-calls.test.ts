// The inspector's list in a real browser, of a server in this process: what tells calls apart, what stays in view beside an open
// call, two calls on one scale, and the same on a phone.
import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { accepted } from '../support/accepted.ts'
import { serveHere } from '../support/cli.ts'
import { type InspectorBrowser, inspectorBrowser, screenshot } from '../support/inspector.ts'
import type { Server } from '../support/server.ts'

let server: Server
let browser: InspectorBrowser
let page: Page

const send = (method: string, path: string, body?: object, session = 'default') =>
  accepted(
    fetch(`${server.url}${path}`, {
      method,
      headers: {
        authorization: 'Bearer any',
        'content-type': 'application/json',
        'x-understudy-session': session,
      },
      ...(body && { body: JSON.stringify(body) }),
    }),
  )
const user = (content: string) => ({ messages: [{ role: 'user', content }] })
const chat = (content: string, session = 'default', more: object = {}) =>
  fetch(`${server.url}/s/${session}/v2/router/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'openai/gpt-4o', ...user(content), ...more }),
  }).then((response) => response.text())
const visit = (hash: string) => page.evaluate((one) => void (location.hash = one), hash)
const rowOf = (prompt: string) => page.locator('.grid .row').filter({ hasText: prompt })
const cells = async (prompt: string) => {
  const names = ['prompt', 'model', 'session', 'reason'] as const
  const texts = names.map((name) => rowOf(prompt).locator(`.c-${name}`).textContent())
  return (await Promise.all(texts)).map((text) => text?.trim())
}
/** Whether the chosen row is inside the visible part of the list. */
const rowInView = (one = page) =>
  one.evaluate(() => {
    const list = document.querySelector('.grid')?.getBoundingClientRect()
    const row = document.querySelector('.row.chosen')?.getBoundingClientRect()
    return list !== undefined && row !== undefined && row.top >= list.top && row.bottom <= list.bottom + 1
  })

beforeAll(async () => {
  ;[server, browser] = await Promise.all([serveHere(['--db', ':memory:'], {}), inspectorBrowser()])
  page = await browser.open(`${server.url}/`)
}, 90_000)
afterAll(async () => {
  await browser?.close()
  await server?.stop()
})
afterEach(() => expect(browser.complaints).toEqual([]))

test('start page: begins with the variables of an unchanged app and links to fixtures, docs and Swagger', async () => {
  const main = page.getByRole('main')
  await main.getByRole('heading', { name: 'Connect your app' }).waitFor()
  const variables = await main.getByRole('region').first().textContent()
  expect(variables?.split('\n').filter((line) => line.startsWith('export '))).toEqual([
    `export OPENAI_BASE_URL=${server.url}/v1`,
    'export OPENAI_API_KEY=any',
    `export ANTHROPIC_BASE_URL=${server.url}`,
    'export ANTHROPIC_API_KEY=any',
  ])
  const links = await main
    .getByRole('listitem')
    .getByRole('link')
    .evaluateAll((all) => all.map((one) => one.getAttribute('href')))
  expect(links).toEqual(['/docs/fixtures', '#/scenarios', '/docs/', '/swagger'])
})

test('call list: has columns for the prompt, the requested model, the session and the failure reason', async () => {
  await send('POST', '/_understudy/sessions', { name: 'storm', clock: 'virtual' })
  await send('PUT', '/_understudy/scenario', { name: 'unavailable-burst' }, 'storm')
  const retries = { retry: { count: 3, on_codes: [503] } }
  await chat('Where is my order?', 'storm', retries)
  await chat('Is anybody there?', 'shop', { model: 'nobody/x' })
  await chat('Good morning', 'shop', { model: 'gpt-4o', fallbacks: [] })
  await rowOf('Good morning').waitFor()
  const titles = await page.getByRole('columnheader').allTextContents()
  expect(titles).toEqual(expect.arrayContaining(['Prompt', 'Requested model', 'Session', 'Failure reason']))
  expect(await cells('Where is my order?')).toEqual(['Where is my order?', 'openai/gpt-4o', 'storm', ''])
  const [prompt, model, session, reason] = await cells('Is anybody there?')
  expect([prompt, model, session]).toEqual(['Is anybody there?', 'nobody/x', 'shop'])
  expect(reason).toStartWith('model "nobody/x" has no known provider')
})

test('call list: tells virtual times from real ones', async () => {
  expect(await rowOf('Where is my order?').locator('.c-length').textContent()).toStartWith('virtual')
  expect(await rowOf('Good morning').locator('.c-length').textContent()).not.toContain('virtual')
  await rowOf('Where is my order?').click()
  const panel = page.getByRole('region', { name: 'Call', exact: true })
  await panel.getByText('virtual time', { exact: true }).waitFor()
  await panel.getByText('Arrived (real time)').waitFor()
  await panel.getByText('Duration (virtual time)').waitFor()
})

test('one call: shows the prompt and the response beside the timeline', async () => {
  const beside = page.getByRole('tabpanel', { name: 'Timeline' })
  const prompt = beside.getByRole('region', { name: 'Prompt in brief' })
  expect(await prompt.textContent()).toContain('Where is my order?')
  expect(await beside.getByRole('region', { name: 'Response in brief' }).textContent()).toContain('Where is my order?')
  const [left, right] = await Promise.all([beside.getByRole('table').boundingBox(), prompt.boundingBox()])
  expect((left?.x ?? 0) + (left?.width ?? 0)).toBeLessThanOrEqual(right?.x ?? 0)
})

test.each([
  ['wide', 1280],
  ['medium', 900],
])('call list: stays readable beside an open call, with its row in view, on a %s screen', async (name, width) => {
  if ((await page.locator('.grid').getAttribute('aria-rowcount')) === '4')
    await Promise.all(
      Array.from({ length: 60 }, (_, at) => chat(`Question ${at}, which is asked in ${at} words`, 'many')),
    )
  await visit('#/calls')
  await page.setViewportSize({ width, height: 760 })
  await page.getByText('63 calls').waitFor()
  await page.locator('.grid').evaluate((grid) => grid.scrollTo(0, 1000))
  // Elements of rows are used again for others as the list scrolls: a click by its place might meet another one.
  await page.locator('.grid .row[aria-rowindex="47"]').dispatchEvent('click')
  await page.getByRole('table', { name: 'Timeline of the call' }).waitFor()
  expect(await rowInView()).toBe(true)
  expect(await page.locator('.row.chosen').getAttribute('aria-rowindex')).toBe('47')
  // A prompt has room for some words.
  const prompt = page.locator('.row.chosen .c-prompt')
  expect(await prompt.textContent()).toContain('Question')
  expect((await prompt.boundingBox())?.width).toBeGreaterThanOrEqual(180)
  await screenshot(page, `beside-${name}`)
  for (let at = 0; at < 5; at++) await page.keyboard.press('j')
  await page.locator('.row.chosen[aria-rowindex="52"]').waitFor()
  expect(await rowInView()).toBe(true)
  await page.keyboard.press('Escape')
  await page.locator('.detail-pane').waitFor({ state: 'detached' })
  expect(await page.locator('.row[aria-rowindex="52"]').isVisible()).toBe(true)
})

test('call list: shows the row of an address that names a call', async () => {
  await page.setViewportSize({ width: 1280, height: 760 })
  const id = await page.locator('.row[aria-rowindex="52"]').getAttribute('id')
  const other = await browser.open(`${server.url}/#/calls?call=${id?.replace('call-', '')}`)
  await other.locator('.row.chosen').waitFor()
  expect(await rowInView(other)).toBe(true)
  await other.context().close()
})

test('comparison: opens for two selected rows and draws both calls on one scale', async () => {
  await visit('#/calls?session=storm')
  await rowOf('Where is my order?').getByRole('checkbox').check()
  await page.getByText('1 call selected. Select another one to compare.').waitFor()
  await visit('#/calls?session=shop')
  await rowOf('Good morning').click()
  await page.getByRole('table', { name: 'Timeline of the call' }).waitFor()
  await page.keyboard.press('x')
  await page.getByText('2 calls selected').waitFor()
  await page.getByRole('button', { name: 'Compare', exact: true }).last().click()
  const charts = page.getByRole('table', { name: 'Timeline of the call' })
  await charts.nth(1).waitFor()
  const ticks = (at: number) =>
    charts
      .nth(at)
      .locator('.axis text')
      .evaluateAll((all) => all.map((one) => `${one.textContent} ${one.getAttribute('x')}`))
  expect((await ticks(0)).length).toBeGreaterThan(1)
  expect(await ticks(1)).toEqual(await ticks(0))
  expect(await page.getByRole('region', { name: 'Call A' }).textContent()).toContain('Where is my order?')
  expect(await page.getByRole('region', { name: 'Call B' }).textContent()).toContain('Good morning')
  await visit('#/calls')
  await page.keyboard.press('c')
  await charts.nth(1).waitFor()
})

test('call list: keeps two selected rows at most', async () => {
  await visit('#/calls?session=many')
  for (const at of [0, 1, 2]) await page.locator('.row').nth(at).getByRole('checkbox').check()
  expect(await page.locator('.row').getByRole('checkbox', { checked: true }).count()).toBe(2)
  expect(await page.locator('.row').nth(0).getByRole('checkbox').isChecked()).toBe(false)
  await page.getByRole('button', { name: 'Clear selection' }).click()
  expect(await page.locator('.row').getByRole('checkbox', { checked: true }).count()).toBe(0)
})

test('workspace: counts the records of each resource without calls of the workspace API', async () => {
  const { data } = (await (await send('GET', '/v2/tools')).json()) as { data: unknown[] }
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))
  await visit('#/workspace?of=tools')
  const link = page.getByRole('navigation', { name: 'Resources' }).getByRole('link', { name: /^Tools/ })
  await link.locator('.count', { hasText: String(data.length) }).waitFor()
  await page.locator('summary').first().waitFor()
  // A scenario counts calls of the workspace API.
  expect(asked.filter((path) => path.startsWith('/v2/'))).toEqual([])
})

test('agents: names tasks by their questions', async () => {
  const fixtures = [{ name: 'turns', match: { operation: 'chat.completions' }, reply: { content: 'Soon.' } }]
  await send('POST', '/_understudy/sessions', { name: 'helpdesk', clock: 'virtual', fixtures })
  const agent = { key: 'helper', role: 'Helper', description: 'Helps.', instructions: 'Help.', path: 'Default' }
  await send('POST', '/v2/agents', { ...agent, model: 'openai/gpt-4o', settings: {} }, 'helpdesk')
  for (const text of ['When will it arrive?', 'Where is my refund?'])
    await send(
      'POST',
      '/v2/agents/helper/task',
      { message: { role: 'user', parts: [{ kind: 'text', text }] } },
      'helpdesk',
    )
  await visit('#/agents?session=helpdesk')
  const tasks = page.getByRole('navigation', { name: 'Tasks' })
  await tasks.getByRole('link', { name: 'When will it arrive?' }).click()
  await page.getByRole('heading', { name: 'When will it arrive?' }).waitFor()
  await tasks.getByRole('link', { name: 'Where is my refund?' }).waitFor()
})

/** Words of a page that a line break divides. */
const brokenWords = (one: Page) =>
  one.evaluate(() => {
    const found: string[] = []
    const walker = document.createTreeWalker(document.querySelector('main') ?? document.body, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node.parentElement?.closest('.code, .editor, .mono, option')) continue
      for (const { 0: word, index } of (node.textContent ?? '').matchAll(/[A-Za-z]{2,20}/g)) {
        const range = document.createRange()
        range.setStart(node, index)
        range.setEnd(node, index + word.length)
        if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) found.push(word)
      }
    }
    return found
  })

test('phone: icons have labels, and no word is broken', async () => {
  const phone = await browser.open(`${server.url}/#/calls`, { width: 400, height: 780 })
  const labels = phone.getByRole('navigation', { name: 'Views' }).locator('a > span')
  const sizes = await labels.evaluateAll((all) =>
    all.map((one) => one.getBoundingClientRect().right <= innerWidth && one.getBoundingClientRect().height > 9),
  )
  expect(sizes).toEqual(sizes.map(() => true))
  const broken: Record<string, string[]> = {}
  const views = [
    'calls',
    'scenarios?session=storm',
    'sessions?session=storm',
    'agents?session=helpdesk',
    'workspace',
    'start',
  ]
  for (const view of [...views, 'compare']) {
    await phone.evaluate((hash) => void (location.hash = hash), `#/${view}`)
    await phone.locator('main h1, main .row').first().waitFor()
    if (view.startsWith('scenarios')) await phone.getByRole('region', { name: 'Rules', exact: true }).waitFor()
    const words = await brokenWords(phone)
    if (words.length > 0) broken[view] = words
  }
  expect(broken).toEqual({})
  await phone.evaluate(() => void (location.hash = '#/calls?session=storm'))
  await phone.locator('.row').first().click()
  await phone.getByRole('region', { name: 'Prompt in brief' }).waitFor()
  expect(await brokenWords(phone)).toEqual([])
  await phone.context().close()
}, 60_000)
