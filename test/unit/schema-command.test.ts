// understudy schema: the JSON Schemas that editors check fixture and seed files with.
import { beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020.js'
import { Glob } from 'bun'
import { parse, parseAllDocuments } from 'yaml'
import { runCommand } from '../support/cli.ts'

const root = join(import.meta.dir, '..', '..')
const shipped = [...new Glob('fixtures/*/*.yaml').scanSync(root)].sort()
let validate: ValidateFunction
let schema: Record<string, unknown>
// The formats are checked by serve itself.
const ajv = new Ajv2020({ strict: true, allErrors: true, allowUnionTypes: true, validateFormats: false })
async function schemaOf(kind: string): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await runCommand(['schema', kind])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout)
}
const parsed = (path: string) => parse(readFileSync(join(root, path), 'utf8'))
beforeAll(async () => {
  schema = await schemaOf('fixture')
  validate = ajv.compile(schema)
})

test('fixture schema: describes itself and the fields that need it', () => {
  expect(schema).toMatchObject({ $schema: 'https://json-schema.org/draft/2020-12/schema' })
  expect(String(schema.title)).toContain('fixture')
  const text = JSON.stringify(schema)
  for (const words of ['{{captures.city}}', '{{call.model}}', 'the last one repeats', '300ms'])
    expect(text).toContain(words)
})

test.each(shipped)('fixture schema: accepts shipped %s', (path) => {
  expect(shipped.length).toBeGreaterThanOrEqual(6)
  expect(validate(parsed(path)) || validate.errors).toBe(true)
})

test('seed schema: accepts the shipped seed, which is not a fixture', async () => {
  const seed = ajv.compile(await schemaOf('seed'))
  expect(seed(parsed('fixtures/workspace.yaml')) || seed.errors).toBe(true)
  expect(seed({ datasetz: [] })).toBe(false)
  expect(validate(parsed('fixtures/workspace.yaml'))).toBe(false)
})

test('cassette schema: accepts each document of the one in the documentation, and no other key', async () => {
  const cassette = ajv.compile(await schemaOf('cassette'))
  const page = readFileSync(join(root, 'docs', 'cassette-files.md'), 'utf8')
  const documents = parseAllDocuments(/```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? '').map((one) => one.toJS())
  expect(documents).toHaveLength(3)
  for (const document of documents) {
    expect(cassette(document) || cassette.errors).toBe(true)
    expect(cassette({ ...document, colour: 'red' })).toBe(false)
  }
})

describe('http_error', () => {
  const reply = { content: 'x' }
  const rows: [string, unknown][] = [
    ['an unknown key', { reply, colour: 'red' }],
    ['an unknown key of match', { match: { usr: 'hi' }, reply }],
    ['an unknown key of a text match', { match: { user: { contain: 'hi' } }, reply }],
    ['an unknown key of a reply', { reply: { contents: 'x' } }],
    ['a wrong type', { match: { stream: 'yes' }, reply }],
    ['a turn below 1', { match: { turn: 0 }, reply }],
    ['an empty list of replies', { replies: [] }],
    ['an invalid finish reason', { reply: { content: 'x', finish_reason: 'done' } }],
    ['an error in the second fixture of a list', [{ reply }, { reply: { content: 5 } }]],
    ['a text', 'hello'],
  ]
  test.each(rows)('rejects %s', (_, value) => {
    expect(validate(value)).toBe(false)
  })
})

test('schema command: names the known types for an unknown one', async () => {
  const { code, stdout, stderr } = await runCommand(['schema', 'cat'])
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(/^understudy: [^\n]*'cat'[^\n]*fixture[^\n]*\n$/)
})
