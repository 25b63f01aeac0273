// The browser of this machine, for tests that need a real one: one for all files that a process runs.
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import { once } from '../../src/lib/once.ts'

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

/** The browser of this process, which ends with it. Close its contexts, and leave it open for other files. */
export const chromiumHere: () => Promise<Browser> = once(() =>
  chromium.launch({ executablePath: chromiumPath(), args: ['--no-sandbox', '--disable-gpu'] }),
)
