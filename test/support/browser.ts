// The browser of this machine, for tests that need a real one: one for all files that a process runs.
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const PLACES = [
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

let running: Promise<Browser> | undefined

/**
 * The browser of this process, which ends with it. Close its contexts, and leave it open for other files. A test that takes too long ends
 * all programs of its process: the next file starts another browser.
 */
export async function chromiumHere(): Promise<Browser> {
  const browser = await running
  if (browser?.isConnected()) return browser
  running = chromium.launch({ executablePath: chromiumPath(), args: ['--no-sandbox', '--disable-gpu'] })
  return running
}
