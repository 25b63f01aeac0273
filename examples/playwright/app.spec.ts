// The program runs for each test, in the test's own session. The browser is not aware of it.
import { test as base, expect } from '@understudy/test/playwright'
import { startApp } from './app.ts'

const test = base.extend<{ app: string }>({
  app: async ({ understudy }, use) => {
    const { url, stop } = await startApp(understudy)
    await use(url)
    stop()
  },
})

test('a question is answered', async ({ app, page, understudy }) => {
  await understudy.fixtures({
    match: { operation: 'chat.completions', user: 'When do you open?' },
    reply: { content: 'At nine.' },
  })
  await page.goto(app)
  await page.getByLabel('Question').fill('When do you open?')
  await page.getByRole('button').click()
  await expect(page.getByRole('status')).toHaveText('At nine.')
})

test('app: asks to try again later when its model is down', async ({ app, page, understudy }) => {
  await understudy.scenario({
    name: 'down',
    rules: [{ name: 'unavailable', fault: { type: 'http-error', status: 503 } }],
  })
  await page.goto(app)
  await page.getByLabel('Question').fill('When do you open?')
  await page.getByRole('button').click()
  await expect(page.getByRole('status')).toHaveText(/try again later/)
})
