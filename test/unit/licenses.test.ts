// The notices of licenses: what a package contains, what stands in for a text that it does not contain, and what fails the build.
import { afterAll, expect, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { folderOf, licenseNotices, packageFolder } from '../../src/build/licenses.ts'
import { packNotices } from '../../src/cli/notices-file.ts'
import { runCommand } from '../support/cli.ts'
import { emptyFolder } from '../support/server.ts'

const folder = emptyFolder()
afterAll(folder.remove)

/** A package of files, with a manifest. */
function packageWith(manifest: object, files: Record<string, string> = {}): string {
  const path = join(folder.path, crypto.randomUUID())
  mkdirSync(path)
  writeFileSync(join(path, 'package.json'), JSON.stringify({ name: 'a', version: '1.0.0', ...manifest }))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text)
  return path
}
const textOf = (manifest: object, files?: Record<string, string>) =>
  licenseNotices([packageWith(manifest, files)]).find(({ name }) => name === 'a')?.text

test.each([
  ['/a/node_modules/x/lib/i.js', '/a/node_modules/x'],
  ['/a/node_modules/@x/y/i.js', '/a/node_modules/@x/y'],
  ['/a/node_modules/x/node_modules/@y/z/i.js', '/a/node_modules/x/node_modules/@y/z'],
  ['C:\\a\\node_modules\\x\\i.js', 'C:/a/node_modules/x'],
  ['/a/src/main.ts', undefined],
])('package of the module %s: is in the folder %s', (path, expected) => {
  expect(packageFolder(path)).toBe(expected)
})

test('notice: has the license and the notice of the package', () => {
  const files = { 'LICENSE.md': 'The license.\n', NOTICE: 'The notice.', 'license-check.js': 'no', 'README.md': 'no' }
  expect(textOf({ license: 'MIT' }, files)).toBe('The license.\n\nThe notice.')
})

test.each([
  ['MIT', 'Ada <ada@example.com>', 'Copyright Ada\n\nPermission is hereby granted'],
  ['ISC', { name: 'Ada' }, 'Copyright Ada\n\nPermission to use'],
  ['Apache-2.0', undefined, 'Copyright the authors of a\n\nLicensed under the Apache License'],
])('notice: states the terms of %s when the package has no text', (license, author, text) => {
  expect(textOf({ license, author })).toStartWith(text)
})

test.each([
  [{}, 'the package a states no license'],
  [{ license: 'GPL-3.0' }, 'the package a has no text of its license GPL-3.0'],
])('notice: fails the build when the terms are unknown: %j', (manifest, message) => {
  expect(() => textOf(manifest)).toThrow(message)
})

test('notices: include the runtime, and what is inside of packages', () => {
  const names = licenseNotices(['wasm-media-encoders', 'unpdf'].map(folderOf)).map(({ name }) => name)
  expect(names).toEqual([
    ...['Bun', 'LAME', 'libogg and libvorbis', 'PDF.js', 'unpdf', 'wasm-media-encoders'],
    ...['Apache-2.0', 'LGPL-2.0', 'LGPL-2.1'],
  ])
})

test('notices: are the same bytes for the same packages in another order', () => {
  const folders = ['zod', 'yaml', 'zod'].map(folderOf)
  expect(packNotices(licenseNotices(folders))).toEqual(packNotices(licenseNotices(folders.toReversed())))
})

test('licenses: says that the build makes the list when run from source', async () => {
  const { code, stderr } = await runCommand(['licenses'])
  expect([code, stderr]).toEqual([1, expect.stringContaining('run npm run build')])
})
