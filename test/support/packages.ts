// The packages as people install them, and projects that have them.
import { cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readSettings } from '../../release/settings.ts'
import { once } from '../../src/lib/once.ts'
import { EXECUTABLE, emptyFolder } from './server.ts'

/** The scope of the packages. */
export const SCOPE = readSettings().npmScope
/** Name of a tarball of theirs, without the version. */
export const tarballName = (name: string): string => `${SCOPE.slice(1)}-${name}`

const root = join(import.meta.dir, '..', '..')
/** Where a package is installed: with what the program needs, or apart from it, as test runners and what they need. */
const installed = (name: string) =>
  [root, join(root, 'tools')].map((folder) => join(folder, 'node_modules', name)).find((path) => existsSync(path)) ??
  name

/** The folder of the tarballs, made once, with a program that leads to the executable: 140 MB take seconds to pack and to install. */
export const packedPackages: () => Promise<string> = once(async () => {
  const [folder, program] = [emptyFolder(), emptyFolder()]
  // It goes when the tests have ended.
  process.on('exit', folder.remove)
  const stub = join(program.path, 'understudy')
  writeFileSync(stub, `#!/bin/sh\nexec '${EXECUTABLE}' "$@"\n`)
  const script = join(root, 'src', 'build', 'packages.ts')
  const command = [process.execPath, script, '--uncompressed', '--executable', stub, '--out', folder.path]
  const child = Bun.spawn(command, { stderr: 'pipe' })
  const said = await new Response(child.stderr).text()
  if ((await child.exited) !== 0) throw new Error(`the packages could not be packed: ${said}`)
  program.remove()
  return folder.path
})

/** A project with the test helper, and with runners of ours. */
export interface Project {
  path: string
  /** Runs a command in it; gives its exit code and everything that it printed. */
  run(command: readonly string[], env?: Record<string, string>): Promise<{ code: number; said: string }>
}

/** Makes a project of files, or of an example, which goes when the tests have ended. Packages that it names are those of ours. */
export async function makeProject(files: Record<string, string> | string, links: readonly string[]): Promise<Project> {
  const folder = emptyFolder()
  process.on('exit', folder.remove)
  const write = (name: string, text: string) => {
    mkdirSync(dirname(join(folder.path, name)), { recursive: true })
    writeFileSync(join(folder.path, name), text)
  }
  if (typeof files === 'string') cpSync(join(root, 'examples', files), folder.path, { recursive: true })
  else {
    write('package.json', JSON.stringify({ name: 'project', private: true }))
    for (const [name, text] of Object.entries(files)) write(name, text)
  }
  const helper = join(folder.path, 'node_modules', SCOPE, 'test')
  mkdirSync(helper, { recursive: true })
  const packed = await packedPackages()
  const [tarball] = new Bun.Glob(`${tarballName('test')}-*.tgz`).scanSync(packed)
  const file = join(packed, tarball ?? '')
  if (Bun.spawnSync(['tar', '-xzf', file, '-C', helper, '--strip-components=1']).exitCode !== 0) throw new Error(file)
  for (const name of links) {
    const link = join(folder.path, 'node_modules', name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(installed(name), link)
  }
  return {
    path: folder.path,
    async run(command, env = {}) {
      const child = Bun.spawn([...command], {
        cwd: folder.path,
        env: {
          PATH: process.env.PATH ?? '',
          HOME: folder.path,
          UNDERSTUDY_BIN: EXECUTABLE,
          NO_COLOR: '1',
          CI: '1',
          ...env,
        },
        stdin: 'ignore',
        stdout: 'pipe',
        stderr: 'pipe',
      })
      const streams = [child.stdout, child.stderr].map((stream) => new Response(stream).text())
      const said = (await Promise.all(streams)).join('\n')
      return { code: await child.exited, said }
    },
  }
}
