// Modules that are loaded before the first answer: a start is as long as they are many. None comes to them unnoticed: what no
// call needs belongs behind `lazy` (src/lib/lazy.ts); what every call needs, into the list. Take out of it what is gone.
import { afterAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { emptyFolder } from './support/server.ts'

const LIST = join(import.meta.dir, 'support', 'first-answer.txt')
const folder = emptyFolder()
afterAll(folder.remove)

test('no module is loaded before the first answer but those in test/support/first-answer.txt', async () => {
  const program = join(import.meta.dir, 'programs', 'first-answer.ts')
  const child = Bun.spawn([process.execPath, program], { cwd: folder.path, stdout: 'ignore', stderr: 'pipe' })
  const errors = await new Response(child.stderr).text()
  if ((await child.exited) !== 0) throw new Error(errors)
  const namesIn = (file: string) => readFileSync(file, 'utf8').trim().split('\n')
  const listed = namesIn(LIST)
  expect(namesIn(join(folder.path, 'modules.txt')).filter((name) => !listed.includes(name))).toEqual([])
})
