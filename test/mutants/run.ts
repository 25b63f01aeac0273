// Puts each mistake of the list into a copy of the project, and says whether the quick tests notice it: first those that are named for
// it, then all of them. `npm run mutants [-- TEXT]` runs those whose mistake or file holds the text.
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Glob } from 'bun'
import { filesOf } from '../../src/build/test-tiers.ts'
import { MUTANTS, type Mutant } from './list.ts'

const root = join(import.meta.dir, '..', '..')
/** What the tests read. */
const COPIED = ['src', 'test', 'fixtures', 'scenarios', 'docs', 'deploy', 'examples', 'packages', 'bench', 'dist']
const copy = mkdtempSync(join(tmpdir(), 'understudy-mutants-'))
for (const name of [...COPIED, 'package.json', 'package-lock.json', 'tsconfig.json', 'biome.json', 'README.md'])
  cpSync(join(root, name), join(copy, name), { recursive: true })
symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))

const quick = filesOf('fast', [...new Glob('test/*/*.test.ts').scanSync(root)].sort(), () => '').filter((file) =>
  /^test\/(?:unit|api)\//.test(file),
)

/** Whether some test fails; milliseconds that a test may take are as for `npm test`. */
function isNoticed(files: readonly string[]): boolean {
  const { exitCode } = Bun.spawnSync(
    [process.execPath, 'test', '--timeout', '30000', '--bail', ...files.map((file) => `./${file}`)],
    { cwd: copy, env: { ...process.env, FC_RUNS: '0.1' }, stdout: 'ignore', stderr: 'ignore' },
  )
  return exitCode !== 0
}

/** By which tests a mistake is noticed. */
function noticedBy({ file, find, replace, tests }: Mutant): 'named tests' | 'other tests' | undefined {
  const path = join(copy, 'src', file)
  const text = readFileSync(path, 'utf8')
  if (text.split(find).length !== 2) throw new Error(`${file} does not hold ${JSON.stringify(find)} exactly once`)
  unlinkSync(path)
  writeFileSync(
    path,
    text.replace(find, () => replace),
  )
  try {
    const named = namedIn(tests)
    if (named.length > 0 && isNoticed(named)) return 'named tests'
    return isNoticed(quick) ? 'other tests' : undefined
  } finally {
    writeFileSync(path, text)
  }
}

/** The quick tests that are named for a mistake. */
const namedIn = (tests: readonly string[]) =>
  quick.filter((one) => tests.some((name) => one.endsWith(`/${name}.test.ts`)))

const wanted = process.argv[2] ?? ''
const chosen = MUTANTS.filter(({ mistake, file }) => `${file} ${mistake}`.includes(wanted))
let missed = 0
try {
  if (isNoticed(namedIn(chosen.flatMap(({ tests }) => tests)))) throw new Error('tests fail without any mistake')
  for (const mutant of chosen) {
    const by = noticedBy(mutant)
    if (!by) missed++
    console.log(`${by ? `noticed by ${by}` : 'NOT NOTICED'.padEnd(22)}  ${mutant.file}: ${mutant.mistake}`)
  }
} finally {
  rmSync(copy, { recursive: true })
}
console.log(`${chosen.length - missed} of ${chosen.length} mistakes noticed`)
process.exit(missed > 0 ? 1 : 0)
