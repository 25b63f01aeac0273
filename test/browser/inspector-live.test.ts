// The inspector's list in two tabs of a real browser, while sessions change: it is right at rest, whatever happened before.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { accepted } from '../support/accepted.ts'
import { serveHere } from '../support/cli.ts'
import { type InspectorBrowser, inspectorBrowser, screenshot } from '../support/inspector.ts'
import type { Server } from '../support/server.ts'

let server: Server
let browser: InspectorBrowser
let page: Page
let other: Page

/** More calls than the page requests at a time, which is 1,000. */
const MANY = 1_100

const headers = { authorization: 'Bearer any', 'content-type': 'application/json' }
const send = (method: string, path: string, body?: object) =>
  accepted(fetch(`${server.url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) }))
const chat = (content: string) => ({ model: 'gpt-4o', messages: [{ role: 'user', content }] })
const call = (session: string, text = 'Hello!') => send('POST', `/s/${session}/v1/chat/completions`, chat(text))

/** Makes calls, 32 at once. */
async function burst(session: string, count: number): Promise<void> {
  let next = 0
  const work = async () => {
    while (next < count) await call(session, `Call ${next++}`)
  }
  await Promise.all(Array.from({ length: 32 }, work))
}

/** What the server lists of all sessions: how many calls, and the newest of them. */
async function listed(): Promise<number> {
  let count = 0
  for (let cursor: string | null = ''; cursor !== null; ) {
    const from: string = cursor && `&cursor=${encodeURIComponent(cursor)}`
    const response = await fetch(`${server.url}/_understudy/calls?sessions=all&limit=1000${from}`, { headers })
    const { data, next } = (await response.json()) as { data: unknown[]; next: string | null }
    count += data.length
    cursor = next
  }
  return count
}

/** Waits until a page lists as many calls as the server does, and none is under way. */
async function isRight(shown: Page): Promise<void> {
  const count = await listed()
  const text = `${count.toLocaleString('en-US')} call${count === 1 ? '' : 's'}`
  if (count === 0) await shown.getByRole('heading', { name: 'Connect your app' }).waitFor()
  else await shown.getByText(text, { exact: true }).waitFor()
  await shown.locator('.state', { hasText: /^live$/ }).waitFor()
}

/** Sets whether a page can be seen, as the browser says it to scripts. */
const setVisible = (shown: Page, visible: boolean) =>
  shown.evaluate(
    (state) => {
      Object.defineProperty(document, 'visibilityState', { configurable: true, value: state })
      document.dispatchEvent(new Event('visibilitychange'))
    },
    visible ? 'visible' : 'hidden',
  )

beforeAll(async () => {
  ;[server, browser] = await Promise.all([serveHere(['--db', ':memory:'], {}), inspectorBrowser()])
  page = await browser.open(`${server.url}/`)
  other = await browser.open(`${server.url}/`, { dark: true })
}, 90_000)
afterAll(async () => {
  await browser?.close()
  await server?.stop()
})
afterEach(() => expect(browser.complaints).toEqual([]))

describe('inspector list in two tabs', () => {
  const rows: [what: string, work: () => Promise<unknown>][] = [
    ['one call is made', () => call('a')],
    ['calls of several sessions are made', () => Promise.all(['a', 'b', 'c'].map((name) => burst(name, 20)))],
    ['a session is reset', () => send('POST', '/_understudy/sessions/a/reset')],
    ['a session is reset while calls are made', () => Promise.all([burst('b', 100), resets('b', 5)])],
    ['a session is deleted', () => send('DELETE', '/_understudy/sessions/c')],
    ['a deleted session is used again', () => burst('c', 3)],
    ['a snapshot replaces the content of a session', () => snapshot('b')],
  ]
  test.each(rows)(
    'is right when %s',
    async (_, work) => {
      await work()
      await Promise.all([page, other].map(isRight))
    },
    60_000,
  )

  test(`is right when ${MANY.toLocaleString('en-US')} calls arrive in a burst`, async () => {
    await send('POST', '/_understudy/reset?all=true')
    const inFlight = page.getByText(/in flight/).waitFor()
    const made = burst('default', MANY)
    await inFlight
    await screenshot(page, 'burst-light')
    await screenshot(other, 'burst-dark')
    await made
    await Promise.all([page, other].map(isRight))
    expect(await page.locator('.grid .row').first().getAttribute('aria-rowindex')).toBe('2')
    await screenshot(page, 'after-burst-light')
    await screenshot(other, 'after-burst-dark')
  }, 120_000)
})

test('inspector list: shows its oldest call when it is scrolled to its end', async () => {
  await page.locator('.grid').evaluate((grid) => grid.scrollTo(0, grid.scrollHeight))
  await page.locator(`.grid .row[aria-rowindex="${MANY + 1}"]`).waitFor({ timeout: 5_000 })
  await page.locator('.grid').evaluate((grid) => grid.scrollTo(0, 0))
})

async function resets(session: string, times: number): Promise<void> {
  for (let index = 0; index < times; index++) {
    await call(session)
    await send('POST', `/_understudy/sessions/${session}/reset`)
  }
}

async function snapshot(session: string): Promise<void> {
  const path = `${server.url}/s/${session}/_understudy/snapshot`
  const text = await (await fetch(path, { headers })).text()
  await burst(session, 5)
  await accepted(fetch(path, { method: 'POST', headers, body: text }))
}

test('inspector list: requests calls at most four times a second, never while hidden, and once when shown', async () => {
  await send('POST', '/_understudy/reset?all=true')
  await isRight(page)
  const asked: number[] = []
  page.on('request', (request) => {
    if (request.url().includes('/_understudy/calls?')) asked.push(performance.now())
  })
  const began = performance.now()
  for (let index = 0; index < 60; index++) await call('default')
  await isRight(page)
  expect(asked.length).toBeGreaterThan(0)
  expect(asked.length).toBeLessThanOrEqual(2 + (performance.now() - began) / 250)
  await setVisible(page, false)
  asked.length = 0
  await burst('default', 20)
  await isRight(other)
  expect(asked).toEqual([])
  await setVisible(page, true)
  await isRight(page)
  expect(asked).toHaveLength(1)
}, 60_000)
