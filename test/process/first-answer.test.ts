// The modules that a start loads: it takes as long as they are many. What not every call needs belongs behind `lazy` (src/lib/lazy.ts).
import { afterAll, expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { outlines } from '../../src/build/outlines.ts'
import { emptyFolder } from '../support/server.ts'

/** Packages that a first answer from a fixture file may load: `yaml` and `zod` read that file. */
const PACKAGES = ['better-sqlite3', 'commander', 'eventsource-parser', 'gpt-tokenizer', 'mustache', 'yaml', 'zod']
/** Parts of the program that no ordinary call needs. */
const LAZY =
  /^src\/(?:agents|exploration|guardrails|telemetry|verdict|views|docs\/|inspector\/page\/|cli\/(?:print\/explore|run\/suite)|db\/(?:schema|record-store)\.ts|backends\/forward)/
/** Modules of ours, in all: a tenth more than there are. */
const MAX_MODULES = 280

const folder = emptyFolder()
afterAll(folder.remove)

test('start: loads before the first response only what every call needs', async () => {
  writeFileSync(join(folder.path, 'outlines.json'), JSON.stringify(outlines()))
  const program = join(import.meta.dir, '..', 'support', 'programs', 'first-answer.ts')
  const child = Bun.spawn([process.execPath, program], { cwd: folder.path, stdout: 'ignore', stderr: 'pipe' })
  const errors = await new Response(child.stderr).text()
  if ((await child.exited) !== 0) throw new Error(errors)
  const modules = readFileSync(join(folder.path, 'modules.txt'), 'utf8').trim().split('\n')
  const own = modules.filter((name) => name.startsWith('src/'))
  const packages = modules.filter((name) => !name.startsWith('src/')).map((line) => line.replace(/: \d+$/, ''))
  expect(packages.filter((name) => !PACKAGES.includes(name))).toEqual([])
  expect(own.filter((name) => LAZY.test(name))).toEqual([])
  expect(own.length).toBeLessThan(MAX_MODULES)
})
