// The list of mutants fits the code: a mistake that can no longer be made would be noticed by nothing.
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { MUTANTS } from '../mutants/list.ts'

test('mutants: each replaces a text that stands once in its file', () => {
  const stale = MUTANTS.filter(({ file, find }) => {
    const text = readFileSync(join(import.meta.dir, '..', '..', 'src', file), 'utf8')
    return text.split(find).length !== 2
  })
  expect(stale.map(({ file, mistake }) => `${file}: ${mistake}`)).toEqual([])
})
