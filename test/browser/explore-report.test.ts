// The explore report in a real browser, opened from disk: the matrix, the run behind each case, and how to repeat it.
import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Page } from 'playwright-core'
import { flaws, type InspectorBrowser, inspectorBrowser } from '../support/inspector.ts'
import { EXECUTABLE, emptyFolder } from '../support/server.ts'

const folder = emptyFolder()
const evil = '</script><script>window.hit=1</script><img src=x onerror="window.hit=2">'
/** It prints what must stay text, tries once more when the server fails, and takes half a stream for a whole one. */
const PROGRAM = `
const { OPENAI_BASE_URL: base, OPENAI_API_KEY: key } = process.env
const post = (body) => fetch(base + '/chat/completions', {
  method: 'POST',
  headers: { authorization: 'Bearer ' + key, 'content-type': 'application/json' },
  body: JSON.stringify({ model: 'openai/gpt-4o', messages: [{ role: 'user', content: 'Hi' }], ...body }),
})
console.log(${JSON.stringify(evil)})
console.error('\\x1b[31mred\\x1b[0m \\x07bell, api_key=opaque1234, ' + process.env.PARCEL_TOKEN)
for (let tries = 0; tries < 2 && !(await post({})).ok; tries++);
try { for await (const _ of (await post({ stream: true })).body); } catch { console.log('the stream broke off') }
`
const FILE = join(folder.path, 'report.html')
let browser: InspectorBrowser
let page: Page

beforeAll(async () => {
  writeFileSync(join(folder.path, "it's a program.mjs"), PROGRAM)
  const classes = ['server-error-once', 'cut-stream', 'server-error-forever'].flatMap((name) => [
    '--failure-mode',
    name,
  ])
  const child = Bun.spawn(
    [EXECUTABLE, 'explore', ...classes, '--html', FILE, '--seed', '5', '--', process.execPath, "it's a program.mjs"],
    {
      cwd: folder.path,
      env: { PATH: process.env.PATH ?? '', PARCEL_TOKEN: 'my-opaque-value' },
      stdout: 'ignore',
      stderr: 'ignore',
    },
  )
  ;[browser] = await Promise.all([inspectorBrowser(), child.exited])
  page = await browser.open(String(pathToFileURL(FILE)))
}, 90_000)
afterAll(async () => {
  await browser?.close()
  folder.remove()
})

test('explore report: begins with one sentence and the problems, the worst first', async () => {
  expect(await page.locator('.explore .sentence').textContent()).toBe('2 problems in 5 cases at 2 injection points')
  const problems = await page.getByRole('list', { name: 'Problems' }).locator('> li').allTextContents()
  expect(problems).toEqual([
    expect.stringMatching(
      /^error Lost workchat\.completions stream, call 2: "Hi"under server-error-once, cut-stream, server-/,
    ),
    expect.stringMatching(/^error Swallowed errorchat\.completions, call 1: "Hi"under server-error-forever/),
  ])
  await page.getByRole('link', { name: 'Swallowed error' }).click()
  const cell = page.getByRole('region', { name: 'Case', exact: true })
  await cell.getByText('retried without success').waitFor()
})

test('explore report: shows the matrix second, with the three numbers', async () => {
  const rows = page.getByRole('region', { name: 'Matrix' }).getByRole('row')
  expect(await rows.allTextContents()).toEqual([
    'Injection pointserver-error-oncecut-streamserver-error-forever',
    expect.stringMatching(/^p1 chat\.completions, call 1: "Hi"\+s$/),
    expect.stringMatching(/^p2 chat\.completions stream, call 2: "Hi"sss\*$/),
  ])
  expect(await page.locator('.figures').textContent()).toBe(
    '5 of 5faults injected / applicable1 of 5tolerated / injected0 of 0recovery paths covered / configured',
  )
})

test('explore report: shows verdict, calls, output, command and scenario of a case', async () => {
  await page.getByRole('link', { name: /^swallowed: cut-stream at/ }).click()
  const cell = page.getByRole('region', { name: 'Case', exact: true })
  await cell.getByText('the client received the fault and did not retry').waitFor()
  const output = (await cell.getByRole('region', { name: 'Output', exact: true }).textContent()) ?? ''
  expect(output).toContain(evil)
  expect(output).toContain('red \\u0007bell, api_key=(masked), (masked)\nthe stream broke off')
  expect(/opaque1234|my-opaque-value/.test(readFileSync(FILE, 'utf8'))).toBe(false)
  const command = (await cell.getByRole('region', { name: 'Command' }).textContent()) ?? ''
  expect(command).toMatch(
    /^understudy explore --case chat\.completions-\w+\.1-cut-stream --seed 5 -- \S+ 'it'\\''s a program.mjs'$/,
  )
  expect(await page.evaluate(() => (globalThis as { hit?: number }).hit)).toBeUndefined()
  expect(readFileSync(FILE, 'utf8').split('<script>window.hit').length).toBe(1)
})

