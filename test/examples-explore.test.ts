// The examples under explore: every mistake that is planted in a careless program is found by its cell, and its careful twin has none.
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { EXECUTABLE, emptyFolder } from './support/server.ts'

// Each exploration runs the tests of an example some fifteen times.
setDefaultTimeout(280_000)
const folder = emptyFolder()
afterAll(folder.remove)
const root = join(import.meta.dir, '..')
const bin = (name: string) => join(root, 'node_modules', '.bin', name)

interface Cell {
  point: string
  class: string
  verdict: string
  why: string
}

async function cellsOf(
  example: string,
  program: 'careful' | 'careless',
  command: readonly string[],
  classes: readonly string[] = [],
): Promise<Cell[]> {
  const out = join(folder.path, `${example}-${program}`)
  const child = Bun.spawn(
    [
      EXECUTABLE,
      'explore',
      '--json',
      '--jobs',
      '2',
      '--out',
      out,
      ...classes.flatMap((name) => ['--class', name]),
      '--',
      ...command,
    ],
    {
      cwd: join(root, 'examples', example),
      env: { PATH: process.env.PATH ?? '', PROGRAM: `./${program}.mjs` },
      stdout: 'pipe',
      stderr: 'pipe',
    },
  )
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  if (stdout === '') throw new Error(`nothing was explored: ${stderr}`)
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '').cells
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
  ['parcel-agent', NODE, { 'server-error-once': /^broke: /, timeout: /^broke: / }],
]

test.each(EXAMPLES)(
  '%s: the careless program is found out, the careful one is as it should be',
  async (name, command, mistakes) => {
    const careless = await cellsOf(name, 'careless', command, Object.keys(mistakes))
    for (const [mistake, verdict] of Object.entries(mistakes)) {
      const found = careless.filter((cell) => cell.class === mistake).map((cell) => `${cell.verdict}: ${cell.why}`)
      expect(found.join('\n')).toMatch(new RegExp(verdict.source, 'm'))
    }
    const careful = await cellsOf(name, 'careful', command)
    expect(careful.filter(({ verdict }) => !['held', 'accepted', 'not-applied'].includes(verdict))).toEqual([])
    expect(careful.filter(({ verdict }) => verdict === 'held').length).toBeGreaterThan(5)
  },
)
