// The inspector in a real browser, with every other host out of reach.
import { readFileSync } from 'node:fs'
import type axe from 'axe-core'
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

/** The checker of accessibility, minified: a page compiles it in two thirds of the time. */
const CHECKER = readFileSync(Bun.resolveSync('axe-core/axe.min.js', import.meta.dir), 'utf8')

/** A screen, and the rules of accessibility that a page must meet there. */
interface Screen {
  name: string
  width: number
  dark: boolean
  rules: readonly string[]
}
export const WIDE: Screen = { name: 'wide', width: 1280, dark: false, rules: ['wcag2a', 'wcag2aa', 'wcag21aa'] }
export const DARK: Screen = { name: 'dark', width: 1280, dark: true, rules: ['color-contrast'] }
/** It changes what is hidden, and what is scrolled. */
export const NARROW: Screen = {
  ...{ name: 'narrow', width: 400, dark: false },
  rules: ['button-name', 'label', 'link-name', 'scrollable-region-focusable'],
}

/** What is looked at. */
interface Look {
  /** The part of the page, as a selector. */
  part?: string
  screens?: readonly Screen[]
  /** The end of the names of its pictures. */
  picture: string
}

/**
 * What is wrong with a part of a page, by screen: how many pixels the page is wider than its window, a background that is not that of the
 * scheme, and serious problems of accessibility. What a screen changes is looked at there, and everything on the wide one, which is
 * there again afterwards.
 */
export async function flaws(
  page: Page,
  { part = 'html', screens = [WIDE, DARK, NARROW], picture }: Look,
): Promise<Record<string, unknown>> {
  // Scripts of tests are let in by the browser's protocol; the page's policy would not. Compiling this one takes long.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(CHECKER)
  const found: Record<string, unknown> = {}
  let shown: Screen = WIDE
  const show = async (next: Screen) => {
    if (next.width !== shown.width) await page.setViewportSize({ width: next.width, height: 860 })
    if (next.dark !== shown.dark) await page.emulateMedia({ colorScheme: next.dark ? 'dark' : 'light' })
    shown = next
  }
  for (const screen of screens) {
    await show(screen)
    await screenshot(page, `${screen.name}-${picture}`)
    const { overflows, background, violations } = await page.evaluate(check, { part, rules: [...screen.rules] })
    const isRight = background === (screen.dark ? 'rgb(15, 17, 21)' : 'rgb(255, 255, 255)')
    if (overflows > 0 || !isRight || violations.length > 0) found[screen.name] = { overflows, background, violations }
  }
  await show(WIDE)
  return found
}

/** Runs in the page. */
async function check({ part, rules }: { part: string; rules: string[] }) {
  const html = document.documentElement
  const checker = (globalThis as unknown as { axe: typeof axe }).axe
  const { violations } = await checker.run(part, { runOnly: rules, preload: false, resultTypes: ['violations'] })
  return {
    overflows: html.scrollWidth - html.clientWidth,
    background: getComputedStyle(html).backgroundColor,
    violations: violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(' | ')}`),
  }
}

/** Keeps a picture of a page in `dist/screenshots`, to be looked at, if the variable SCREENSHOTS is set: drawing takes long. */
export async function screenshot(page: Page, name: string): Promise<void> {
  const path = `${import.meta.dir}/../../dist/screenshots/${name}.png`
  if (process.env.SCREENSHOTS) await page.screenshot({ path })
}
