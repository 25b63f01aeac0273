// The inspector names an invalid fixture file and the place of the error until it is fixed.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { serveHere } from '../support/cli.ts'
import { folderWith } from '../support/fixtures.ts'
import { type InspectorBrowser, inspectorBrowser } from '../support/inspector.ts'
import type { Server } from '../support/server.ts'

const folder = folderWith({ 'fixtures/chat.completions/a.yaml': 'reply: { content: one }' })
const file = `${folder.path}/fixtures/chat.completions/a.yaml`
let server: Server
let browser: InspectorBrowser
let page: Page
beforeAll(async () => {
  const args = ['--db', ':memory:', '--fixtures', `${folder.path}/fixtures`]
  ;[server, browser] = await Promise.all([serveHere(args, {}), inspectorBrowser()])
}, 90_000)
afterAll(async () => {
  await browser?.close()
  await server?.stop()
  folder.remove()
})

test('inspector fixtures: name an invalid file with the line until it is valid again', async () => {
  page = await browser.open(`${server.url}/#/%`)
  const alert = page.getByRole('alert').filter({ hasText: 'Invalid fixture files' })
  writeFileSync(file, 'reply:\n  contents: two\n')
  await alert.waitFor()
  expect(await alert.textContent()).toContain("a.yaml:2:3: reply.contents is not known (did you mean 'content'?)")
  writeFileSync(file, 'reply: { content: two }')
  await alert.waitFor({ state: 'detached' })
}, 60_000)

const FRAGMENTS = [
  '#/%',
  '#/%E0%A4%A',
  '#%',
  '#/calls?call=%',
  '#/workspace?of=%FF&in=%',
  '#/__proto__',
  '#/calls?a=%&?%',
  '#?#?',
]
/** It is not a view, and it is a property of every object. */
const BEGIN = '#/__proto__'

test('inspector address: opens the page when it ends in an invalid fragment', async () => {
  const before = browser.complaints.length
  // The page begins at the address, and comes to it later.
  await page.evaluate((hash) => (location.hash = hash), BEGIN)
  await page.reload()
  for (const fragment of FRAGMENTS) {
    await page.evaluate((hash) => (location.hash = hash), fragment)
    await page.getByRole('navigation').getByText('Sessions').click()
    await page.waitForFunction(() => location.hash === '#/sessions')
    const complaints = browser.complaints.slice(before).filter((text) => !text.includes('404'))
    expect([fragment, complaints]).toEqual([fragment, []])
  }
}, 60_000)
