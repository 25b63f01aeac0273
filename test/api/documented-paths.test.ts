// Routes are loaded in groups, by the beginning of a path (app/routes.ts). A group with a wrong beginning is never asked.
import { expect, test } from 'bun:test'
import { createTestApp } from '../support/app.ts'

interface Document {
  paths: Record<string, Record<string, unknown>>
}

test('documented paths: have a route for each of their methods', async () => {
  const { fetch, understudy, close } = createTestApp()
  const { paths } = (await fetch('/swagger/json')).json() as unknown as Document
  const documented = Object.entries(paths).flatMap(([path, methods]) => Object.keys(methods).map((one) => [one, path]))
  const missing: string[] = []
  for (const [method = '', path = ''] of documented) {
    const url = `http://localhost${path.replace(/\{\w+\}/g, 'x')}`
    const headers = { authorization: 'Bearer any' }
    const response = await understudy.app.fetch(new Request(url, { method: method.toUpperCase(), headers }))
    await response.body?.cancel()
    if (response.status === 405) missing.push(`${method} ${path}`)
  }
  expect(documented.length).toBeGreaterThan(150)
  expect(missing).toEqual([])
  await close()
})
