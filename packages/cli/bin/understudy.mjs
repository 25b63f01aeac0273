#!/usr/bin/env node
// Hands over to the executable, which comes in a package for each platform.
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { launchExecutable } from './launch.mjs'

const load = createRequire(import.meta.url)
const platform = `${process.platform}-${process.arch}`
/** The scope that this package is published under; those of the platforms are too. */
const [scope] = load('../package.json').name.split('/')

function executable() {
  if (process.env.UNDERSTUDY_BIN) return process.env.UNDERSTUDY_BIN
  const name = `${scope}/${platform}`
  // Package managers install the one for the C library that is there: musl's on Alpine.
  for (const installed of [name, `${name}-musl`]) {
    try {
      const folder = dirname(load.resolve(`${installed}/package.json`))
      return join(folder, 'bin', process.platform === 'win32' ? 'understudy.exe' : 'understudy')
    } catch {
      // It is not there.
    }
  }
  console.error(`understudy: the package ${name} is not installed, which has the executable for this platform.`)
  console.error(
    'It is an optional dependency: install without --omit=optional, or name an executable by UNDERSTUDY_BIN.',
  )
  return process.exit(1)
}

const path = executable()
try {
  process.exit((await launchExecutable(path, process.argv.slice(2))).code)
} catch ({ message }) {
  console.error(`understudy: ${path} cannot be run: ${message}`)
  process.exit(1)
}
