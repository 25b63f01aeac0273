// The OpenAPI document passes Redocly's linter, with warnings as errors. Loading the linter and walking the document takes three seconds.
import { afterAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { createTestApp } from '../support/app.ts'

const app = createTestApp()
afterAll(app.close)
const PROGRAM = join(import.meta.dir, '..', 'support', 'programs', 'lint-document.mjs')

/** What the linter finds wrong with a document, one line a problem. */
async function lint(document: string): Promise<string> {
  const child = Bun.spawn([process.execPath, PROGRAM], { stdin: Buffer.from(document), stdout: 'pipe' })
  const problems = await new Response(child.stdout).text()
  expect(await child.exited).toBe(0)
  return problems
}

test('OpenAPI document: passes a linter', async () => {
  expect(await lint((await app.fetch('/swagger/json')).text)).toBe('')
}, 120_000)
