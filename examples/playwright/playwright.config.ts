import { defineConfig } from '@playwright/test'

// biome-ignore lint/style/noDefaultExport: Playwright looks for it
export default defineConfig({
  // One server for all workers, instead of one for each.
  globalSetup: '@understudy/test/global-setup',
  // A browser of this machine, where Playwright has installed none.
  use: process.env.CHROMIUM ? { launchOptions: { executablePath: process.env.CHROMIUM } } : {},
  reporter: 'line',
})
