// The names under which Understudy is published, and those that follow from them.
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { publishedNames, readSettings, type Settings } from '../../release/settings.ts'

const undecided: Settings = { npmScope: '@example', owner: null, repository: null, image: null, homepage: null }

test('release settings: the shipped file is valid', () => {
  expect(readSettings().npmScope).toMatch(/^@/)
})

test.each([
  [{ npmScope: 'example' }, `'npmScope' must be the scope of npm packages, such as "@example"`],
  [{ owner: 'no name' }, "'owner' must be the name of a GitHub user or organization"],
  [{ repository: 'alone' }, "'repository' must be OWNER/NAME"],
  [{ image: 'ghcr.io/example/understudy:latest' }, "'image' must be a container image without a tag"],
  [{ homepage: 'example' }, "'homepage' Invalid URL"],
  [{ scope: '@x' }, 'Unrecognized key: "scope"'],
])('release settings: reports the key when it is invalid: %j', (change, message) => {
  const folder = mkdtempSync(join(tmpdir(), 'settings-'))
  const file = join(folder, 'settings.json')
  writeFileSync(file, JSON.stringify({ ...undecided, ...change }))
  expect(() => readSettings(file)).toThrow(message)
  rmSync(folder, { recursive: true })
})

test('release settings: need an owner, except for a rehearsal, which uses names that cannot be registered', () => {
  expect(() => publishedNames(undecided)).toThrow("'owner' is not set")
  expect(publishedNames(undecided, { rehearsal: true })).toEqual({
    npmScope: '@example',
    owner: 'owner.invalid',
    repository: 'owner.invalid/understudy',
    image: 'registry.invalid/understudy',
    homepage: 'https://understudy.invalid',
  })
})

test('release settings: repository, image and homepage follow from the owner unless they are set', () => {
  const decided = { ...undecided, owner: 'Example' }
  expect(publishedNames(decided)).toEqual({
    npmScope: '@example',
    owner: 'Example',
    repository: 'Example/understudy',
    image: 'ghcr.io/example/understudy',
    homepage: 'https://github.com/Example/understudy',
  })
  const named = { ...decided, repository: 'Example/u', image: 'example.com/u', homepage: 'https://example.com' }
  expect(publishedNames(named)).toEqual(named)
})
