// The licenses of everything that the executable contains: of the packages whose modules are bundled, and of programs and libraries
// inside the runtime and those packages. What cannot be accounted for fails the build.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Notice } from '../cli/notices-file.ts'

const root = join(import.meta.dir, '..', '..')

/** A package as its manifest describes it. */
interface Manifest {
  name: string
  version: string
  license?: string
  author?: string | { name: string }
}

const TEXTS = join(import.meta.dir, 'notices')
const textOf = (name: string) => readFileSync(join(TEXTS, name), 'utf8').trim()

/** The license texts that others refer to, by their SPDX id. */
const SHARED = ['Apache-2.0', 'LGPL-2.0', 'LGPL-2.1'] as const

/** What is inside of a package, or of the runtime, under a license of its own. */
const INSIDE: Record<string, Omit<Notice, 'text'> & { file: string }> = {
  bun: { name: 'Bun', version: Bun.version, license: 'MIT, with libraries under other licenses', file: 'bun.txt' },
  'better-sqlite3': { name: 'SQLite', version: null, license: 'public domain', file: 'sqlite.txt' },
  'wasm-media-encoders': { name: 'LAME', version: null, license: 'LGPL-2.0-or-later', file: 'lame.txt' },
  'wasm-media-encoders/ogg': {
    name: 'libogg and libvorbis',
    version: null,
    license: 'BSD-3-Clause',
    file: 'vorbis.txt',
  },
  opusscript: { name: 'libopus', version: null, license: 'BSD-3-Clause', file: 'opus.txt' },
  unpdf: { name: 'PDF.js', version: null, license: 'Apache-2.0', file: 'pdfjs.txt' },
  'gpt-tokenizer': { name: 'tiktoken vocabularies', version: null, license: 'MIT', file: 'tiktoken.txt' },
}

/** Packages whose data or files are embedded without a module of theirs in a bundle. */
export const EMBEDDED_FILES = ['swagger-ui-dist', 'gpt-tokenizer', 'better-sqlite3']

/**
 * The folder of the package that a module belongs to, as its path says; undefined for our own modules.
 * @example
 * packageFolder('/a/node_modules/x/node_modules/@y/z/lib/i.js') // => '/a/node_modules/x/node_modules/@y/z'
 * packageFolder('/a/src/main.ts') // => undefined
 */
export const packageFolder = (path: string): string | undefined =>
  /^(.*node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)/.exec(path)?.[1]?.replaceAll('\\', '/')

/** The notices of packages by their folders, and of what is inside of them, by name. */
export function licenseNotices(folders: Iterable<string>): Notice[] {
  const packages = [...new Set(folders)].map((folder) => packageNotice(folder))
  const names = new Set(['bun', ...packages.map(({ name }) => name)])
  const inside = Object.entries(INSIDE)
    .filter(([name]) => names.has(name.replace(/(?<=^[^@/]+)\/.*/, '')))
    .map(([, { file, ...about }]) => ({ ...about, text: textOf(file) }))
  const shared = SHARED.map((license) => ({ name: license, version: null, license, text: textOf(`${license}.txt`) }))
  // The same version may be installed in two places.
  const distinct = new Map(packages.map((one) => [`${one.name}@${one.version}`, one]))
  const sorted = [...distinct.values(), ...inside].sort((a, b) =>
    a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1,
  )
  return [...sorted, ...shared]
}

function packageNotice(folder: string): Notice {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  const { name, version, license } = manifest
  if (!license) throw new Error(`the package ${name} states no license: find it, and add it to src/build/licenses.ts`)
  return { name, version, license, text: texts(folder) || withoutText(manifest, license) }
}

/** The texts of licenses and notices that a package contains, one after the other. */
const texts = (folder: string): string =>
  readdirSync(folder)
    .filter((file) =>
      /^(?:licen[cs]e|copying|notice)(?!.*\.(?:js|json|ts)$)|^swagger-ui-bundle\.js\.LICENSE\.txt$/i.test(file),
    )
    .sort()
    .map((file) => readFileSync(join(folder, file), 'utf8').trim())
    .join('\n\n')

/** What stands in for a text that the package does not contain: who made it, and the terms that it states. */
function withoutText({ name, author }: Manifest, license: string): string {
  const holder = typeof author === 'string' ? author : author?.name
  const by = `Copyright ${(holder ?? `the authors of ${name}`).replace(/ *[<(].*/, '')}`
  if (license === 'Apache-2.0')
    return `${by}\n\nLicensed under the Apache License, Version 2.0, whose text is below ("Apache-2.0").`
  if (license === 'MIT') return `${by}\n\n${mitTerms()}`
  if (license === 'ISC') return `${by}\n\n${ISC_TERMS}`
  throw new Error(`the package ${name} has no text of its license ${license}: add it to src/build/licenses.ts`)
}

/** The terms of the MIT license, as our own license has them. */
const mitTerms = () =>
  readFileSync(join(root, 'LICENSE'), 'utf8')
    .replace(/^[\s\S]*?(?=Permission)/, '')
    .trim()

const ISC_TERMS = `Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted,
provided that the above copyright notice and this permission notice appear in all copies.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH REGARD TO THIS SOFTWARE INCLUDING ALL IMPLIED WARRANTIES
OF MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR ANY SPECIAL, DIRECT, INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY
DAMAGES WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION,
ARISING OUT OF OR IN CONNECTION WITH THE USE OR PERFORMANCE OF THIS SOFTWARE.`

/** Folders of packages by name, as the root of this checkout has them. */
export const folderOf = (name: string): string => join(root, 'node_modules', name)

/** Collects the packages of bundled modules; a plugin of bundlers that changes nothing. */
export function packageRecorder(): { folders: Set<string>; plugin: Bun.BunPlugin } {
  const folders = new Set<string>()
  return {
    folders,
    plugin: {
      name: 'packages',
      setup(builder) {
        builder.onLoad({ filter: /[\\/]node_modules[\\/]/ }, ({ path }) => {
          const folder = packageFolder(path)
          if (folder && existsSync(join(folder, 'package.json'))) folders.add(folder)
          return undefined
        })
      },
    },
  }
}
