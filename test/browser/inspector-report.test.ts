// The inspector as a report opened from disk: on narrow and dark screens, accessible, and behind a token.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Page } from 'playwright-core'
import { runCommand, serveHere } from '../support/cli.ts'
import { DARK, flaws, type InspectorBrowser, inspectorBrowser, NARROW, WIDE } from '../support/inspector.ts'
import { emptyFolder, run as runExecutable, type Server } from '../support/server.ts'

const folder = emptyFolder()
let server: Server
let browser: InspectorBrowser
/** The inspector of the server, with its token. */
let page: Page
/** Reports in files, one after the other. */
let report: Page

const headers = {
  'content-type': 'application/json',
  authorization: 'Bearer secret',
  'x-understudy-session': 'storm',
}
/** Each row of a list, event and line of a trace is checked for contrast, which takes most of the time here. */
const CALLS = 2
const SHORT = { name: 'short', match: { operation: 'chat.completions' }, reply: { content: 'Soon.' } }
const evil = '</script><script>window.hit=1</script><!-- <b>'
async function send(method: string, path: string, body: unknown) {
  const response = await fetch(`${server.url}${path}`, { method, headers, body: JSON.stringify(body) })
  const text = await response.text()
  if (!response.ok) throw new Error(`${response.status} ${text}`)
}

beforeAll(async () => {
  ;[server, browser] = await Promise.all([serveHere(['--db', ':memory:', '--token', 'secret'], {}), inspectorBrowser()])
  await send('POST', '/_understudy/sessions', { name: 'storm', clock: 'virtual', fixtures: [SHORT] })
  await send('PUT', '/_understudy/scenario', { name: 'rate-limit-burst' })
  const messages = [{ role: 'user', content: evil }]
  for (let index = 0; index < CALLS; index++)
    await send('POST', '/v2/router/chat/completions', {
      ...{ model: 'openai/gpt-4o', messages, retry: { count: 3 }, stream: true },
    })
}, 90_000)
afterAll(async () => {
  await browser?.close()
  await server?.stop()
  folder.remove()
})

test('inspector token: is requested once', async () => {
  page = await browser.open(`${server.url}/`)
  const dialog = page.getByRole('dialog', { name: 'Token required' })
  await dialog.getByLabel('Token').fill('secret')
  await dialog.getByRole('button', { name: 'Use token' }).click()
  await page.locator('.row').first().waitFor()
  await page.reload()
  await page.locator('.row').first().waitFor()
  expect(await dialog.count()).toBe(0)
  // The browser itself notes a 401.
  browser.complaints.splice(0, browser.complaints.length, ...browser.complaints.filter((one) => !one.includes('401')))
})

test('HTML report: opens from disk, without a server and read-only', async () => {
  const file = join(folder.path, 'report.html')
  const { code, stderr } = await runCommand([
    'trace',
    'export',
    '--url',
    server.url,
    '--token',
    'secret',
    '--html',
    file,
  ])
  expect([code, stderr]).toEqual([0, expect.stringContaining(`wrote ${CALLS} calls`)])
  expect(readFileSync(file, 'utf8').split('<script>window.hit').length).toBe(1)
  report = await browser.open(`${pathToFileURL(file)}#/calls?session=storm&text=window.hit`)
  await report.getByText(`${CALLS} of ${CALLS}`).waitFor()
  await report.locator('.row').last().dispatchEvent('click')
  await report.getByRole('table', { name: 'Timeline of the call' }).waitFor()
  await report.getByRole('tab', { name: 'Request' }).click()
  expect(await report.getByRole('tabpanel').textContent()).toContain(evil)
  await report.getByRole('tab', { name: 'Response' }).click()
  await report.getByRole('radio', { name: 'Raw' }).check()
  expect(await report.getByRole('region', { name: 'Raw response' }).textContent()).toContain('data: [DONE]')
  expect(await report.evaluate(() => (globalThis as { hit?: number }).hit)).toBeUndefined()
  const views = report.getByRole('navigation', { name: 'Views' }).getByRole('link')
  expect(await views.allTextContents()).toEqual(['Calls', 'Compare', 'Scenarios'])
  expect(await report.getByRole('link', { name: 'Docs' }).count()).toBe(0)
  await report.evaluate(() => void (location.hash = '#/scenarios'))
  await report.getByRole('region', { name: 'Session storm' }).getByText('two refusals', { exact: true }).waitFor()
})

