// The tests of one tier, after types, lint and the executable: `test fast` is `npm test`, `test rest` what that leaves out, `test all`
// both. Anything else is handed to `bun test`: a file is run alone, without types and lint.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Glob } from 'bun'
import { isStale } from './stale.mjs'
import { filesOf, isTier, type TestTotals, type Tier, totalsOf } from './test-tiers.ts'

/** Most test files that are run at a time: more would wait for each other's servers and browsers. */
const MAX_WORKERS = 4
/** Milliseconds for a test; machines of CI may be busy. */
const TIMEOUT = 30_000
/** The share of the runs of properties that is made in a hurry; `FC_RUNS` in the environment is followed everywhere. */
const FAST_SHARE = '0.1'
/** What the compiler has found. */
const TYPES = join('dist', 'types.tsbuildinfo')

const root = join(import.meta.dir, '..', '..')
const began = performance.now()
/** Processor time of the programs that have ended, with what they have started, in microseconds. */
let programsSpent = 0

async function program(command: readonly string[], env: Record<string, string> = {}): Promise<number> {
  const child = Bun.spawn([...command], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['inherit', 'inherit', 'inherit'],
  })
  const code = await child.exited
  programsSpent += Number(child.resourceUsage()?.cpuTime.total ?? 0)
  return code
}

const bin = (name: string) => join(root, 'node_modules', '.bin', process.platform === 'win32' ? `${name}.cmd` : name)

const allFiles = () => [...new Glob('test/*/*.test.ts').scanSync(root)].sort()

/** Builds the executable if something in it has changed; gives whether that is well. */
async function built(tier: Tier | undefined): Promise<boolean> {
  // The quick tests read no page of the documentation site, which takes longer to build than the executable.
  const withSite = tier !== 'fast'
  const build = [process.execPath, join('src', 'build', 'build.ts'), ...(withSite ? [] : ['--no-site'])]
  return !isStale({ withSite }) || (await program(build)) === 0
}

/** Types and lint; gives how many of the two failed. */
async function checks(tier: Tier | undefined): Promise<number> {
  if (tier !== 'fast' && tier !== 'all') return 0
  const codes = await Promise.all([
    // One thread: more take up to a fifth more processor time, for waiting for each other. It ends before collecting garbage would
    // pay, unless memory is short. What it found is kept, so that only what has changed is checked the next time.
    program([bin('tsc'), '--noEmit', '--singleThreaded', '--incremental', '--tsBuildInfoFile', TYPES], {
      GOGC: 'off',
      GOMEMLIMIT: '3GiB',
    }),
    program([bin('biome'), 'check', '--error-on-warnings', '.']),
  ])
  return codes.filter((code) => code !== 0).length
}

/** The environment of every tier's tests. */
const CHEAP = {
  // Most tests end before optimized code pays: without it the quick ones take 6 to 9 % less processor time, properties 10 %.
  BUN_JSC_useFTLJIT: '0',
  // Collects garbage when there is much, and not every second besides: 7 to 10 % less, with a quarter more memory.
  BUN_GC_TIMER_DISABLE: '1',
  // Keeps freed memory instead of returning it to the system: 5 to 9 % less, with a fifth more memory.
  MIMALLOC_PURGE_DELAY: '-1',
}
/** The environment of a tier's tests. */
const ENVIRONMENT: Readonly<Record<Tier, Record<string, string>>> = {
  fast: { ...CHEAP, FC_RUNS: process.env.FC_RUNS ?? FAST_SHARE },
  rest: { ...CHEAP, PROPERTIES: 'only' },
  all: CHEAP,
}

function finish({ passed, failed, failedFiles }: TestTotals): never {
  const { user, system } = process.cpuUsage()
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
  if (failedFiles.length > 0) {
    console.log('\nTo run one of the files that failed alone:')
    for (const file of failedFiles) console.log(`  npm test -- ${file}`)
  }
  const spent = seconds((programsSpent + user + system) / 1_000)
  console.log(`\n${seconds(performance.now() - began)}, with ${spent} of processor time`)
  console.log(`${passed} passed, ${failed} failed`)
  process.exit(failed > 0 ? 1 : 0)
}

/** Whether an argument names test files, and is no option of the runner. */
const namesFiles = (argument: string) => !argument.startsWith('-') && /[/\\]|\.test\.ts$/.test(argument)

const typed = process.argv.slice(2)
const [first = ''] = typed
const tier = isTier(first) ? first : typed.some(namesFiles) ? undefined : 'fast'
const files = tier && filesOf(tier, allFiles(), (file) => readFileSync(join(root, file), 'utf8'))
// Types and lint are checked beside the build and the tests: neither uses every core all the time.
const checking = checks(tier)
if (!(await built(tier))) {
  await checking
  finish({ passed: 0, failed: 1, failedFiles: [] })
}

const folder = mkdtempSync(join(tmpdir(), 'understudy-tests-'))
const report = join(folder, 'junit.xml')
// One more than there are cores, since tests wait for servers, pages and real latency.
const workers = Math.min(MAX_WORKERS, availableParallelism() + 1)
const code = await program(
  [
    ...[process.execPath, 'test', '--timeout', String(TIMEOUT), `--parallel=${workers}`, '--no-isolate'],
    ...['--only-failures', '--reporter=junit', `--reporter-outfile=${report}`],
    ...(isTier(first) ? typed.slice(1) : typed),
    ...(files ?? []).map((file) => `./${file}`),
  ],
  tier && ENVIRONMENT[tier],
)
const failedChecks = await checking
const xml = existsSync(report) ? readFileSync(report, 'utf8') : ''
rmSync(folder, { recursive: true })
const totals = totalsOf(xml, code, files)
if (failedChecks > 0) console.log('\nTypes or lint: problems are printed above')
finish({ ...totals, failed: totals.failed + failedChecks })
