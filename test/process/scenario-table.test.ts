// Every shipped scenario with careful apps, which pass, and careless ones, which do not, and the documentation page that shows what
// happens. Not faster: apps wait for their timeouts, and as long as Retry-After says.
import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FindingKind } from '../../src/contract/core/finding.ts'
import { type Played, play, program } from '../support/exec.ts'
import {
  COLUMNS,
  cellText,
  ENDS,
  linesIn,
  pageOf,
  playTable,
  rowsOf,
  SCENARIOS,
  type ScenarioCase,
  type ScenarioTable,
  socketText,
} from '../support/scenario-table.ts'

setDefaultTimeout(120_000)
const ROOT = join(import.meta.dir, '..', '..')
const page = readFileSync(join(ROOT, 'docs', 'scenario-table.md'), 'utf8')
const lines = linesIn(page)
/** One app of each line, and another one where a line is about all: they meet the same (`npm run scenario-table` runs each of them). */
const chosen = new Set(
  lines.flatMap(({ scenario, columns }, index) =>
    (columns.length === COLUMNS.length ? [index, index + 3] : [index]).map(
      (at) => `${scenario}: ${columns[at % columns.length]}`,
    ),
  ),
)
let table: ScenarioTable
beforeAll(async () => {
  table = await playTable((scenario, column) => chosen.has(`${scenario}: ${column}`))
}, 120_000)

const needsOf = (scenario: string): { stream?: boolean; agent?: boolean; calls?: number } => {
  const text = readFileSync(join(ROOT, 'scenarios', `${scenario}.yaml`), 'utf8')
  return (Bun.YAML.parse(text) as { needs?: object }).needs ?? {}
}
/** What an app lacks under a scenario: apps without agents, and calls that are no streams. */
function lackIn({ scenario, stream }: Pick<ScenarioCase, 'scenario' | 'stream'>): string | undefined {
  const needs = needsOf(scenario)
  if (needs.agent) return 'this scenario needs an agent task'
  return needs.stream && !stream ? 'this scenario needs a streamed call' : undefined
}
const allCases = (scenario: string, manner: 'careful' | 'careless') =>
  table.cells.filter((cell) => cell.scenario === scenario && (cell.manner === 'careful') === (manner === 'careful'))
const about = ({ scenario, kind, stream, manner }: ScenarioCase) =>
  `${scenario}: ${manner} ${kind}, ${stream ? 'streamed' : 'whole'}`
const told = (cell: ScenarioCase) => `${about(cell)}: ${cellText(cell)}`

describe.each(SCENARIOS)('shipped scenario %s', (scenario) => {
  test('is inconclusive only for apps that lack what it needs', () => {
    for (const cell of table.cells.filter((one) => one.scenario === scenario)) {
      const lack = lackIn(cell)
      const { verdict, inconclusive } = cell.verdicts.unknown
      expect([told(cell), verdict === 'inconclusive']).toEqual([told(cell), lack !== undefined])
      expect([told(cell), inconclusive[0]]).toEqual([told(cell), lack])
    }
  })

  test('has no finding for a careful app, however it exits', () => {
    for (const cell of allCases(scenario, 'careful')) {
      const wanted = lackIn(cell) ? 'inconclusive' : 'pass'
      const verdicts = ENDS.map((end) => cell.verdicts[end].verdict)
      expect([told(cell), ...verdicts]).toEqual([told(cell), ...ENDS.map(() => wanted)])
      // It shows its user whole responses, or says that there is none.
      expect([told(cell), cell.seen.filter(({ text, end }) => end !== 'response' && text !== '')]).toEqual([
        told(cell),
        [],
      ])
    }
  })

  test('has exactly the findings of careless apps', () => {
    for (const cell of allCases(scenario, 'careless')) {
      const kinds = cell.verdicts.unknown.findings.map(({ kind }) => kind)
      expect([told(cell), kinds]).toEqual([told(cell), wrongWith(cell)])
      if (kinds.length === 0) continue
      const { well, unknown } = cell.verdicts
      const warned = [well, unknown].map(({ verdict, findings }) => verdict === 'fail' || findings.length > 0)
      expect([told(cell), ...warned]).toEqual([told(cell), true, true])
    }
  })

  test('reaches the sockets of the apps that it is for', () => {
    for (const socket of table.sockets.filter((one) => one.scenario === scenario)) {
      const { api, stream } = socket
      const isWhole = socketText(socket) === '200, whole'
      const mayBeWhole = lackIn(socket) !== undefined || needsOf(scenario).calls !== undefined
      // The first token of some calls is not late enough to be seen.
      if (scenario !== 'slow-first-token')
        expect([api, stream, socketText(socket), isWhole]).toEqual([api, stream, socketText(socket), mayBeWhole])
    }
  })
})

