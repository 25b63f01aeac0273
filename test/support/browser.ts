// The browser of this machine, for tests that need a real one.
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const PLACES = [
  // Chromium without a user interface: a page costs less than half.
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

const found = () => process.env.CHROMIUM ?? PLACES.find((one) => existsSync(one))

/** Whether there is one: `npm test` runs on machines without. */
export const hasChromium = (): boolean => found() !== undefined

/** Path of the browser; the variable CHROMIUM names another. */
export function chromiumPath(): string {
  const path = found()
  if (!path) throw new Error('no Chromium found: install it, or name it in the variable CHROMIUM')
  return path
}

const ARGUMENTS = [
  ...['--no-sandbox', '--disable-gpu', '--in-process-gpu'],
  // Pages of tests close before optimized code pays, and before collecting garbage beside a script does.
  '--js-flags=--no-opt --single-threaded',
  // Its processes are children of the first one, which waits for them: the processor time of all is counted.
  '--no-zygote',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
]

/** A browser that reaches this machine alone. End it with `closeBrowser`. */
export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: chromiumPath(), args: ARGUMENTS })

/** Whether a process has not ended, or nobody has waited for it yet. */
function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/**
 * Closes a browser with its pages. Only the processor time of a process that was waited for is counted: the browser leaves those behind
 * that have not ended before it, so it is closed after them.
 */
export async function closeBrowser(browser: Browser): Promise<void> {
  const session = await browser.newBrowserCDPSession()
  const { processInfo } = await session.send('SystemInfo.getProcessInfo')
  const pages = processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => id)
  for (const context of browser.contexts()) await context.close()
  while (pages.some(isThere)) await Bun.sleep(1)
  await browser.close()
}
