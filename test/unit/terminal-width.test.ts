// Lists and drawings fit the terminal, and what matters most stays whole.
import { expect, test } from 'bun:test'
import { stripVTControlCharacters } from 'node:util'
import { fitText, paint, printer, safeLine, wrapText } from '../../src/cli/print/output.ts'
import { overviewLines } from '../../src/cli/print/overview.ts'
import { fittedReport } from '../../src/cli/print/report.ts'
import { traceLine } from '../../src/cli/print/trace-line.ts'
import { waterfall } from '../../src/cli/print/waterfall.ts'
import type { AttemptRecord, TraceRecord } from '../../src/contract/core/trace.ts'

const plain = (lines: readonly string[]) => lines.map((line) => stripVTControlCharacters(line))
const attempt = (more: Partial<AttemptRecord> = {}): AttemptRecord => ({
  ...{ target: 'anthropic/claude-sonnet-4-5-20250929', position: 0, number: 1, reason: 'fallback', wait_ms: 2500 },
  ...{ faults: ['the connection is cut in the middle', 'slow to begin'], started_ms: 2500, first_content_ms: 3000 },
  ...{ duration_ms: 90_000, outcome: 'disconnected', status: 502, request_id: 'req_0123456789abcdef' },
  error: `the provider ${'closed the connection '.repeat(9)}`,
  ...more,
})
const traceOf = (more: Partial<TraceRecord> = {}): TraceRecord => ({
  ...{
    id: '01JGFJJZ00D2P87R0BNWMRTVKK',
    session: 'worker-of-a-long-name',
    operation: 'images.generations',
    parent: null,
    internal: false,
    name: 'x',
    route: 'gateway',
  },
  ...{ model: 'anthropic/claude-sonnet-4-5-20250929', stream: true, status: 502, outcome: 'disconnected' },
  ...{
    started_at: '2025-01-01T00:00:00.000Z',
    duration_ms: 92_500,
    fixture: 'chat.completions/a-fixture-of-a-long-name',
  },
  ...{
    generated: false,
    plan: [],
    scenario: 'a-scenario',
    faults: [],
    attempts: [attempt(), attempt()],
    cache: null,
  },
  guardrails: [{ id: 'polite', stage: 'output', outcome: 'blocked', reason: 'rude '.repeat(40), evaluation: null }],
  ...{ retrievals: [], usage: null, cost: null, attachments: [], metadata: null, identity: null, thread: null },
  ...{ error: null, retry_after_ms: null },
  ...more,
})
const tooLong = (lines: readonly string[], width: number) => lines.filter((line) => line.length > width)

test.each([40, 44, 54, 60, 72, 80, 100, 120, 200])(
  'terminal output: fits %d columns as list, drawing and overview',
  (width) => {
    const traces = Array.from({ length: 30 }, (_, index) =>
      traceOf({
        started_at: new Date(Date.UTC(2025) + index * 1000).toISOString(),
        outcome: index < 9 ? 'succeeded' : 'http_error',
      }),
    )
    for (const sessions of [false, true]) {
      const line = stripVTControlCharacters(traceLine(traceOf(), { width, sessions }))
      expect(tooLong([line], width)).toEqual([])
      expect(line).toContain('00:00:00')
      expect(line).toContain(' 502 ')
      expect(line).toEndWith('01JGFJJZ00D2P87R0BNWMRTVKK')
    }
    const drawing = plain(waterfall(traceOf(), width))
    expect(tooLong(drawing, width)).toEqual([])
    // Nothing of what happened is left out for want of room.
    const words = drawing.join(' ').replace(/\s+/g, ' ')
    for (const part of ['disconnected 502 in 90.0 s', 'after 2500 ms', 'slow to begin', 'closed the connection', '█'])
      expect(words).toContain(part)
    expect(tooLong(plain(overviewLines(traces, width)), width)).toEqual([])
  },
)

