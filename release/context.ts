// What every step of a release knows, and how it fails.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { PublishedNames } from './settings.ts'

/** One release, on the way from a checkout to those who install it. */
export interface Release {
  /** The checkout. */
  root: string
  /** The folder of everything that is uploaded. */
  out: string
  version: string
  /** The Git tag of the version, or the one that started the workflow. */
  tag: string
  names: PublishedNames
  /** The platforms that executables are built for. */
  platforms: readonly string[]
  /** Whether nothing leaves this machine. */
  dry: boolean
  env: Readonly<Record<string, string | undefined>>
  print(line: string): void
}

/** A release that cannot go on, with what to do about it. */
export class ReleaseError extends Error {
  override name = 'ReleaseError'
}

/** Where the parts of a release are, below its folder. */
export const FOLDERS = { assets: 'assets', packages: 'npm', image: 'image', site: 'site' } as const

/** Name of the archive of a platform. */
export const archiveOf = (platform: string): string => `understudy-${platform}.tar.gz`

/** SHA-256 of bytes, in hexadecimal digits. */
export const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex')

/** Writes a file of the release, with its folder. */
export function writePart({ out }: Release, path: string, content: Uint8Array | string): void {
  const file = join(out, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
}

/** Reads a JSON file of the checkout. */
export const readJson = ({ root }: Release, path: string): unknown => JSON.parse(readFileSync(join(root, path), 'utf8'))

/** What a program printed, and how it ended. */
export interface Ended {
  code: number
  stdout: string
  stderr: string
}

/** How to run a program. */
export interface RunOptions {
  cwd?: string
  env?: Readonly<Record<string, string | undefined>>
  stdin?: string
}

/**
 * Runs a program to its end.
 *
 * @throws where the program does not exist
 */
export async function run(
  command: readonly string[],
  { cwd, env = process.env, stdin = '' }: RunOptions = {},
): Promise<Ended> {
  const [name = ''] = command
  if (!Bun.which(name, { PATH: env.PATH ?? '' }))
    throw new ReleaseError(`${name} is required for this step, and is not installed`)
  const child = Bun.spawn([...command], { cwd, env, stdin: Buffer.from(stdin), stdout: 'pipe', stderr: 'pipe' })
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, stdout, stderr }
}

/**
 * Runs a program that must succeed; gives what it printed, without the space around it.
 *
 * @throws where it fails, with what it printed
 */
export async function must(command: readonly string[], options: RunOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await run(command, options)
  if (code !== 0)
    throw new ReleaseError(`${command.join(' ')} failed with exit code ${code}:\n${(stderr || stdout).trim()}`)
  return stdout.trim()
}
