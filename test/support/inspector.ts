// The inspector in a real browser: one for a file of tests, with every other host out of reach.
import { type Browser, chromium, type Page } from 'playwright-core'
import { chromiumPath } from './browser.ts'

/** What a page is opened with. */
export interface PageOptions {
  width?: number
  height?: number
  dark?: boolean
  /** Whether its scripts run. */
  scripts?: boolean
  /** A path that it cannot reach. */
  without?: string
  /** What is there once it is loaded, as a selector. */
  ready?: string
}

/** A browser, and what its pages did that they must not do. */
export interface InspectorBrowser {
  /** A page of a size and scheme; nothing that it does may reach another host than `own`. */
  open(url: string, options?: PageOptions): Promise<Page>
  /** Addresses that were asked for elsewhere, and errors and warnings of the console. */
  readonly complaints: string[]
  close(): Promise<void>
}

/** Starts the browser. */
export async function inspectorBrowser(): Promise<InspectorBrowser> {
  const browser: Browser = await chromium.launch({
    executablePath: chromiumPath(),
    args: ['--no-sandbox', '--disable-gpu'],
  })
  const complaints: string[] = []
  return {
    complaints,
    async open(url, { width = 1280, height = 860, dark = false, scripts = true, without, ready = '#app main' } = {}) {
      const context = await browser.newContext({
        viewport: { width, height },
        colorScheme: dark ? 'dark' : 'light',
        reducedMotion: 'reduce',
        javaScriptEnabled: scripts,
      })
      const page = await context.newPage()
      page.setDefaultTimeout(60_000)
      const own = new URL(url).host
      await page.route('**/*', (route) => {
        const { host, protocol, pathname } = new URL(route.request().url())
        if (pathname === without) return route.abort()
        const isOwn = own === '' ? protocol === 'file:' : host === own
        if (isOwn || protocol === 'data:' || protocol === 'blob:') return route.continue()
        complaints.push(`asked for ${route.request().url()}`)
        return route.abort()
      })
      page.on('console', (message) => {
        if (!without && ['error', 'warning'].includes(message.type())) complaints.push(message.text())
      })
      page.on('pageerror', (error) => complaints.push(error.message))
      await page.goto(url)
      if (scripts) await page.locator(ready).waitFor()
      return page
    },
    close: () => browser.close(),
  }
}

/** Where screenshots of a run are kept to be looked at: build output, in no repository. */
export const screenshotPath = (name: string) => `${import.meta.dir}/../../dist/screenshots/${name}.png`
