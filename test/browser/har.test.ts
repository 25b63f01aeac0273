// Needs a real browser: a HAR as Chromium writes it, with a refused call and one that succeeds, becomes a scenario.
import { afterAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { ScenarioFile } from '../../src/scenarios/schema.ts'
import { closeBrowser, hasChromium, launchBrowser } from '../support/browser.ts'
import { runCommand } from '../support/cli.ts'
import { emptyFolder } from '../support/server.ts'

const folder = emptyFolder()
let calls = 0
const provider = Bun.serve({
  port: 0,
  fetch(request) {
    if (request.method === 'GET')
      return new Response('<title>page</title>', { headers: { 'content-type': 'text/html' } })
    calls++
    if (calls === 3) return Response.json({ object: 'chat.completion' })
    return Response.json({ error: { message: 'Slow down.' } }, { status: 429, headers: { 'retry-after': '1' } })
  },
})
afterAll(async () => {
  await provider.stop(true)
  folder.remove()
})

test.skipIf(!hasChromium())('scenario from: reads the HAR of a browser', async () => {
  const path = join(folder.path, 'page.har')
  const browser = await launchBrowser()
  const context = await browser.newContext({ recordHar: { path } })
  const page = await context.newPage()
  await page.goto(provider.url.href)
  await page.evaluate(async () => {
    for (let number = 0; number < 3; number++) {
      const body = JSON.stringify({ model: 'gpt-4o', messages: [] })
      await fetch('/v1/chat/completions', { method: 'POST', body }).then((response) => response.text())
    }
  })
  await context.close()
  await closeBrowser(browser)
  const { code, stdout, stderr } = await runCommand(['scenario', 'from', 'page.har'], { cwd: folder.path })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(ScenarioFile.parse(Bun.YAML.parse(stdout)).rules).toMatchObject([
    {
      match: { provider: 'openai' },
      fault: { type: 'http-error', status: 429, retry_after: 1_000, body: { error: { message: 'Slow down.' } } },
    },
  ])
})
