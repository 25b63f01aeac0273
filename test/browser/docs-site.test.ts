// The documentation in a real browser: it is drawn and searched without another host, on a phone and in the dark, too.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { hasChromium } from '../support/browser.ts'
import { serveHere } from '../support/cli.ts'
import { type InspectorBrowser, inspectorBrowser, screenshot } from '../support/inspector.ts'
import type { Server } from '../support/server.ts'

let server: Server
let browser: InspectorBrowser

describe.skipIf(!hasChromium())('documentation', () => {
  beforeAll(async () => {
    ;[server, browser] = await Promise.all([serveHere(['--db', ':memory:'], {}), inspectorBrowser()])
  }, 60_000)
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
  })
  let page: Page
  let phone: Page | undefined
  const open = (path: string, options = {}) => browser.open(`${server.url}${path}`, { ready: '.VPContent', ...options })

  test('home: leads to a guide', async () => {
    page = await open('/docs/')
    await screenshot(page, 'docs-home')
    await page.getByRole('link', { name: 'Quick start', exact: true }).first().click()
    await page.getByRole('heading', { name: 'Quick start', level: 1 }).waitFor()
    await screenshot(page, 'docs-guide')
  }, 60_000)

  test('search: opens the section that it finds', async () => {
    await page.keyboard.press('Control+k')
    await page.getByRole('searchbox').fill('cut stream second call')
    const first = page.locator('.VPLocalSearchBox .result').first()
    await first.waitFor()
    await screenshot(page, 'docs-search')
    await first.click()
    await page.waitForURL('**/docs/scenario-recipes#cut-a-stream-after-five-chunks-second-call-only')
    await page.getByRole('heading', { name: 'Scenario recipes', level: 1 }).waitFor()
  }, 60_000)

  test.each(['/docs/', '/docs/reference/settings', '/docs/reference/faults', '/docs/scenarios'])(
    '%s: is no wider than a phone, also in the dark',
    async (path) => {
      phone ??= await open(path, { width: 400, dark: true })
      if (new URL(phone.url()).pathname !== path) await phone.goto(`${server.url}${path}`)
      const { wide, background } = await phone.evaluate(() => ({
        wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
        background: getComputedStyle(document.body).backgroundColor,
      }))
      await screenshot(phone, `docs-phone${path.replaceAll('/', '-')}`)
      expect(wide).toBe(0)
      expect(background).toBe('rgb(27, 27, 31)')
    },
    60_000,
  )

  test('reference: is drawn in the light', async () => {
    await page.goto(`${server.url}/docs/reference/faults`)
    await screenshot(page, 'docs-reference')
    expect(await page.locator('.VPSidebar').isVisible()).toBe(true)
  }, 60_000)

  test('no page asked another host for anything, and the console is clean', () => {
    expect(browser.complaints).toEqual([])
  })
})