test('explore report: marks the broken call in the timeline of the run', async () => {
  const rows = page.getByRole('table', { name: 'Timeline of the run' }).getByRole('row')
  expect(await rows.allTextContents()).toEqual([
    expect.stringMatching(/^chat\.completionsHisucceeded \(200\) in /),
    expect.stringMatching(/^chat\.completions streamHi.*fault injected: cut-stream/),
  ])
  expect(await page.locator('.line.broken').count()).toBe(1)
})

test('explore report: shows what differs from the baseline run', async () => {
  const difference = page.getByRole('region', { name: 'Difference to the baseline run' })
  const rows = difference.getByRole('table').getByRole('row')
  const cells = (await rows.allTextContents()).map((text) => text.replace(/[\d.]+ m?s/g, 'T'))
  expect(cells).toEqual(['this runbaseline run', 'Exit code00', 'DurationTT', 'Calls22'])
  expect(await difference.getByRole('listitem').allTextContents()).toEqual([
    expect.stringMatching(/^changed Hi disconnected/),
  ])
  expect(await difference.locator('.cm-changedLine, .cm-inlineChangedLine').allTextContents()).toEqual([
    'the stream broke off',
  ])
  await page.getByRole('link', { name: /^tolerated: server-error-once at/ }).click()
  await difference.getByText('Same output.').waitFor()
  expect(await difference.getByRole('listitem').allTextContents()).toEqual([
    'changed Hi HTTP error (500), not succeeded (200)',
    'added Hi not in the baseline run',
  ])
  await page.getByRole('link', { name: /^swallowed: cut-stream at/ }).click()
})

test('explore report: marks a derived case in the matrix and in its panel', async () => {
  await page.getByRole('link', { name: /^swallowed: server-error-forever at .* \(derived\)$/ }).click()
  const cell = page.getByRole('region', { name: 'Case', exact: true })
  await cell.getByText('Derived: not run separately').waitFor()
  expect(await cell.textContent()).toMatch(
    /as chat\.completions-\w+\.1-server-error-once, since no later call would have received this fault/,
  )
  await page.getByRole('link', { name: /^swallowed: cut-stream at/ }).click()
  await cell.getByText('Derived: not run separately').waitFor({ state: 'detached' })
})

test('explore report: shows a call of a run as every call, and closing it leads back', async () => {
  const cell = page.getByRole('region', { name: 'Case', exact: true })
  const broken = cell.getByRole('row').filter({ hasText: 'fault injected' })
  await broken.getByRole('link').click()
  await page.getByRole('table', { name: 'Timeline of the call' }).waitFor()
  expect(await page.getByRole('region', { name: 'Call', exact: true }).textContent()).toContain('cut-stream at')
  await page.getByRole('button', { name: 'Close the call' }).click()
  await cell.waitFor()
})

test('explore report: has a command for a case that breaks the program again', async () => {
  const command = await page.getByRole('region', { name: 'Command' }).textContent()
  const child = Bun.spawn(['sh', '-c', (command ?? '').replace('understudy', EXECUTABLE)], {
    cwd: folder.path,
    env: { PATH: process.env.PATH ?? '' },
    stdout: 'pipe',
    stderr: 'ignore',
  })
  expect(await new Response(child.stdout).text()).toContain('FAIL: 1 problem in 1 case')
})

test.each([false, true])(
  'explore report on wide, narrow and dark screens: does not overflow and has no serious accessibility problem (open case: %p)',
  async (open) => {
    if (open) await page.getByRole('link', { name: /^tolerated/ }).click()
    else await page.goto(String(pathToFileURL(FILE)))
    await page.getByRole('region', { name: 'Case', exact: true }).waitFor({ state: open ? 'visible' : 'detached' })
    expect(await flaws(page, { picture: `explore${open ? '-cell' : ''}` })).toEqual({})
  },
)

test('explore report: makes no other requests and leaves the console clean', () => {
  expect(browser.complaints).toEqual([])
})