test('HTML report: has no serious accessibility problem in a file', async () => {
  await report.evaluate(() => void (location.hash = '#/calls?session=storm'))
  await report.locator('.row.good').first().click()
  await report.getByRole('table', { name: 'Timeline of the call' }).waitFor()
  expect(await flaws(report, { screens: [WIDE, DARK], picture: 'report' })).toEqual({})
})

test('HTML report: shows what a command did, without a serious accessibility problem', async () => {
  const file = join(folder.path, 'run.html')
  const ask = `await fetch(process.env.OPENAI_BASE_URL + '/chat/completions', { method: 'POST', headers: { authorization: 'Bearer ' + process.env.OPENAI_API_KEY, 'content-type': 'application/json' }, body: JSON.stringify({ model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hi' }] }) })`
  await runExecutable(
    ['exec', '--html', file, '--scenario', 'outage', '--scenario', 'bad-key', '--', process.execPath, '-e', ask],
    { cwd: folder.path },
  )
  await report.goto(String(pathToFileURL(file)))
  await report.getByRole('heading', { name: '1 of 2 runs failed' }).waitFor()
  const outage = report.getByRole('region', { name: 'Run outage' })
  await outage.getByRole('heading', { name: 'outage: 1 problem found' }).waitFor()
  expect(await outage.locator('.facts').textContent()).toMatch(/^Exit code0Scenario and seedoutageDuration/)
  const call = outage.getByRole('table', { name: 'Timeline of the run' }).getByRole('row')
  expect(await call.textContent()).toContain('fault injected: the outage')
  await call.getByRole('link').click()
  await report.getByRole('table', { name: 'Timeline of the call' }).waitFor()
  await report.evaluate(() => void (location.hash = '#/scenarios'))
  await report.getByRole('region', { name: 'Session outage: outage' }).waitFor()
  await report.getByRole('region', { name: 'Session bad-key: bad-key' }).waitFor()
  expect(await flaws(report, { screens: [WIDE, DARK], picture: 'run' })).toEqual({})
})

test('HTML report: begins with the verdict, the command, its exit code and failed sessions', async () => {
  const file = join(folder.path, 'sessions.html')
  const program = join(folder.path, 'sessions.mjs')
  writeFileSync(
    program,
    `const ask = (session) => fetch(process.env.OPENAI_BASE_URL + '/chat/completions', { method: 'POST', headers: { authorization: 'Bearer session:' + session, 'content-type': 'application/json' }, body: JSON.stringify({ model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hi' }] }) })
while (!(await ask('a-patient')).ok) await new Promise((resolve) => setTimeout(resolve, 400))
await ask('b-hasty')
process.exit(7)`,
  )
  const scenario = join(folder.path, 'once.yaml')
  writeFileSync(
    scenario,
    'name: once\nrules:\n  - name: first\n    when: { calls: 1 }\n    fault: { type: http-error, status: 503 }\n',
  )
  await runExecutable(['exec', '--html', file, '--scenario', scenario, '--', process.execPath, program], {
    cwd: folder.path,
  })
  await report.goto(String(pathToFileURL(file)))
  const text = (await report.locator('.result').textContent()) ?? ''
  expect(text).toMatch(
    /^FAILThe command failed with exit code 7; 1 of 2 sessions failedCommand.*sessions\.mjsExit code7/,
  )
  expect(await report.locator('details.session summary').allTextContents()).toEqual([
    'fail b-hasty 1 call, scenario once',
    'pass a-patient 2 calls, scenario once',
  ])
  expect(await report.locator('details.session[open]').count()).toBe(1)
  await report.getByText('a-patient').click()
  await report.getByRole('table', { name: 'Timeline of the run' }).nth(1).waitFor()
  expect(await flaws(report, { screens: [WIDE, NARROW], picture: 'result' })).toEqual({})
})

