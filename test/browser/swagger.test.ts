// Swagger UI in a real browser, served by the executable, with every other host unreachable.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { type InspectorBrowser, inspectorBrowser } from '../support/inspector.ts'
import { emptyFolder, type Server, startServer } from '../support/server.ts'
import { speak } from '../support/translations.ts'

const folder = emptyFolder()
let server: Server
let guarded: Server
let browser: InspectorBrowser
let page: Page

/** The page of a server, loaded. */
const open = ({ url }: Server) => browser.open(`${url}/swagger`, { height: 1000, ready: '.opblock >> nth=0' })

/** Presses Execute on an operation that is folded; the answer, when the page shows it, with what it shows. */
async function execute(on: Page, { block: name, path }: { block: string; path: string }) {
  const block = on.locator(`#operations-${name}`)
  await block.locator('.opblock-summary').click()
  const answered = on.waitForResponse((response) => response.url().endsWith(path))
  await block.locator('button.execute').click()
  const response = await answered
  const live = block.locator('.live-responses-table .response')
  await live.waitFor()
  const status = (await live.locator('.response-col_status').textContent())?.trim()
  const text = await live.locator('.response-col_description').textContent()
  await block.locator('.opblock-summary').click()
  return { response, status, text }
}
const CHAT = { block: 'Router-chatCompletions', path: '/v2/router/chat/completions' }
const AGENTS = { block: 'Agents-createAgent', path: '/v2/agents' }
const TOOLS = { block: 'Tools-listTools', path: '/v2/tools' }

beforeAll(async () => {
  server = await startServer(['--db', ':memory:'], { cwd: folder.path })
  guarded = await startServer(['--token', 'secret', '--db', ':memory:'], { cwd: folder.path })
  browser = await inspectorBrowser()
  page = await open(server)
}, 120_000)
afterAll(async () => {
  await browser?.close()
  await server?.stop()
  await guarded?.stop()
  folder.remove()
})

test('Swagger UI: shows every operation by group, with the schemas collapsed', async () => {
  expect(await page.title()).toBe('Understudy')
  const icon = await page.request.get(`${server.url}/favicon.ico`)
  expect(icon.headers()['content-type']).toBe('image/png')
  const document = await (await page.request.get(`${server.url}/swagger/json`)).json()
  const tags = await page.locator('.opblock-tag').evaluateAll((all) => all.map((tag) => tag.getAttribute('data-tag')))
  expect(tags).toEqual(document.tags.map(({ name }: { name: string }) => name))
  const open = await page
    .locator('.opblock-tag[data-is-open=true]')
    .evaluateAll((all) => all.map((tag) => tag.getAttribute('data-tag')))
  expect(open).toEqual(tags.filter((tag) => !tag?.startsWith('Extension: ')))
  const paths = await page
    .locator('.opblock-summary-path')
    .evaluateAll((all) => all.map((path) => path.getAttribute('data-path') ?? ''))
  const ofSpecification = Object.entries(document.paths as Record<string, Record<string, { tags: string[] }>>).filter(
    ([, methods]) => Object.values(methods).some(({ tags: own }) => own.some((tag) => open.includes(tag))),
  )
  expect([...new Set(paths)].sort()).toEqual(ofSpecification.map(([path]) => path).sort())
  expect(await page.locator('section.models').count()).toBe(1)
  expect(await page.locator('section.models.is-open').count()).toBe(0)
}, 60_000)

test('Swagger UI: filters operations by words of path, name and group, collapsed ones too', async () => {
  const found = () =>
    page.locator('.opblock-summary-path').evaluateAll((all) => all.map((path) => path.getAttribute('data-path') ?? ''))
  const filter = page.locator('.operation-filter-input')
  await filter.fill('Delete DATASET')
  await page.locator('#operations-Router-chatCompletions').waitFor({ state: 'detached' })
  expect((await found()).length).toBeGreaterThan(0)
  expect((await found()).every((path) => path.startsWith('/v2/datasets/{dataset_id}'))).toBe(true)
  expect(
    await page.locator('.opblock-tag').evaluateAll((all) => all.map((tag) => tag.getAttribute('data-tag'))),
  ).toEqual(['Extension: Datasets'])
  await filter.fill('')
  await page.locator('#operations-Router-chatCompletions').waitFor()
}, 120_000)

test('Swagger UI: has a token set, so that Execute shows the response at once', async () => {
  const { response, status, text } = await execute(page, CHAT)
  expect(response.status()).toBe(200)
  expect(response.request().headers().authorization).toBe('Bearer understudy')
  expect(status).toStartWith('200')
  expect(text).toContain('"chat.completion"')
  expect((await execute(page, AGENTS)).status).toStartWith('201')
}, 200_000)

test('Swagger UI with tokens: gives none away, shows the 401 without a password prompt, and works once authorized', async () => {
  const other = await open(guarded)
  const refused = await execute(other, TOOLS)
  expect(refused.response.status()).toBe(401)
  expect(refused.status).toStartWith('401')
  expect(refused.text).toContain('Bearer <token>')
  // The browser's own note of it is no complaint of the page.
  const { complaints } = browser
  complaints.splice(0, complaints.length, ...complaints.filter((text) => !text.includes('401')))
  await other.click('button.authorize')
  await other.fill('.auth-container input', 'secret')
  await other.click('.auth-container button[type=submit]')
  await other.click('.auth-container button.btn-done')
  const { response, status } = await execute(other, TOOLS)
  expect(response.request().headers().authorization).toBe('Bearer secret')
  expect(status).toStartWith('200')
  await other.context().close()
}, 200_000)

test('Swagger UI: translates a file chosen in the form of audio translations', async () => {
  const block = page.locator('#operations-Router-audioTranslations')
  await block.locator('.opblock-summary').click()
  const buffer = Buffer.from(await speak('mp3'))
  await block.locator('input[type=file]').setInputFiles({ name: 'talk.mp3', mimeType: 'audio/mpeg', buffer })
  const answered = page.waitForResponse((response) => response.url().endsWith('/v2/router/audio/translations'))
  await block.locator('button.execute').click()
  const response = await answered
  expect(response.status()).toBe(200)
  expect(await response.json()).toEqual({ text: expect.stringMatching(/\w/) })
}, 60_000)

test('Swagger UI: is dark when the browser is', async () => {
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
  const light = await background()
  await page.emulateMedia({ colorScheme: 'dark' })
  expect(await background()).toBe('rgb(34, 34, 34)')
  await page.emulateMedia({ colorScheme: 'light' })
  expect(await background()).toBe(light)
}, 60_000)

test('Swagger UI: opens the schemas on request', async () => {
  await page.click('section.models button.models-control')
  await page.locator('section.models.is-open').waitFor()
  // Only those that can be seen are drawn.
  await page.locator('section.models', { hasText: 'AgentResponse' }).waitFor()
}, 60_000)

test('Swagger UI: requests nothing from another host and leaves the console clean', () => {
  expect(browser.complaints).toEqual([])
})
