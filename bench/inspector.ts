// The inspector with many traces: first list, whole list, filter, scrolling, memory of the tab and of the server, and whether calls
// are slower while a page is open. `npm run bench inspector [-- CALLS]`.
import { chromium, type Page } from 'playwright-core'
import { chromiumPath } from '../test/support/browser.ts'
import { chooseCores, stayOn } from './machine.ts'
import { median, megabytes, post, start, understudy } from './support.ts'

const CALLS = Number(process.argv[2] ?? 100_000)
const AT_ONCE = 64
const ROUNDS = 5
const CALLS_A_ROUND = 2_000
const SETTLE_MS = 1_500

const body = (index: number) =>
  JSON.stringify({ model: 'openai/gpt-4o', messages: [{ role: 'user', content: `Call ${index}` }] })

/** Makes calls, so many at once; gives calls a second. */
async function load(url: string, count: number): Promise<number> {
  const began = performance.now()
  let next = 0
  const work = async () => {
    while (next < count) await post(`${url}/v2/router/chat/completions`, body(next++))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return (count / (performance.now() - began)) * 1_000
}

/** Scrolls through the list for a while; milliseconds of the frames. */
const scroll = (page: Page): Promise<number[]> =>
  page.evaluate(async () => {
    const list = document.querySelector('.grid')
    if (!list) return []
    const frames: number[] = []
    const steps = 180
    let last = await new Promise<number>(requestAnimationFrame)
    for (let step = 0; step <= steps; step++) {
      list.scrollTop = ((list.scrollHeight - list.clientHeight) * step) / steps
      const now = await new Promise<number>(requestAnimationFrame)
      frames.push(now - last)
      last = now
    }
    return frames
  })

const say = (what: string, figure: string) => console.log(`${what.padEnd(44)} ${figure}`)
const ms = (value: number) => `${Math.round(value)} ms`

const { cores } = chooseCores()
const server = await start({
  args: [
    ...[understudy, 'serve', '--json', '--port', '0', '--db', ':memory:'],
    ...['--keep-traces', String(CALLS * 2), '--keep-trace-bytes', '2GiB'],
  ],
})
say(`making ${CALLS} calls`, `${Math.round(await load(server.url, CALLS))} a second`)
const launch = () => chromium.launch({ executablePath: chromiumPath(), args: ['--no-sandbox', '--disable-gpu'] })
let browser = await launch()
const open = async () => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await page.addInitScript(notesRows)
  // The browser loads pages of its own into a new window.
  await Bun.sleep(SETTLE_MS)
  await page.goto(server.url, { waitUntil: 'commit' })
  // Whoever looks for the list from outside has the page load the means to look, which take it longer than the list.
  await Bun.sleep(SETTLE_MS)
  await page.locator('.row').first().waitFor()
  return page
}
/** Notes when there are rows, and when they have been drawn. */
const notesRows = () => {
  const marks = globalThis as { listed?: number; drawn?: number }
  new MutationObserver(() => {
    if (marks.listed !== undefined || !document.querySelector('.row')) return
    marks.listed = performance.now()
    requestAnimationFrame(() => setTimeout(() => (marks.drawn = performance.now())))
  }).observe(document, { childList: true, subtree: true })
}
/** Milliseconds from the request for the page on. */
const times = (page: Page) =>
  page.evaluate(() => {
    const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
    const [paint] = performance.getEntriesByType('paint')
    const { listed = Number.NaN, drawn = Number.NaN } = globalThis as { listed?: number; drawn?: number }
    return { received: navigation?.responseEnd ?? Number.NaN, painted: paint?.startTime ?? Number.NaN, listed, drawn }
  })
/** Waits until all calls are listed. */
const whole = (page: Page) =>
  page.waitForFunction(
    (least) => Number(document.querySelector('.count')?.textContent?.replace(/\D/g, '')) >= least,
    CALLS,
    { timeout: 300_000 },
  )
await (await open()).close()
const page = await open()
const { received, painted, listed, drawn } = await times(page)
say('the page received, and first painted', `${ms(received)}, ${ms(painted)}`)
say('the first list, and drawn', `${ms(listed)}, ${ms(drawn)}`)
await whole(page)
say('the whole list', ms(await page.evaluate(() => performance.now())))
const filtered = await page.evaluate(async () => {
  const from = performance.now()
  location.hash = '#/calls?outcome=failed'
  while (!document.querySelector('.count')?.textContent?.startsWith('0 of')) await new Promise(requestAnimationFrame)
  const to = performance.now()
  location.hash = '#/calls'
  return to - from
})
say('a filter', ms(filtered))
await page.locator('.row').first().waitFor()
const frames = (await scroll(page)).sort((one, other) => one - other)
say(
  'scrolling, frames over 50 ms',
  `${frames.filter((frame) => frame > 50).length} of ${frames.length}, longest ${ms(frames.at(-1) ?? 0)}`,
)
const heap = await page.evaluate(
  () => (performance as unknown as { memory: { usedJSHeapSize: number } }).memory.usedJSHeapSize,
)
say('memory of the tab (heap)', `${Math.round(heap / 1e6)} MB`)
say('memory of the server', megabytes(server.memory()))
await browser.close()
// From here on the server has a core of its own: what is measured is what the page costs it, and not the browser's work.
if (cores) {
  stayOn(cores.server, server.pid)
  stayOn(cores.load)
}
browser = await launch()
/** Makes calls; microseconds of the server's processor time for each. */
const cost = async () => {
  const before = server.cpu() ?? 0
  await load(server.url, CALLS_A_ROUND)
  return ((server.cpu() ?? 0) - before) / CALLS_A_ROUND
}
/** The server collects the garbage of what went before in a pause, of which the calls that are measured know nothing. */
const PAUSE_MS = 3_000
const [closed, opened]: [number[], number[]] = [[], []]
for (let round = -1; round < ROUNDS; round++) {
  await Bun.sleep(PAUSE_MS)
  const without = await cost()
  const shown = await open()
  await whole(shown)
  await Bun.sleep(PAUSE_MS)
  const withPage = await cost()
  await shown.close()
  if (round < 0) continue
  closed.push(without)
  opened.push(withPage)
}
say(
  'µs of the server a call, without and with a page',
  `${Math.round(median(closed))} and ${Math.round(median(opened))}`,
)
await browser.close()
await server.stop()
process.exit(0)
