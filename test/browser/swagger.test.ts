// Swagger UI in a real browser, which takes seconds to load it: served by the executable, with every other host unreachable.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { serveHere } from '../support/cli.ts'
import { type InspectorBrowser, inspectorBrowser, type PageOptions } from '../support/inspector.ts'
import { emptyFolder, type Server, startServer } from '../support/server.ts'

const folder = emptyFolder()
let server: Server
let guarded: Server
let browser: InspectorBrowser
let page: Page

/** The document of the page. */
const shown = async () => (await (await page.request.get(`${server.url}/swagger/json`)).json()) as ShownDocument
/** The page of a server, loaded. */
const open = ({ url }: Server, more: PageOptions = {}) =>
  browser.open(`${url}/swagger`, { height: 1000, ready: '.opblock >> nth=0', ...more })

/** An operation by its id. */
interface Operation {
  operation: string
  path: string
}
const blockOf = (on: Page, { operation }: Operation) => on.locator(`.opblock[id$='-${operation}']`)
/** Unfolds an operation or folds it again. */
const toggle = (on: Page, one: Operation) => blockOf(on, one).locator('.opblock-summary').click()
/** Presses Execute on an operation that is unfolded; the answer, when the page shows its status, with what it shows. */
async function execute(on: Page, one: Operation, status: number) {
  const block = blockOf(on, one)
  const answered = on.waitForResponse((response) => response.url().endsWith(one.path))
  await block.locator('button.execute').click()
  const response = await answered
  const live = block.locator('.live-responses-table .response')
  await live.locator('.response-col_status', { hasText: new RegExp(`^${status}`) }).waitFor()
  return { response, text: await live.locator('.response-col_description').textContent() }
}
const CHAT = { operation: 'chatCompletions', path: '/v2/router/chat/completions' }
const TOOLS = { operation: 'listTools', path: '/v2/tools' }
const FILE = { operation: 'createFile', path: '/v2/files' }

/** The document that the page shows. */
interface ShownDocument {
  tags: { name: string }[]
  paths: Record<string, Record<string, ShownOperation>>
  components: { schemas: Record<string, ShownSchema>; securitySchemes: object }
}
interface ShownOperation {
  tags: string[]
  requestBody?: { content: Record<string, { schema: { $ref: string } }> }
}
interface ShownSchema {
  properties?: Record<string, { format?: string }>
}

beforeAll(async () => {
  ;[server, guarded, browser] = await Promise.all([
    startServer(['--db', ':memory:'], { cwd: folder.path }),
    serveHere(['--token', 'secret', '--db', ':memory:'], {}),
    inspectorBrowser(),
  ])
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
  const document = await shown()
  const tags = await page.locator('.opblock-tag').evaluateAll((all) => all.map((tag) => tag.getAttribute('data-tag')))
  expect(tags).toEqual(document.tags.map(({ name }) => name))
  const open = await page
    .locator('.opblock-tag[data-is-open=true]')
    .evaluateAll((all) => all.map((tag) => tag.getAttribute('data-tag')))
  expect(open).toEqual(tags.filter((tag) => !tag?.startsWith('Extension: ')))
  const paths = await page
    .locator('.opblock-summary-path')
    .evaluateAll((all) => all.map((path) => path.getAttribute('data-path') ?? ''))
  const ofSpecification = Object.entries(document.paths).filter(([, methods]) =>
    Object.values(methods).some(({ tags: own }) => own.some((tag) => open.includes(tag))),
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
  await blockOf(page, CHAT).waitFor({ state: 'detached' })
  expect((await found()).length).toBeGreaterThan(0)
  expect((await found()).every((path) => path.startsWith('/v2/datasets/{dataset_id}'))).toBe(true)
  expect(
    await page.locator('.opblock-tag').evaluateAll((all) => all.map((tag) => tag.getAttribute('data-tag'))),
  ).toEqual(['Extension: Datasets'])
}, 120_000)

test('Swagger UI: sends a file chosen in the form of an operation', async () => {
  const filter = page.locator('.operation-filter-input')
  await filter.fill('create file')
  await toggle(page, FILE)
  const buffer = Buffer.from('a talk')
  const chosen = { name: 'talk.mp3', mimeType: 'audio/mpeg', buffer }
  await blockOf(page, FILE).locator('input[type=file]').setInputFiles(chosen)
  const { response } = await execute(page, FILE, 200)
  expect(await response.json()).toMatchObject({ file_name: 'talk.mp3', content_type: 'audio/mpeg', bytes: 6 })
  await toggle(page, FILE)
  await filter.fill('')
  await blockOf(page, CHAT).waitFor()
}, 60_000)

test('Swagger UI: offers files in the forms of every operation with a form', async () => {
  const { paths, components } = await shown()
  const forms = Object.entries(paths).flatMap(([path, methods]) =>
    Object.values(methods).flatMap(({ requestBody }) => {
      const form = requestBody?.content['multipart/form-data']
      const schema = form && components.schemas[form.schema.$ref.split('/').at(-1) ?? '']
      const fields = Object.values(schema?.properties ?? {})
      return form ? [{ path, files: fields.some(({ format }) => format === 'binary') }] : []
    }),
  )
  expect(forms).toContainEqual({ path: '/v2/router/audio/translations', files: true })
  expect(forms.filter(({ files }) => !files)).toEqual([])
})

test('Swagger UI: has a token set, so that Execute shows the response at once', async () => {
  await toggle(page, CHAT)
  const { response, text } = await execute(page, CHAT, 200)
  expect(response.status()).toBe(200)
  expect(response.request().headers().authorization).toBe('Bearer understudy')
  expect(text).toContain('"chat.completion"')
  await toggle(page, CHAT)
}, 200_000)

test('Swagger UI with tokens: gives none away, shows the 401 without a password prompt, and works once authorized', async () => {
  // One operation without its responses is drawn in a third of the time of all of them.
  const { paths, components, ...document } = await shown()
  const get = { ...paths[TOOLS.path]?.get, parameters: [], responses: { 200: { description: 'The tools.' } } }
  const { securitySchemes } = components
  const json = {
    ...document,
    components: { securitySchemes },
    paths: { [TOOLS.path]: { get } },
    servers: [{ url: guarded.url }],
  }
  const other = await open(guarded, { instead: { path: '/swagger/json', json } })
  await toggle(other, TOOLS)
  const refused = await execute(other, TOOLS, 401)
  expect(refused.response.status()).toBe(401)
  expect(refused.text).toContain('Bearer <token>')
  // The browser's own note of it is no complaint of the page.
  const { complaints } = browser
  complaints.splice(0, complaints.length, ...complaints.filter((text) => !text.includes('401')))
  await other.click('button.authorize')
  await other.fill('.auth-container input', 'secret')
  await other.click('.auth-container button[type=submit]')
  await other.click('.auth-container button.btn-done')
  const { response } = await execute(other, TOOLS, 200)
  expect(response.request().headers().authorization).toBe('Bearer secret')
  await other.context().close()
}, 200_000)

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
