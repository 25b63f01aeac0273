// The inspector in a real browser, with every other host out of reach.
import axe from 'axe-core'
import type { BrowserContext, Page } from 'playwright-core'
import { chromiumHere } from './browser.ts'

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

/** The pages of a file of tests, and what they did that they must not do. */
export interface InspectorBrowser {
  /** A page of a size and scheme; nothing that it does may reach another host than `own`. */
  open(url: string, options?: PageOptions): Promise<Page>
  /** Addresses that were asked for elsewhere, and errors and warnings of the console. */
  readonly complaints: string[]
  /** Closes the pages that are still open. */
  close(): Promise<void>
}

/** Pages in the browser of this process. */
export async function inspectorBrowser(): Promise<InspectorBrowser> {
  const browser = await chromiumHere()
  const contexts: BrowserContext[] = []
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
      contexts.push(context)
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
    close: async () => void (await Promise.all(contexts.map((context) => context.close()))),
  }
}

/** Rules of accessibility that a page must meet. */
export const WCAG = ['wcag2a', 'wcag2aa', 'wcag21aa']

/** Serious things that the checker has against the part of a page that a selector names. */
export async function barriers(page: Page, rules: readonly string[] = WCAG, part = 'html'): Promise<string[]> {
  // Scripts of tests are let in by the browser's protocol; the page's policy would not. Compiling this one takes long.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe.source)
  const { violations } = await page.evaluate(
    ([selector, runOnly]) =>
      (globalThis as unknown as { axe: typeof axe }).axe.run(selector, {
        ...{ runOnly: [...runOnly], preload: false, resultTypes: ['violations'] },
      }),
    [part, rules] as const,
  )
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`)
}

/** How many pixels a page is wider than its window. */
export const overflow = (page: Page): Promise<number> =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)

/** Keeps a picture of a page in `dist/screenshots`, to be looked at, if the variable SCREENSHOTS is set: drawing takes long. */
export async function screenshot(page: Page, name: string): Promise<void> {
  const path = `${import.meta.dir}/../../dist/screenshots/${name}.png`
  if (process.env.SCREENSHOTS) await page.screenshot({ path })
}
