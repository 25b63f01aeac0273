// The programs in docs/openai-and-anthropic.md run unchanged, with nothing but what exec sets.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { play, script } from '../support/exec.ts'

// Each test starts a program, on a machine that may be busy.
setDefaultTimeout(60_000)

const root = join(import.meta.dir, '..', '..')
const page = readFileSync(join(root, 'docs', 'openai-and-anthropic.md'), 'utf8')
const programs = [...page.matchAll(/```ts\n(.*?)```/gs)].map(([, code = '']) => code)
// Where the packages are found from.
let folder = ''
beforeAll(() => {
  mkdirSync(join(root, 'node_modules', '.cache'), { recursive: true })
  folder = mkdtempSync(join(root, 'node_modules', '.cache', 'docs-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

test('docs/openai-and-anthropic.md: has a program for each SDK', () => {
  expect(programs.map((code) => /from '(.*)'/.exec(code)?.[1])).toEqual([
    'openai',
    '@anthropic-ai/sdk',
    '@ai-sdk/openai',
  ])
})

test.each(programs.map((code, index) => [`program ${index + 1}`, code] as const))(
  'docs/openai-and-anthropic.md: runs %s',
  async (name, code) => {
    const file = join(folder, `${name.replace(' ', '-')}.ts`)
    writeFileSync(file, code)
    const { code: exit, run } = await play([process.execPath, file])
    expect([exit, run.sessions.map(({ calls }) => calls)]).toEqual([0, [1]])
  },
)

test('environment: gives every package its address and key', async () => {
  const { code, run } = await play(script('environment'))
  expect([code, run.sessions.map(({ calls }) => calls)]).toEqual([0, [4]])
})
