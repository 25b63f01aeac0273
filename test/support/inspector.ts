// The inspector in a real browser, with every other host out of reach.
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { closeBrowser, launchBrowser } from './browser.ts'

/** What a page is opened with. */
export interface PageOptions {
  width?: number
  height?: number
  dark?: boolean
  /** Whether its scripts run. */
  scripts?: boolean
  /** A path that it cannot reach. */
  without?: string
  /** What it gets at a path in place of the server's response. */
  instead?: { path: string; json: unknown }
  /** What is there once it is loaded, as a selector. */
  ready?: string
}

/** The pages of a file of tests, and what they did that they must not do. */
export interface InspectorBrowser {
  /** A page of a size and scheme; nothing that it does may reach another host than `own`. */
  open(url: string, options?: PageOptions): Promise<Page>
  /** Addresses that were asked for elsewhere, and errors and warnings of the console. */
  readonly complaints: string[]
  /** Closes its pages and the browser. */
  close(): Promise<void>
}

/** Pages in a browser of their own. */
export async function inspectorBrowser(): Promise<InspectorBrowser> {
  const browser = await launchBrowser()
  const complaints: string[] = []
  return {
    complaints,
    async open(
      url,
      { width = 1280, height = 860, dark = false, scripts = true, without, instead, ready = '#app main' } = {},
    ) {
      const context = await browser.newContext({
        viewport: { width, height },
        colorScheme: dark ? 'dark' : 'light',
        reducedMotion: 'reduce',
        javaScriptEnabled: scripts,
      })
      const page = await context.newPage()
      page.setDefaultTimeout(60_000)
      const own = new URL(url).host
      if (without)
        await page.route(
          (url) => url.pathname === without,
          (route) => route.abort(),
        )
      if (instead)
        await page.route(
          (url) => url.pathname === instead.path,
          (route) => route.fulfill({ json: instead.json }),
        )
      page.on('request', (request) => {
        const { host, protocol } = new URL(request.url())
        const isOwn = own === '' ? protocol === 'file:' : host === own
        if (!isOwn && protocol !== 'data:' && protocol !== 'blob:') complaints.push(`asked for ${request.url()}`)
      })
      page.on('console', (message) => {
        if (!without && ['error', 'warning'].includes(message.type())) complaints.push(message.text())
      })
      page.on('pageerror', (error) => complaints.push(error.message))
      await page.goto(url)
      if (scripts) await page.locator(ready).waitFor()
      return page
    },
    close: () => closeBrowser(browser),
  }
}

/** Rules of accessibility that a page must meet. */
export const WCAG = ['wcag2a', 'wcag2aa', 'wcag21aa']

/** Those that a narrow screen changes: what it hides, and what it scrolls. */
export const NARROW = ['button-name', 'label', 'link-name', 'scrollable-region-focusable']
/** That which a dark screen changes. */
export const DARK = ['color-contrast']

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
