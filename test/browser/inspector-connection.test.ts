// The inspector while its server is away and returns: it reports that, reconnects, shows missed calls, and forgets what a restarted server
// does not have.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Page } from 'playwright-core'
import { serveHere } from '../support/cli.ts'
import { type InspectorBrowser, inspectorBrowser } from '../support/inspector.ts'
import type { Server } from '../support/server.ts'

const servers: Server[] = []
let browser: InspectorBrowser
let page: Page

/** What the page is connected to: the server behind it may go and be another, while the address stays. */
let behind: string | undefined
const sockets = new Set<Socket>()
const door = createServer((client) => {
  if (behind === undefined) return void client.destroy()
  const server = connect(Number(new URL(behind).port), '127.0.0.1')
  for (const [one, other] of [
    [client, server],
    [server, client],
  ] as const) {
    sockets.add(one)
    one.on('error', () => other.destroy())
    one.on('close', () => {
      sockets.delete(one)
      other.destroy()
    })
    one.pipe(other)
  }
})
function goAway(): void {
  behind = undefined
  for (const socket of sockets) socket.destroy()
}

const call = async (server: Server | undefined, content: string) => {
  const response = await fetch(`${server?.url}/v2/router/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer any' },
    body: JSON.stringify({ model: 'openai/gpt-4o', messages: [{ role: 'user', content }] }),
  })
  expect(response.status).toBe(200)
}
const rows = () => page.locator('.grid .row')
const state = (text: string) => page.locator('.state', { hasText: text }).waitFor()

beforeAll(async () => {
  const started = [1, 2].map(() => serveHere(['--db', ':memory:'], {}))
  servers.push(...(await Promise.all(started)))
  browser = await inspectorBrowser()
  await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve))
  behind = servers[0]?.url
  await call(servers[0], 'Before')
  page = await browser.open(`http://127.0.0.1:${(door.address() as AddressInfo).port}/`)
  await rows().first().waitFor()
}, 90_000)
afterAll(async () => {
  goAway()
  await browser?.close()
  door.close()
  await Promise.all(servers.map((server) => server.stop()))
})

test('inspector connection: loads the first calls later when they failed at the start', async () => {
  const other = await browser.open(`${servers[0]?.url}/`, { without: '/_understudy/ui/calls' })
  await other.getByText('1 call', { exact: true }).waitFor()
  await other.locator('.state', { hasText: 'live' }).waitFor()
  await other.context().close()
})

test('inspector connection: shows the frame of the page before any script', async () => {
  const plain = await browser.open(`${servers[0]?.url}/`, { scripts: false })
  expect(await plain.locator('.side .brand').textContent()).toBe('Understudy')
  await plain.context().close()
})

test('inspector connection: reports a server that does not respond and keeps its content', async () => {
  await state('live')
  goAway()
  await state('disconnected')
  expect(await rows().count()).toBe(1)
})

test('inspector connection: shows missed and new calls when the server is back', async () => {
  for (const text of ['One', 'Two', 'Three']) await call(servers[0], text)
  behind = servers[0]?.url
  await state('live')
  await page.getByText('4 calls').waitFor()
  await call(servers[0], 'After')
  await page.getByText('5 calls').waitFor()
})

test('inspector connection: shows every call of a burst in the end', async () => {
  await Promise.all(Array.from({ length: 100 }, (_, index) => call(servers[0], `Call ${index}`)))
  await page.getByText('105 calls').waitFor()
  await page.locator('.state', { hasText: /^live$/ }).waitFor()
})

test('inspector connection: forgets what a restarted server does not have', async () => {
  await call(servers[1], 'Another')
  goAway()
  await state('disconnected')
  behind = servers[1]?.url
  await state('live')
  await page.getByText('1 call', { exact: true }).waitFor()
})
