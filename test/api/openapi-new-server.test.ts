// Every request example in the document works on a new server, before anything else was called.
import { afterAll, expect, test } from 'bun:test'
import { createTestApp, SHIPPED_WORKSPACE } from '../support/app.ts'
import { newServerOf } from '../support/new-server.ts'

const app = createTestApp(SHIPPED_WORKSPACE)
afterAll(app.close)

test('OpenAPI request examples: all work on a new server', async () => {
  const { examples, send } = await newServerOf(app)
  expect(examples.length).toBeGreaterThan(80)
  const failed: string[] = []
  for (const [index, example] of examples.entries()) {
    const answer = await send(`new-${index}`, example)
    const { method, path, name } = example
    if (answer.status >= 300) failed.push(`${method} ${path} ${name}: ${answer.status} ${answer.text.slice(0, 200)}`)
  }
  expect(failed).toEqual([])
}, 120_000)
