// Pruning saves runs and changes no cell, and two explorations of a program find the same.
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { type ExploreJson, exploreIn, programIn } from '../support/explore.ts'
import { emptyFolder } from '../support/server.ts'

setDefaultTimeout(120_000)
const folder = emptyFolder()
afterAll(folder.remove)

const PATIENT = `
const patient = async (body, more) => {
  for (let tries = 1; ; tries++) {
    try { return await ask(body, more) } catch (error) {
      if (tries === 3 || error.status === 400) throw error
      await wait(error.after || 20 * tries)
    }
  }
}
`
const PROGRAMS = {
  // The last item matters, and is asked for once; the others may fail.
  loop: `${PATIENT}
const items = ['one', 'two', 'three', 'four']
for (const item of items) {
  const body = { messages: [user(item)] }
  await (item === 'four' ? ask(body) : patient(body).catch(() => {}))
}
`,
  // Two users at the same time, each in a session, with another model where the first fails; one of them looks at nothing.
  fallback: `
const of = (session) => ({ headers: { 'x-understudy-session': session } })
const body = { messages: [user('Hi')] }
await Promise.all([
  ask(body, of('careful')).catch(() => ask({ ...body, model: 'openai/gpt-4o-mini' }, of('careful'))),
  ask(body, of('careless')).catch(() => {}),
])
`,
  // Three calls that look alike from outside, one of which fails the command.
  sites: `${PATIENT}
await patient({ messages: [user('a')] })
await ask({ messages: [user('b')] })
await patient({ messages: [user('c')] })
`,
  // The first may fail, and nothing is called again; but what comes later may not.
  later: `
await ask({ messages: [user('a')] }).catch(() => {})
await ask({ messages: [user('b')] })
`,
  // Whoever is broken first, the other does not come.
  coupled: `
const of = (session) => ({ headers: { 'x-understudy-session': session } })
const body = { messages: [user('Hi')] }
try { await ask(body, of('first')); await ask(body, of('second')) } catch {}
`,
}
const CLASSES = ['server-error-once', 'server-error-forever', 'context-length']

type Name = keyof typeof PROGRAMS
const found = new Map<string, ExploreJson>()
const WAYS = { first: [], second: ['--jobs', '2'], whole: ['--no-prune'] }
beforeAll(async () => {
  const classes = CLASSES.flatMap((name) => ['--class', name])
  await Promise.all(
    Object.entries(PROGRAMS).map(async ([name, code]) => {
      const command = programIn(folder.path, name, code)
      for (const [way, flags] of Object.entries(WAYS)) {
        const out = ['--out', `${name}-${way}`]
        const { report } = await exploreIn(folder.path, [...classes, ...out, ...flags], command)
        found.set(`${name} ${way}`, report)
      }
    }),
  )
})
const reportOf = (name: Name, way: keyof typeof WAYS): ExploreJson => {
  const report = found.get(`${name} ${way}`)
  if (!report) throw new Error(`${name} was not explored`)
  return report
}
const matrixOf = ({ cells }: ExploreJson) =>
  cells.map(({ point, class: name, verdict }) => `${point} ${name} ${verdict}`).sort()

const NAMES: [Name, { saved: number; verdicts: string[] }][] = [
  // After the last call of a kind, a fault for ever is the same as once.
  ['loop', { saved: 1, verdicts: ['broke', 'held'] }],
  ['fallback', { saved: 2, verdicts: ['held', 'swallowed'] }],
  ['sites', { saved: 1, verdicts: ['broke', 'held'] }],
  ['later', { saved: 1, verdicts: ['broke', 'swallowed'] }],
  ['coupled', { saved: 2, verdicts: ['swallowed'] }],
]

test.each(NAMES)('%s: the same cells with and without pruning, and fewer runs', (name, { saved, verdicts }) => {
  const [pruned, whole] = [reportOf(name, 'first'), reportOf(name, 'whole')]
  expect(matrixOf(pruned)).toEqual(matrixOf(whole))
  expect([...new Set(pruned.cells.map(({ verdict }) => verdict))].sort()).toEqual(verdicts)
  expect([pruned.saved, whole.saved]).toEqual([saved, 0])
  expect(pruned.runs).toBeLessThan(whole.runs)
})

test.each(NAMES)('%s: two explorations find the same, however many runs go on at once', (name) => {
  const told = ({ points, cells, coverage, saved, left }: ExploreJson) => ({
    ...{ points, coverage, saved, left },
    // Figures of waits differ, and ids of traces.
    cells: cells.map(({ traces, why, ...cell }) => ({
      ...cell,
      scenario: cell.scenario?.replace(/^[\w-]+\//, ''),
      traces: traces.length,
      why: why.replace(/\d+(\.\d+)? m?s/g, '? s'),
    })),
  })
  expect(told(reportOf(name, 'second'))).toEqual(told(reportOf(name, 'first')))
})
