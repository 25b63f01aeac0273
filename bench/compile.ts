// Executables that are measured beside the one of this folder: small servers of the bench, and other commits of Understudy.
import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { BenchError } from './options.ts'
import { atEnd, root, scratch, understudy } from './support.ts'

/** The entry of the SQLite driver for this platform: its default one looks for node_modules at run time. */
const driver: Bun.BunPlugin = {
  name: 'driver',
  setup(builder) {
    const path = join(root, `node_modules/better-sqlite3/lib/${process.platform}-${process.arch}.js`)
    builder.onResolve({ filter: /^better-sqlite3$/ }, () => ({ path }))
  },
}

/** Compiles a server of this folder with the build options of the product. */
export async function compile(name: string, folder: string): Promise<string> {
  const outfile = join(folder, name)
  const { success, logs } = await Bun.build({
    entrypoints: [join(import.meta.dir, `${name}.ts`)],
    format: 'esm',
    bytecode: true,
    minify: { whitespace: true, syntax: true },
    plugins: [driver],
    compile: { outfile, autoloadDotenv: false, autoloadBunfig: false },
  })
  if (!success) throw new AggregateError(logs, `compiling ${name} failed`)
  return outfile
}

function run(args: readonly string[], cwd: string): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...args], { cwd })
  if (exitCode === 0) return stdout.toString()
  throw new BenchError(
    `${args.join(' ')} failed: ${(stderr.toString().trim() || stdout.toString().trim()).slice(0, 2_000)}`,
  )
}

/** The short name of a commit. */
export function commitOf(name: string): string {
  try {
    return run(
      ['git', 'rev-parse', '--short', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`],
      root,
    ).trim()
  } catch {
    throw new BenchError(
      `--against ${JSON.stringify(name)} is no commit of this repository (git log shows which there are)`,
    )
  }
}

/** Whether anything but the history of figures differs from the commit. */
export const isChanged = (): boolean =>
  run(['git', 'status', '--porcelain', '--', '.', ':!bench/history.md'], root).trim() !== ''

/** Builds the executable of another commit, in a work tree that goes when the bench ends. */
export async function buildCommit(commit: string): Promise<string> {
  const { folder } = scratch()
  const tree = join(folder, 'tree')
  run(['git', 'worktree', 'add', '--detach', tree, commit], root)
  // Ends run newest first, so that this comes before the folder goes.
  atEnd(() => Bun.spawnSync(['git', 'worktree', 'remove', '--force', tree], { cwd: root }))
  const locks = await Promise.all([root, tree].map((path) => Bun.file(join(path, 'package-lock.json')).text()))
  if (locks[0] === locks[1]) {
    const modules = join(root, 'node_modules')
    const links = Bun.spawnSync(['cp', '-al', modules, tree])
    if (links.exitCode !== 0) run(['cp', '-r', modules, tree], root)
  } else run(['npm', 'install', '--no-save', '--loglevel=error'], tree)
  run([process.execPath, 'src/build/build.ts'], tree)
  const executable = join(tree, 'dist', basename(understudy))
  if (!existsSync(executable)) throw new BenchError(`the build of ${commit} made no ${basename(understudy)}`)
  return executable
}
