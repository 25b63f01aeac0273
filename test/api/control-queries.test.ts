// Unknown names in the query of a control route: an ignored `session` would mean that another session is read or changed.
import { afterAll, expect, test } from 'bun:test'
import { createTestApp } from '../support/app.ts'
import { openApiDocument } from '../support/document.ts'
import { errorOf } from '../support/errors.ts'

const app = createTestApp()
afterAll(() => app.close())

/** Paths for browsers, probes and scrapers, which add parameters of their own. */
const PUBLIC = /^\/_understudy\/(?:files\/\{\w+\}|health|livez|readyz|metrics)$/

test('control routes: reject unknown names in their query, and name them', async () => {
  const { paths } = await openApiDocument<{ paths: Record<string, Record<string, unknown>> }>()
  const routes = Object.entries(paths)
    .filter(([path]) => path.startsWith('/_understudy/'))
    .flatMap(([path, methods]) => Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })))
  expect(routes.length).toBeGreaterThan(30)
  const accepted: string[] = []
  for (const { method, path } of routes) {
    const required = path === '/_understudy/workspace' ? 'path=/v2/tools&' : ''
    const { status, text } = await app.fetch(`${path.replace(/\{\w+\}/g, 'x')}?${required}sesion=mine`, { method })
    if (status === 404) expect([path, errorOf(text, 404).code]).toEqual([path, expect.stringMatching(/_not_found$/)])
    else if (status === 400) {
      const { message, param } = errorOf(text, 400)
      expect([path, param]).toEqual([path, 'sesion'])
      expect(message).toMatch(/^'sesion' is not known[^;]*; valid: \w+/)
    } else accepted.push(path)
  }
  expect(accepted.filter((path) => !PUBLIC.test(path))).toEqual([])
})

test('control routes: say how a session is named', async () => {
  const { text } = await app.fetch('/_understudy/scenario?session=mine', { method: 'DELETE' })
  expect(errorOf(text, 400).message).toBe(
    "'session' is not known; valid: none, since this path has no query parameters; name the session in the address (/s/NAME/...) or in 'x-understudy-session'",
  )
})
