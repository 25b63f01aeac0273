// The examples under explore: every mistake that is planted in a careless program is found by its cell, and its careful twin has none.
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { exploreIn } from '../support/explore.ts'
import { EXECUTABLE, emptyFolder } from '../support/server.ts'

// Each exploration runs the tests of an example some fifteen times.
setDefaultTimeout(280_000)
const folder = emptyFolder()
afterAll(folder.remove)
const root = join(import.meta.dir, '..', '..')
const bin = (name: string) => join(root, 'node_modules', '.bin', name)

/** The flags of an exploration of a careless program: what hangs is soon known to hang. */
const CARELESS = ['--timeout', '5s']

async function cellsOf(example: string, program: 'careful' | 'careless', flags: readonly string[], command: string[]) {
  const { report } = await exploreIn(
    join(root, 'examples', example),
    ['--jobs', '2', '--out', join(folder.path, `${example}-${program}`), ...flags],
    command,
    { PROGRAM: `./${program}.mjs` },
  )
  return report.cells
}

const NODE = ['node', '--test']
/** The mistakes of each careless program, by the class whose cell finds it. */
const EXAMPLES: [string, string[], Record<string, RegExp>][] = [
  [
    'ticket-tool',
    [bin('vitest'), 'run'],
    {
      'bad-json': /^swallowed: /,
      'context-length': /^misbehaved: .*made again 2 times/,
      'server-error-once': /^broke: /,
    },
  ],
  ['summarizer', NODE, { timeout: /^hung: /, stall: /^hung: /, 'cut-stream': /^swallowed: / }],
  ['parcel-agent', NODE, { 'server-error-once': /^broke: .*tool-repeated: book_courier/, timeout: /^broke: / }],
]

test.each(EXAMPLES)(
  '%s: the careless program is found out, the careful one is as it should be',
  async (name, command, mistakes) => {
    const classes = Object.keys(mistakes).flatMap((mistake) => ['--class', mistake])
    // Both mostly wait.
    const [careless, careful] = await Promise.all([
      cellsOf(name, 'careless', [...CARELESS, ...classes], command),
      cellsOf(name, 'careful', [], command),
    ])
    for (const [mistake, verdict] of Object.entries(mistakes)) {
      const found = careless.filter((cell) => cell.class === mistake).map((cell) => `${cell.verdict}: ${cell.why}`)
      expect(found.join('\n')).toMatch(new RegExp(verdict.source, 'm'))
    }
    expect(careful.filter(({ verdict }) => !['held', 'accepted', 'not-applied'].includes(verdict))).toEqual([])
    expect(careful.filter(({ verdict }) => verdict === 'held').length).toBeGreaterThan(5)
  },
)

test('docs/explore.md shows what the first example prints', async () => {
  const shown = /```\n( +p1[\s\S]*?)```/.exec(readFileSync(join(root, 'docs', 'explore.md'), 'utf8'))?.[1] ?? 'nothing'
  const [name = '', [vitest = ''] = []] = EXAMPLES[0] ?? []
  // Anew: of the cells above, one may stand for another that was found swallowed, whichever was played first.
  const out = join(folder.path, `${name}-shown`)
  const flags = ['bad-json', 'context-length', 'server-error-once'].flatMap((one) => ['--class', one])
  const child = Bun.spawn([EXECUTABLE, 'explore', '--out', out, ...flags, '--', vitest, 'run'], {
    cwd: join(root, 'examples', name),
    env: { PATH: process.env.PATH ?? '', PROGRAM: './careless.mjs' },
    stdout: 'pipe',
    stderr: 'ignore',
  })
  const printed = (await new Response(child.stdout).text()).replaceAll(vitest, 'npx vitest').replaceAll(out, 'explore')
  const lines = printed.split('\n').map((line) => line.trimEnd())
  expect(shown.split('\n').filter((line) => !lines.includes(line))).toEqual([])
})