test('HTML report: says which request was not recorded', async () => {
  const file = join(folder.path, 'replay.html')
  const ask = `await fetch(process.env.OPENAI_BASE_URL + '/embeddings', { method: 'POST', headers: { authorization: 'Bearer ' + process.env.OPENAI_API_KEY, 'content-type': 'application/json' }, body: JSON.stringify({ model: 'text-embedding-3-small', input: 'a' }) })`
  await runExecutable(['exec', '--html', file, '--replay', '.', '--', process.execPath, '-e', ask], {
    cwd: folder.path,
  })
  await report.goto(String(pathToFileURL(file)))
  const text = (await report.locator('.result').textContent()) ?? ''
  expect(text).toMatch(/^FAIL1 cassette problemCommand/)
  expect(text).toContain('no-scenario: miss: embeddings openai/text-embedding-3-small: the session has no cassette')
})

const VIEWS = [
  'calls?session=storm',
  'compare',
  'scenarios?session=storm',
  'sessions?session=storm',
  'agents',
  'workspace',
  'start',
]
const TABS = ['Request', 'Response', 'Headers', 'cURL', 'Generate', 'Trace']
test('inspector: does not overflow and has no serious accessibility problem in any view, also on narrow and dark screens', async () => {
  const found: Record<string, unknown> = {}
  /** Looks at the part of the page that has changed. */
  const look = async (view: string, part = 'main') => {
    const picture = view.replace(/\?.*/, '').replaceAll(' ', '-').toLowerCase()
    const wrong = await flaws(page, { part, picture })
    if (Object.keys(wrong).length > 0) found[view] = wrong
  }
  const visit = (hash: string) => page.evaluate((one) => void (location.hash = one), `#/${hash}`)
  for (const [index, view] of VIEWS.entries()) {
    await visit(view)
    await page.locator('main h1, main .row').first().waitFor()
    if (view === 'compare') await comparePair(page, visit)
    if (view.startsWith('scenarios')) {
      await page.getByText('Edit', { exact: true }).click()
      await page.getByText('Valid', { exact: true }).waitFor()
    }
    await look(view, index === 0 ? 'html' : 'main')
  }
  await visit('calls?session=storm')
  await page.locator('.row').last().dispatchEvent('click')
  await page.getByRole('table', { name: 'Timeline of the call' }).waitFor()
  await page.keyboard.press('x')
  await page.getByText('1 call selected').waitFor()
  await look('course')
  for (const tab of TABS) {
    await page.getByRole('tab', { name: tab }).click()
    await page.getByRole('tabpanel', { name: tab }).waitFor()
    await look(tab, '[role=tabpanel]')
  }
  await page.getByRole('tab', { name: 'Response' }).click()
  await page.getByRole('radio', { name: 'Events' }).check()
  await page.getByRole('table', { name: /^Events/ }).waitFor()
  await look('events', '[role=tabpanel]')
  await page.keyboard.press('Escape')
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
  await look('keys', 'dialog[open]')
  expect(found).toEqual({})
}, 90_000)

/** Two calls side by side, chosen by hand. */
async function comparePair(page: Page, visit: (hash: string) => Promise<void>): Promise<void> {
  const other = page.getByLabel('Call B')
  await other.locator('option').nth(2).waitFor({ state: 'attached' })
  await page.getByLabel('Call A').selectOption({ index: 1 })
  await other.selectOption({ index: CALLS })
  await page.getByRole('region', { name: 'Request (parsed)', exact: true }).waitFor()
  await visit(new URL(page.url()).hash.slice(2))
}

test('inspector: has no motion when reduced motion is preferred', async () => {
  const moving = await page.evaluate(() => {
    const lasts = (text: string) => text.split(',').some((one) => Number.parseFloat(one) > 0)
    return [...document.querySelectorAll('*')].filter((one) => {
      const { transitionDuration, animationDuration, animationName } = getComputedStyle(one)
      return lasts(transitionDuration) || (animationName !== 'none' && lasts(animationDuration))
    }).length
  })
  expect(moving).toBe(0)
})

test('HTML report: makes no other requests and leaves the console clean', () => {
  expect(browser.complaints.filter((one) => !one.includes('401'))).toEqual([])
})
