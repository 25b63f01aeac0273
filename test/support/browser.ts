// The browser of this machine, for tests that need a real one.
import { existsSync } from 'node:fs'

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
