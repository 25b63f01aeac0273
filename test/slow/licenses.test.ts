// Slow: it bundles the program again, in another way than the build. Every package in the executable is in its list of licenses.
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { packageFolder } from '../../src/build/licenses.ts'
import type { Notice } from '../../src/cli/notices-file.ts'
import { run } from '../support/server.ts'

const root = join(import.meta.dir, '..', '..')

/** Names of the packages whose modules are in the bundle of some files. */
async function bundledPackages(files: readonly string[], target: 'bun' | 'browser'): Promise<string[]> {
  const entrypoints = files.map((file) => join(root, file))
  const external = target === 'bun' ? ['better-sqlite3'] : []
  const { metafile } = await Bun.build({ root, entrypoints, target, external, splitting: true, metafile: true })
  const folders = Object.keys(metafile?.inputs ?? {}).flatMap((path) => packageFolder(path) ?? [])
  return [...new Set(folders)].map((folder) => folder.replace(/^.*node_modules\//, ''))
}

test('licenses: name every package in the executable, each with its text', async () => {
  const { code, stdout } = await run(['licenses', '--json'])
  expect(code).toBe(0)
  const notices = JSON.parse(stdout) as Notice[]
  const names = new Set(notices.map(({ name }) => name))
  const bundled = [
    ...(await bundledPackages(['src/main.ts', 'src/workers/worker.ts', 'src/db/checkpoint-worker.ts'], 'bun')),
    ...(await bundledPackages(
      ['first.ts', 'main.tsx', 'parts/editor.ts', 'parts/chart.ts'].map((name) => `src/inspector/page/${name}`),
      'browser',
    )),
    // Files, data and the site.
    ...['swagger-ui-dist', 'gpt-tokenizer', 'better-sqlite3', 'Bun', 'SQLite', 'vue', 'minisearch'],
  ]
  expect(bundled.length).toBeGreaterThan(60)
  expect(bundled.filter((name) => !names.has(name))).toEqual([])
  expect(notices.filter(({ text }) => text.length < 40).map(({ name }) => name)).toEqual([])
  expect(notices.filter(({ license }) => license === '').map(({ name }) => name)).toEqual([])
})
