// The inspector opens in a real browser, which takes the time here. Swagger UI takes seconds more: `swagger.test.ts`.
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { hasChromium } from '../support/browser.ts'
import { serveHere } from '../support/cli.ts'
import { type InspectorBrowser, inspectorBrowser } from '../support/inspector.ts'
import type { Server } from '../support/server.ts'

let server: Server
let browser: InspectorBrowser

test.if(!hasChromium())('browser tests: are skipped without Chromium, so install it or name it in CHROMIUM', () => {})

describe.skipIf(!hasChromium())('Chromium', () => {
  beforeAll(async () => {
    ;[server, browser] = await Promise.all([serveHere(['--db', ':memory:'], {}), inspectorBrowser()])
  }, 60_000)
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
  })

  test('shows a call in the open inspector when it is made', async () => {
    const page = await browser.open(`${server.url}/`)
    await page.getByRole('heading', { name: 'Connect your app' }).waitFor()
    const { status } = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: 'Bearer any', 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello!' }] }),
    })
    expect(status).toBe(200)
    expect(await page.locator('.grid .row').first().textContent()).toContain('gpt-4o')
  }, 60_000)

  test('requests nothing from another host and leaves the console clean', () => {
    expect(browser.complaints).toEqual([])
  })
})
