// For Playwright: `test` with the fixture `understudy`. Only tests that name it have a session.
import { test as playwright } from '@playwright/test'
import { openSession } from './test-session.ts'
import type { Understudy } from './types.ts'

export { expect } from '@playwright/test'

/** Playwright's `test`, whose tests may take `understudy`. */
export const test = playwright.extend<{ understudy: Understudy }>({
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads from the pattern which fixtures this one needs
  understudy: async ({}, use, info) => {
    const session = await openSession({ title: info.titlePath.slice(1).join(' > '), file: info.file })
    await use(session.understudy)
    await session.close(info.status !== info.expectedStatus)
  },
})
