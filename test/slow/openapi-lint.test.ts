// The OpenAPI document passes Redocly's linter, with warnings as errors. Loading the linter and walking the document takes three seconds.
import { afterAll, expect, test } from 'bun:test'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { createTestApp } from '../support/app.ts'

const app = createTestApp()
afterAll(app.close)

/** What `recommended` leaves out and clients of the document rely on; a rule that is off says why. */
const RULES = {
  'operation-description': 'error',
  'operation-tag-defined': 'error',
  'parameter-description': 'error',
  'component-name-unique': 'error',
  'operation-singular-tag': 'error',
  // The server is on the machine of whoever asks for it.
  'no-server-example.com': 'off',
} as const

test('OpenAPI document: passes a linter', async () => {
  const config = await createConfig({ extends: ['recommended-strict'], rules: RULES })
  const source = (await app.fetch('/swagger/json')).text
  const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config })
  const told = problems.map(({ ruleId, message, location: [at] }) => `${ruleId} at ${at?.pointer}: ${message}`)
  expect(told).toEqual([])
}, 120_000)
