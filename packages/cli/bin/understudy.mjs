#!/usr/bin/env node
// Hands over to the executable, which comes in a package for each platform.
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { launchExecutable } from './launch.mjs'

const load = createRequire(import.meta.url)
const platform = `${process.platform}-${process.arch}`
const { name: ownName, version, repository, optionalDependencies = {} } = load('../package.json')
/** The scope that this package is published under; those of the platforms are too. */
const [scope] = ownName.split('/')

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
  console.error(`understudy: ${whyMissing(name)}`)
  return process.exit(1)
}

/** Which package has the executable of this platform, and how else to get it. */
function whyMissing(name) {
  const known = Object.keys(optionalDependencies)
  if (known.length > 0 && !known.includes(name)) {
    const platforms = known.map((one) => one.slice(scope.length + 1)).join(', ')
    return `there is no executable for ${platform}; available: ${platforms}`
  }
  const isMusl = process.platform === 'linux' && !process.report.getReport().header.glibcVersionRuntime
  const full = isMusl ? `${platform}-musl` : platform
  const page = repository?.url.replace(/^git\+|\.git$/g, '')
  const source = page ? ` from ${page}/releases/tag/v${version}` : ''
  return [
    `the executable for ${full} is missing, because the package ${scope}/${full} is not installed.`,
    `It is an optional dependency: install without --omit=optional, or run npm install ${scope}/${full}@${version}.`,
    `Or download understudy-${full}.tar.gz${source}, and set UNDERSTUDY_BIN to the path of the executable in it.`,
  ].join('\n')
}

const path = executable()
try {
  process.exit((await launchExecutable(path, process.argv.slice(2))).code)
} catch ({ message }) {
  console.error(`understudy: ${path} cannot be run: ${message}`)
  process.exit(1)
}
