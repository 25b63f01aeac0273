// The C and C++ libraries that the executable and its database driver load in the container: those of Debian 12, as the Dockerfile takes
// them from its base image.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Glob } from 'bun'
import type { ArchiveEntry } from '../src/build/archive.ts'
import { must, ReleaseError } from './context.ts'

/** Architectures of the image, as OCI names them, with the executable's platform and what Debian names after them. */
export const ARCHITECTURES = {
  amd64: { platform: 'linux-x64', triplet: 'x86_64-linux-gnu', loader: 'lib64/ld-linux-x86-64.so.2' },
  arm64: { platform: 'linux-arm64', triplet: 'aarch64-linux-gnu', loader: 'lib/ld-linux-aarch64.so.1' },
} as const
/** One of them. */
export type Architecture = keyof typeof ARCHITECTURES

const PACKAGES = ['libc6', 'libstdc++6', 'libgcc-s1']
/** Libraries that programs name; each is in one of the packages. */
export const LIBRARY_NAMES = [
  'libc.so.6',
  'libm.so.6',
  'libpthread.so.0',
  'libdl.so.2',
  'libstdc++.so.6',
  'libgcc_s.so.1',
]

/** The libraries of one architecture. */
export interface Libraries {
  /** Files of the image. */
  files: ArchiveEntry[]
  /** What they come from, such as `libc6 2.36-9+deb12u14`. */
  packages: string[]
}

/**
 * The libraries from a folder that has them as the image does, below the name of the architecture, or else from Debian's packages.
 *
 * @throws where this machine has no access to them
 */
export function librariesFor(architecture: Architecture, folder?: string): Promise<Libraries> {
  return folder === undefined
    ? debianLibraries(architecture)
    : Promise.resolve(givenLibraries(join(folder, architecture)))
}

function givenLibraries(folder: string): Libraries {
  if (!existsSync(folder)) throw new ReleaseError(`the folder ${folder} with the libraries of the image does not exist`)
  const files = [...new Glob('**/*').scanSync(folder)].map((path) => ({
    path,
    bytes: readFileSync(join(folder, path)),
    executable: true,
  }))
  return { files, packages: [] }
}

/** Downloads the packages with lists of our own, so that nothing of this machine changes, and the other architecture is there, too. */
async function debianLibraries(architecture: Architecture): Promise<Libraries> {
  const os = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : ''
  if (!/^VERSION_CODENAME=bookworm$/m.test(os) || !Bun.which('apt-get'))
    throw new ReleaseError(
      'the libraries of the image come from Debian 12: run this step there, or name a folder that has them with --libraries',
    )
  const state = mkdtempSync(join(tmpdir(), 'understudy-libraries-'))
  try {
    for (const path of ['state/lists/partial', 'cache/archives/partial', 'root'])
      mkdirSync(join(state, path), { recursive: true })
    writeFileSync(join(state, 'status'), '')
    const settings = {
      'Dir::State': join(state, 'state'),
      'Dir::State::status': join(state, 'status'),
      'Dir::Cache': join(state, 'cache'),
      'APT::Architecture': architecture,
      'APT::Architectures': architecture,
      'Acquire::Languages': 'none',
    }
    const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`])
    await must(['apt-get', ...options, 'update'], { cwd: state })
    await must(['apt-get', ...options, 'download', ...PACKAGES], { cwd: state })
    return await unpacked(state, architecture)
  } finally {
    rmSync(state, { recursive: true })
  }
}

async function unpacked(folder: string, architecture: Architecture): Promise<Libraries> {
  const root = join(folder, 'root')
  const packages: string[] = []
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.deb'))) {
    await must(['dpkg-deb', '--extract', name, 'root'], { cwd: folder })
    const shown = await must(['dpkg-deb', '--show', name], { cwd: folder })
    packages.push(shown.replace(/:\w+\t/, ' ').replace('\t', ' '))
  }
  const { triplet, loader } = ARCHITECTURES[architecture]
  const find = (name: string): ArchiveEntry => {
    const place = [`lib/${triplet}/${name}`, `usr/lib/${triplet}/${name}`].find((path) => existsSync(join(root, path)))
    if (!place) throw new ReleaseError(`${PACKAGES.join(', ')} of Debian have no ${name} for ${architecture}`)
    return { path: `lib/${name}`, bytes: readFileSync(join(root, place)), executable: true }
  }
  // The loader stands where programs name it.
  const start = { ...find(loader.slice(loader.indexOf('/') + 1)), path: loader }
  return { files: [...LIBRARY_NAMES.map(find), start], packages: packages.sort() }
}
