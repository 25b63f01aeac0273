// Runs before anything is installed, so it is plain Node: it installs what the lockfile says when that
// has changed, builds what is out of date, and hands over to the pinned Bun. `npm start` and `npm test` are this file.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { launch, launchExecutable } from '../../packages/cli/bin/launch.mjs'
import { executable, isStale, newest } from './stale.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const [task = 'start', ...rest] = process.argv.slice(2)
const windows = process.platform === 'win32'

// Who runs this file is npm; it may be stopped alone.
const managed = true

/** Runs a program to its end with our terminal; a failure, or being stopped, ends this process with its code. */
async function run(command, args, options = {}) {
  const { code, stopped } = await launch(command, args, { managed, cwd: root, ...options }).catch(unusable(command))
  if (stopped || code !== 0) process.exit(code)
}

/** Runs a server in the caller's folder until it ends or is stopped, as npm may be whose script this is. */
async function serve(command, args) {
  const { code } = await launchExecutable(command, args, { managed }).catch(unusable(command))
  process.exit(code)
}

const unusable =
  (command) =>
  ({ message }) => {
    console.error(`understudy: could not run ${command}: ${message}`)
    process.exit(1)
  }

/** Installs in a folder when its lockfile is newer than the last installation, npm's own or ours. */
async function installIn(folder) {
  const [byNpm, byUs] = ['.package-lock.json', '.installed'].map((name) => join(folder, 'node_modules', name))
  const wanted = Math.max(newest(join(folder, 'package.json')), newest(join(folder, 'package-lock.json')))
  if (Math.max(newest(byNpm), newest(byUs)) >= wanted) return
  console.error(`understudy: installing dependencies ${folder === root ? '' : 'of tests and documentation '}...`)
  const npm = spawnSync(windows ? 'npm.cmd' : 'npm', ['--version'], { stdio: 'ignore', shell: windows })
  if (npm.status === 0)
    await run(windows ? 'npm.cmd' : 'npm', ['ci', '--loglevel=error'], { cwd: folder, shell: windows })
  else await run('bun', ['install', '--frozen-lockfile'], { cwd: folder })
  writeFileSync(byUs, '')
}

/**
 * Makes the packages of `tools/` visible where the program's are, by a link for each that it names: tests, examples and the site find
 * them as if they were installed there. A package that is installed there already is left alone.
 */
function linkTools() {
  const modules = join(root, 'node_modules')
  const link = (name) => {
    const [from, to] = [join(modules, name), join(root, 'tools', 'node_modules', name)]
    if (existsSync(from) || !existsSync(to)) return
    mkdirSync(dirname(from), { recursive: true })
    // A link whose target has moved exists no longer, and is in the way.
    rmSync(from, { force: true })
    if (windows) symlinkSync(to, from, 'junction')
    else symlinkSync(relative(dirname(from), to), from)
  }
  const { dependencies } = JSON.parse(readFileSync(join(root, 'tools', 'package.json'), 'utf8'))
  for (const name of Object.keys(dependencies)) link(name)
}

/** Installs what the program needs, and what its tests, examples and documentation need. */
async function install() {
  await installIn(root)
  await installIn(join(root, 'tools'))
  linkTools()
}

/** The pinned Bun, straight from its platform package: install scripts stay switched off (.npmrc). */
function bunPath() {
  const scope = join(root, 'node_modules', '@oven')
  const names = existsSync(scope) ? readdirSync(scope) : []
  const found = names
    .map((name) => join(scope, name, 'bin', windows ? 'bun.exe' : 'bun'))
    .find((path) => existsSync(path))
  if (found) return found
  console.error(`understudy: the bun package has no binary for ${process.platform}-${process.arch}`)
  return process.exit(1)
}

async function build(bun) {
  if (!isStale()) return
  console.error('understudy: building the executable ...')
  await run(bun, ['src/build/build.ts'])
}

/** Source is run as it is, but for the table of tokens that the build makes. */
async function buildTables(bun) {
  if (!existsSync(join(root, 'dist', 'o200k.bin'))) await build(bun)
}

const bin = (name) => join(root, 'node_modules', '.bin', windows ? `${name}.cmd` : name)
async function check() {
  await run(bin('tsc'), ['--noEmit'], { shell: windows })
  await run(bin('biome'), ['check', '--error-on-warnings', '.'], { shell: windows })
}

await install()
const bun = bunPath()
const tasks = {
  async start() {
    await build(bun)
    await serve(executable, ['serve', ...rest])
  },
  // A tier (fast, rest, all), or arguments of the test runner, such as one file.
  test: () => run(bun, ['src/build/test.ts', ...rest]),
  check,
  fix: () => run(bin('biome'), ['check', '--write', '.'], { shell: windows }),
  build: () => run(bun, ['src/build/build.ts', ...rest]),
  'build:all': () => run(bun, ['src/build/build.ts', '--all']),
  'build:action': () => run(bun, ['src/build/action.ts']),
  async 'build:packages'() {
    await build(bun)
    await run(bun, ['src/build/packages.ts', ...rest])
  },
  release: () => run(bun, ['release/run.ts', ...rest]),
  async dev() {
    await buildTables(bun)
    await serve(bun, ['--watch', join(root, 'src', 'main.ts'), 'serve', ...rest])
  },
  async fuzz() {
    await buildTables(bun)
    await run(bun, ['test/fuzz/run.ts', ...rest])
  },
  async mutants() {
    await build(bun)
    await run(bun, ['test/mutants/run.ts', ...rest])
  },
  async 'scenario-table'() {
    await buildTables(bun)
    await run(bun, ['test/support/programs/scenario-table.ts'])
  },
  async 'check:platform'() {
    await build(bun)
    await run(bun, ['release/check-platform.ts'])
  },
  names: () => run(bun, ['release/names.ts']),
  async docs() {
    await buildTables(bun)
    await run(bun, ['src/build/docs.ts'])
  },
  async bench() {
    await build(bun)
    const other = ['stalls', 'store', 'inspector', 'kill', 'scale'].find((name) => name === rest[0])
    await run(bun, other ? [`bench/${other}.ts`, ...rest.slice(1)] : ['bench/run.ts', ...rest])
  },
}
if (!(task in tasks)) {
  console.error(`understudy: unknown task "${task}"; valid: ${Object.keys(tasks).join(', ')}`)
  process.exit(2)
}
await tasks[task]()
