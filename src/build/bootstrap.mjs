// The one file that runs before anything is installed, so it is plain Node: it installs what the lockfile says when that
// has changed, builds what is out of date, and hands over to the pinned Bun. `npm start` and `npm test` are this file.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Most test files that run at a time. */
const MOST_WORKERS = 4

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')
const [task = 'start', ...rest] = process.argv.slice(2)
const windows = process.platform === 'win32'
const executable = join(root, 'dist', windows ? 'understudy.exe' : 'understudy')

/** Runs a program to its end with our terminal; a failure ends this process with the same code. */
function run(command, args, options = {}) {
  const { status, error, signal } = spawnSync(command, args, { stdio: 'inherit', cwd: root, ...options })
  if (error) {
    console.error(`understudy: could not run ${command}: ${error.message}`)
    process.exit(1)
  }
  if (signal) process.exit(130)
  if (status !== 0) process.exit(status ?? 1)
}

/**
 * Runs a server in the caller's folder until it ends or is told to. Ctrl-C reaches the whole foreground group, so it is not
 * passed on; a process manager stops npm alone, whose shell then dies without a word, so losing the parent counts as well.
 */
function serve(command, args) {
  const child = spawn(command, args, { stdio: 'inherit' })
  const stop = () => child.kill('SIGTERM')
  process.on('SIGINT', () => {})
  process.on('SIGTERM', stop)
  const parent = process.ppid
  setInterval(() => process.ppid === parent || stop(), PARENT_CHECK_MS)
  child.on('error', ({ message }) => {
    console.error(`understudy: could not run ${command}: ${message}`)
    process.exit(1)
  })
  child.on('exit', (status) => process.exit(status ?? 1))
}
const PARENT_CHECK_MS = 500

/** Newest modification time, in ms, of a file or of everything below a folder; 0 when there is none. */
function newest(path) {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (!stat) return 0
  if (!stat.isDirectory()) return stat.mtimeMs
  return Math.max(stat.mtimeMs, ...readdirSync(path).map((name) => newest(join(path, name))))
}

/** Installs when the lockfile is newer than the last installation, npm's own or ours. */
function install() {
  const [byNpm, byUs] = ['.package-lock.json', '.installed'].map((name) => join(root, 'node_modules', name))
  const wanted = Math.max(newest(join(root, 'package.json')), newest(join(root, 'package-lock.json')))
  if (Math.max(newest(byNpm), newest(byUs)) >= wanted) return
  console.error('understudy: installing dependencies ...')
  const npm = spawnSync(windows ? 'npm.cmd' : 'npm', ['--version'], { stdio: 'ignore', shell: windows })
  if (npm.status === 0)
    run(windows ? 'npm.cmd' : 'npm', ['install', '--no-save', '--loglevel=error'], { shell: windows })
  else run('bun', ['install', '--no-save'])
  writeFileSync(byUs, '')
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

function build(bun) {
  const sources = ['src', 'fixtures', 'package.json', 'package-lock.json'].map((name) => newest(join(root, name)))
  if (newest(executable) >= Math.max(...sources)) return
  console.error('understudy: building the executable ...')
  run(bun, ['src/build/build.ts'])
}

const bin = (name) => join(root, 'node_modules', '.bin', windows ? `${name}.cmd` : name)
function check() {
  run(bin('tsc'), ['--noEmit'], { shell: windows })
  run(bin('biome'), ['check', '--error-on-warnings', '.'], { shell: windows })
}

install()
const bun = bunPath()
const tasks = {
  start() {
    build(bun)
    serve(executable, ['serve', ...rest])
  },
  test() {
    check()
    build(bun)
    // The examples have tests of their own, which other runners run.
    const all = rest.every((argument) => argument.startsWith('-')) ? ['./test'] : []
    // Some tests start programs or browsers, and machines of CI may be busy.
    // A process for each core, which loads the program once for all its files; more than a few would wait for each other's
    // servers and browsers.
    const workers = Math.min(MOST_WORKERS, availableParallelism())
    run(bun, ['test', '--timeout', '30000', `--parallel=${workers}`, '--no-isolate', ...rest, ...all])
  },
  check,
  fix: () => run(bin('biome'), ['check', '--write', '.'], { shell: windows }),
  build: () => run(bun, ['src/build/build.ts', ...rest]),
  'build:all': () => run(bun, ['src/build/build.ts', '--all']),
  'build:action': () => run(bun, ['src/build/action.ts']),
  'build:packages'() {
    build(bun)
    run(bun, ['src/build/packages.ts', ...rest])
  },
  dev() {
    // Source is run as it is, but for the table of tokens that the build makes.
    if (!existsSync(join(root, 'dist', 'o200k.bin'))) build(bun)
    serve(bun, ['--watch', join(root, 'src', 'main.ts'), 'serve', ...rest])
  },
  fuzz() {
    if (!existsSync(join(root, 'dist', 'o200k.bin'))) build(bun)
    run(bun, ['test/fuzz/run.ts', ...rest])
  },
  'scenario-table'() {
    if (!existsSync(join(root, 'dist', 'o200k.bin'))) build(bun)
    run(bun, ['test/programs/scenario-table.ts'])
  },
  bench() {
    build(bun)
    const other = ['loop', 'store', 'inspector', 'kill', 'scale'].find((name) => name === rest[0])
    run(bun, other ? [`bench/${other}.ts`, ...rest.slice(1)] : ['bench/run.ts', ...rest])
  },
}
if (!(task in tasks)) {
  console.error(`understudy: unknown task "${task}"; valid: ${Object.keys(tasks).join(', ')}`)
  process.exit(2)
}
tasks[task]()
