// Finds the executable: an option, the environment, the package of this platform, a checkout.
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'

/** An error that says what is wrong with how Understudy is used, or what the server has refused. */
export class UnderstudyError extends Error {
  override name = 'UnderstudyError'
}

/** Throws for an option that does not exist. Runners strip types, so that a misspelled `expect` would expect nothing. */
export function rejectUnknown(what: string, unknown: object, valid: readonly string[]): void {
  const [name] = Object.keys(unknown)
  if (name !== undefined) throw new UnderstudyError(`${what} has no option '${name}'; valid: ${valid.join(', ')}`)
}

const windows = process.platform === 'win32'
const NAME = windows ? 'understudy.exe' : 'understudy'
/** The scope that this package is published under; the command and the executables of the platforms are too. */
const [SCOPE] = JSON.parse(readFileSync(join(__dirname, '..', 'package.json'), 'utf8')).name.split('/')
/** The package that has the executable of this platform. */
const PLATFORM_PACKAGE = `${SCOPE}/${process.platform}-${process.arch}`

/** Path of the executable; throws `UnderstudyError` that says where it was looked for. */
export function findExecutable(option?: string): string {
  if (option !== undefined) return existing(option, "the option 'executable'")
  const named = process.env.UNDERSTUDY_BIN
  if (named) return existing(named, 'UNDERSTUDY_BIN')
  const found = fromPackage() ?? fromCheckout(process.cwd()) ?? fromCheckout(__dirname)
  if (found) return found
  throw new UnderstudyError(
    [
      'the Understudy executable was not found. Searched:',
      "  - the option 'executable' of startUnderstudy: not set",
      '  - the environment variable UNDERSTUDY_BIN: not set',
      `  - the package ${PLATFORM_PACKAGE}: not installed (it comes with ${SCOPE}/cli)`,
      `  - a checkout that contains ${process.cwd()}: no dist/${NAME} (run npm run build)`,
    ].join('\n'),
  )
}

function existing(path: string, from: string): string {
  const full = resolve(path)
  if (existsSync(full)) return full
  throw new UnderstudyError(`${from} names the executable ${JSON.stringify(path)}, which does not exist`)
}

/** Beside this package, or in the project that is tested. */
function fromPackage(): string | undefined {
  const places = [__filename, join(process.cwd(), 'package.json')]
  // Package managers install the one for the C library that is there: musl's on Alpine.
  for (const name of [PLATFORM_PACKAGE, `${PLATFORM_PACKAGE}-musl`]) {
    for (const from of places) {
      try {
        const path = join(dirname(createRequire(from).resolve(`${name}/package.json`)), 'bin', NAME)
        if (existsSync(path)) return path
      } catch {
        // It is not there.
      }
    }
  }
  return undefined
}

function fromCheckout(start: string): string | undefined {
  for (let folder = start; ; folder = dirname(folder)) {
    const path = join(folder, 'dist', NAME)
    if (existsSync(path) && isOurs(folder)) return path
    if (dirname(folder) === folder) return undefined
  }
}

/** Whether a folder is a checkout of Understudy, and no other project that has a `dist/understudy`. */
function isOurs(folder: string): boolean {
  try {
    return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).name === 'understudy'
  } catch {
    return false
  }
}
