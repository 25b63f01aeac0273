// Swagger UI in a real browser, served by the executable, with every other host out of reach.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Browser, chromium, type Page } from 'playwright-core'
import { chromiumPath } from './support/browser.ts'
import { emptyFolder, type Server, startServer } from './support/server.ts'
import { speak } from './support/translations.ts'

const folder = emptyFolder()
let server: Server
let browser: Browser
let page: Page
const strangers: string[] = []
const complaints: string[] = []

beforeAll(async () => {
  server = await startServer(['--token', 'secret', '--db', ':memory:'], { cwd: folder.path })
  browser = await chromium.launch({ executablePath: chromiumPath(), args: ['--no-sandbox', '--disable-gpu'] })
  page = await browser.newPage({ viewport: { width: 1280, height: 1000 } })
  // A page of so many operations takes its time on a busy machine.
  page.setDefaultTimeout(60_000)
  const own = new URL(server.url).host
  await page.route('**/*', (route) => {
    const { host, protocol } = new URL(route.request().url())
    if (host === own || protocol === 'data:') return route.continue()
    strangers.push(route.request().url())
    return route.abort()
  })
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  await page.goto(`${server.url}/swagger`)
  await page.waitForSelector('.opblock')
}, 90_000)
afterAll(async () => {
  await browser?.close()
  await server?.stop()
  folder.remove()
})

test('the page shows every operation by group, and the schemas folded away', async () => {
  expect(await page.title()).toBe('Understudy')
  const icon = await page.request.get(`${server.url}/favicon.ico`)
  expect(icon.headers()['content-type']).toBe('image/png')
  const document = await (await page.request.get(`${server.url}/swagger/json`)).json()
  const tags = await page.locator('.opblock-tag').evaluateAll((all) => all.map((tag) => tag.getAttribute('data-tag')))
  expect(tags).toEqual(document.tags.map(({ name }: { name: string }) => name))
  const paths = await page
    .locator('.opblock-summary-path')
    .evaluateAll((all) => all.map((path) => path.getAttribute('data-path') ?? ''))
  expect([...new Set(paths)].sort()).toEqual(Object.keys(document.paths).sort())
  expect(await page.locator('section.models').count()).toBe(1)
  expect(await page.locator('section.models.is-open').count()).toBe(0)
})

test('without a token, Execute shows the 401 and asks for no password', async () => {
  const block = page.locator('#operations-Tools-listTools')
  await block.locator('.opblock-summary').click()
  const answered = page.waitForResponse((response) => response.url().endsWith('/v2/tools'))
  await block.locator('button.execute').click()
  expect((await answered).status()).toBe(401)
  const live = block.locator('.live-responses-table .response')
  await live.waitFor()
  expect((await live.locator('.response-col_status').textContent())?.trim()).toStartWith('401')
  expect(await live.locator('.response-col_description').textContent()).toContain('Bearer <token>')
  await block.locator('.opblock-summary').click()
  // The browser's own note of it is no complaint of the page.
  complaints.splice(0, complaints.length, ...complaints.filter((text) => !text.includes('401')))
}, 60_000)

test('with the token authorized, Execute on chat completions shows 200 and the answer', async () => {
  await page.click('button.authorize')
  await page.fill('.auth-container input', 'secret')
  await page.click('.auth-container button[type=submit]')
  await page.click('.auth-container button.btn-done')
  const block = page.locator('#operations-Router-chatCompletions')
  await block.locator('.opblock-summary').click()
  const answered = page.waitForResponse((response) => response.url().endsWith('/v2/router/chat/completions'))
  await block.locator('button.execute').click()
  const response = await answered
  expect(response.status()).toBe(200)
  expect(response.request().headers().authorization).toBe('Bearer secret')
  const live = block.locator('.live-responses-table .response')
  await live.waitFor()
  expect((await live.locator('.response-col_status').textContent())?.trim()).toStartWith('200')
  expect(await live.locator('.response-col_description').textContent()).toContain('"chat.completion"')
}, 60_000)

test('a file chosen in the form of audio translations is translated', async () => {
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

test('the schemas open when asked for', async () => {
  await page.click('section.models button.models-control')
  await page.locator('section.models.is-open').waitFor()
  expect(await page.locator('section.models').textContent()).toContain('ChatCompletionsRequest')
})

test('no other host was asked for anything, and the console is clean', () => {
  expect(strangers).toEqual([])
  expect(complaints).toEqual([])
})
