// The lock files: every machine installs what was meant.
import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

test.each(['.', 'tools'])('lockfile in %s: has a checksum of every package on every platform', (folder) => {
  const lock = readFileSync(join(import.meta.dir, '..', '..', folder, 'package-lock.json'), 'utf8')
  const { packages } = JSON.parse(lock) as { packages: Record<string, { integrity?: string; link?: boolean }> }
  const unlocked = Object.entries(packages).filter(([path, { integrity, link }]) => path !== '' && !integrity && !link)
  expect(unlocked.map(([path]) => path)).toEqual([])
  // Optional packages of other systems are among them.
  expect(Object.keys(packages).some((path) => path.includes('win32-x64'))).toBe(true)
})