/** The findings of a careless app: what is wrong with asking once and showing what has come, or with asking again and again. */
function wrongWith(cell: ScenarioCase): FindingKind[] {
  const { scenario, stream, kind, seen } = cell
  if (lackIn(cell)) return []
  const isResponses = kind === 'openai responses' || kind === 'AI SDK (openai)'
  const found: Record<string, FindingKind[]> = {
    'bad-key': ['retry-storm'],
    'context-length': ['retry-storm'],
    // The response is complete: only its finish reason differs, and nobody sees who reads that.
    'content-filter': [],
    'black-hole': ['no-timeout'],
    'timeout-then-fallback': ['no-timeout'],
    // Who waits has done nothing wrong until the limit.
    'slow-first-token': seen.some(({ end }) => end === 'response') ? [] : ['no-timeout'],
    'stream-stalled': ['no-timeout'],
    'stream-cut': ['swallowed'],
    'stream-error': ['swallowed'],
    'stream-malformed': ['swallowed'],
    'stream-plain-error': ['swallowed'],
    // Text with a finish reason is whole; on the responses API, the missing event has the status.
    'stream-missing-done': isResponses ? ['swallowed'] : [],
    'client-reset': [stream ? 'swallowed' : 'gave-up'],
    'empty-response': [stream ? 'swallowed' : 'gave-up'],
  }
  return found[scenario] ?? ['gave-up']
}

test('shipped scenarios: accept no finding unconditionally', () => {
  const accepting = SCENARIOS.filter((name) =>
    readFileSync(join(ROOT, 'scenarios', `${name}.yaml`), 'utf8').includes('\naccept:'),
  )
  expect(accepting).toEqual([])
})

test('docs/scenario-table.md: is up to date (npm run scenario-table)', () => {
  expect(page).toBe(pageOf(lines.map(({ text }) => text)))
  for (const scenario of SCENARIOS) {
    const own = lines.filter((line) => line.scenario === scenario)
    expect([scenario, own.flatMap(({ columns }) => columns).sort()]).toEqual([scenario, COLUMNS.toSorted()])
    for (const { column, texts } of rowsOf(scenario, table)) {
      const shown = own.find(({ columns }) => columns.includes(column))?.texts ?? []
      const others = texts.filter((text, at) => text !== shown[at] && text !== withoutWarning(shown[at]))
      expect([scenario, column, others]).toEqual([scenario, column, []])
    }
  }
})
/** Whether the warning is found depends on how busy the machine is: on the pauses between calls. */
const withoutWarning = (text = '') => text.replace('**PASS**, warning `gave-up`', '**PASS**')

/** Some of them as programs of their own under exec, with addresses and keys from the environment. */
const PROGRAMS: [scenario: string, app: string[], code: number, findings: FindingKind[]][] = [
  ['client-reset', ['openai responses', 'streamed', 'careful'], 0, []],
  ['overloaded', ['AI SDK (anthropic)', 'whole', 'careless'], 3, ['gave-up']],
  ['stream-stalled', ['AI SDK (openai)', 'streamed', 'careless'], 3, ['no-timeout']],
  ['stream-cut', ['@anthropic-ai/sdk', 'streamed', 'careless'], 0, ['swallowed']],
]
describe('separate program under exec', () => {
  const played: Promise<Played>[] = []
  beforeAll(() => {
    for (const [scenario, app] of PROGRAMS)
      played.push(play(program('app', ...app), scenario, { latency: 'real', hangLimit: 2_000 }))
  })
  test.each(PROGRAMS.map((row, index) => [row[0], row[1].join(', '), index, row] as const))(
    'has the same verdict: %s, %s',
    async (scenario, _, index, [, , code, findings]) => {
      const result = await played[index]
      expect([result?.code, result?.findings]).toEqual([code, { [scenario]: findings }])
    },
  )
})
