// Modules that are loaded before the first answer: a start is as long as they are many. What no call needs belongs behind
// `lazy` (src/lib/lazy.ts); what every call needs, into the list, which is what test/support/programs/first-answer.ts writes.
import { afterAll, expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { outlines } from '../../src/build/outlines.ts'
import { emptyFolder } from '../support/server.ts'

/** A file that is cut in two costs nothing; an operation, a store or a kind of resource that comes along is more files than this. */
const MAX_NEW = 5
const LIST = join(import.meta.dir, '..', 'support', 'first-answer.txt')
const folder = emptyFolder()
afterAll(folder.remove)

test('no module is loaded before the first answer but those in test/support/first-answer.txt', async () => {
  writeFileSync(join(folder.path, 'outlines.json'), JSON.stringify(outlines()))
  const program = join(import.meta.dir, '..', 'support', 'programs', 'first-answer.ts')
  const child = Bun.spawn([process.execPath, program], { cwd: folder.path, stdout: 'ignore', stderr: 'pipe' })
  const errors = await new Response(child.stderr).text()
  if ((await child.exited) !== 0) throw new Error(errors)
  const namesIn = (file: string) => readFileSync(file, 'utf8').trim().split('\n')
  const listed = namesIn(LIST)
  const unlisted = namesIn(join(folder.path, 'modules.txt')).filter((name) => !listed.includes(name))
  const folders = new Set(listed.map(dirname))
  // Packages lie in no folder, and are held to their exact number of modules.
  const isNear = (name: string) => name.startsWith('src/') && folders.has(dirname(name))
  expect(unlisted.filter((name) => !isNear(name))).toEqual([])
  expect(unlisted.length > MAX_NEW ? unlisted : []).toEqual([])
})
