// Prints what Redocly's linter finds wrong with the OpenAPI document on its input, one line a problem. Not TypeScript: the declarations
// of the linter are a tenth of what the compiler would read.
import { createConfig, lintFromString } from '@redocly/openapi-core'

/** What `recommended` leaves out and clients of the document rely on; a rule that is off says why. */
const RULES = {
  'operation-description': 'error',
  'operation-tag-defined': 'error',
  'parameter-description': 'error',
  'component-name-unique': 'error',
  'operation-singular-tag': 'error',
  // The server is on the machine of whoever asks for it.
  'no-server-example.com': 'off',
}

const config = await createConfig({ extends: ['recommended-strict'], rules: RULES })
const source = await Bun.stdin.text()
const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config })
const lines = problems.map(({ ruleId, message, location }) => `${ruleId} at ${location[0]?.pointer}: ${message}\n`)
await Bun.write(Bun.stdout, lines.join(''))