test('terminal report: wraps under its beginning and keeps its colors', () => {
  const red = paint('red', 'NOT MET: there were none at all')
  const lines = [
    'Understudy: outage: FAIL',
    `  expected      at least 1 attempt: provider openai ${red}`,
    `    error         gave-up: a request never got a response`,
  ]
  expect(fittedReport(lines, undefined)).toEqual(lines)
  expect(fittedReport(lines, 200)).toEqual(lines)
  const fitted = fittedReport(lines, 40)
  const shown = fitted.map((line) => stripVTControlCharacters(line))
  expect(shown).toEqual([
    'Understudy: outage: FAIL',
    '  expected      at least 1 attempt:',
    '                provider openai NOT MET:',
    '                there were none at all',
    '    error         gave-up: a request',
    '                  never got a response',
  ])
  expect(safeLine(fitted[3] ?? '', () => true)).toContain('\u001b[31m')
  // Without colours nothing is left of them.
  expect(fitted.map((line) => safeLine(line, () => false))).toEqual(shown)
  // The same colour in a text of others is text.
  const foreign = 'of others \u001b[31mred\u001b[39m and more of it'
  expect(
    fittedReport([foreign], 20)
      .map((line) => safeLine(line, () => true))
      .join(''),
  ).toStartWith('of others \\u001b[31mred')
})

test('terminal list: prints every column in full to a pipe', () => {
  const line = traceLine(traceOf(), { width: undefined, sessions: false })
  for (const part of [
    '00:00:00.000',
    'anthropic/claude-sonnet-4-5-20250929',
    'chat.completions/a-fixture-of-a-long-name',
  ])
    expect(line).toContain(part)
})

test('terminal list: shortens columns as room gets scarce, the model last', () => {
  const at = (width: number) => traceLine(traceOf(), { width, sessions: false })
  expect(at(80)).toContain('anthropic/c…')
  expect(at(80)).not.toContain('images')
  expect(at(120)).toContain('images.gene…')
  // Of a fixture the end says more.
  expect(at(120)).toContain('…a-long-name')
})

test('terminal overview: counts outcomes by model and over time', () => {
  const calls = Array.from({ length: 24 }, (_, index) =>
    traceOf({
      started_at: new Date(Date.UTC(2025) + index * 1000).toISOString(),
      duration_ms: 0,
      model: index % 4 === 0 ? 'openai/b' : 'openai/a',
      ...(index < 12 ? { outcome: 'succeeded' } : { outcome: 'http_error', status: 503 }),
    }),
  )
  const lines = plain(overviewLines(calls, 60))
  expect(lines[0]).toBe('24 calls in 23.0 s: 12 succeeded, 12 HTTP 503')
  expect(lines[1]).toMatch(/^ {2}openai\/a +18 {2}9 succeeded, 9 HTTP 503$/)
  expect(lines[2]).toMatch(/^ {2}openai\/b +6 {2}3 succeeded, 3 HTTP 503$/)
  expect(lines[3]).toMatch(/^ {2}over time {2}[█ ]+[░ ]+$/)
})

test('terminal texts: are padded, cut and wrapped between words', () => {
  expect(fitText('abc', 5)).toBe('abc  ')
  expect(fitText('abcdef', 4)).toBe('abc…')
  expect(fitText('abcdef', 4, 'start')).toBe('…def')
  expect(wrapText('one two  three\nfourfourfour', 7)).toEqual(['one two', 'three', 'fourfou', 'rfour'])
})

test('terminal stream: decides about colors and width', () => {
  const printed = (isTTY: boolean, columns: number, colours: boolean) => {
    const written: string[] = []
    const write = (text: string) => void written.push(text)
    const to = printer({ isTTY, columns, colours, write, writeLine: write })
    to.lines([`a ${paint('green', 'good')} line`, 'an\u001b[31mother'])
    return { written: written.join(''), width: to.width }
  }
  const plainText = 'a good line\nan\\u001b[31mother'
  expect(printed(false, 200, false)).toEqual({ written: plainText, width: undefined })
  expect(printed(true, 20, false)).toEqual({ written: plainText, width: 40 })
  expect(printed(true, 100, true)).toEqual({
    written: 'a \u001b[32mgood\u001b[39m line\nan\\u001b[31mother',
    width: 100,
  })
})
