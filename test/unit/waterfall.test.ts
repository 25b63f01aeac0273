// A trace as the terminal shows it: steps in their order, attempts as bars over time.
import { expect, test } from 'bun:test'
import { stripVTControlCharacters } from 'node:util'
import { safeLine } from '../../src/cli/print/output.ts'
import { waterfall } from '../../src/cli/print/waterfall.ts'
import type { AttemptRecord, TraceRecord } from '../../src/contract/core/trace.ts'

const traceOf = (more: Partial<TraceRecord>): TraceRecord => ({
  ...{
    id: 'x',
    session: 'default',
    operation: 'chat.completions',
    parent: null,
    internal: false,
    name: 'x',
    model: 'openai/a',
    stream: true,
    route: 'gateway',
  },
  ...{ status: 200, outcome: 'succeeded', started_at: '2025-01-01T00:00:00.000Z', duration_ms: 0, fixture: null },
  ...{ generated: false, plan: ['openai/a'], scenario: null, faults: [], attempts: [], cache: null, guardrails: [] },
  ...{ retrievals: [], usage: null, cost: null, attachments: [], metadata: null, identity: null, thread: null },
  error: null,
  retry_after_ms: null,
  ...more,
})
const attempt = (more: Partial<AttemptRecord>): AttemptRecord => ({
  ...{ target: 'openai/a', position: 0, number: 1, reason: 'first', faults: [], wait_ms: 0, started_ms: 0 },
  ...{ first_content_ms: null, duration_ms: 0, outcome: 'succeeded', status: 200, request_id: null, error: null },
  ...more,
})
const plain = (trace: TraceRecord) => waterfall(trace, 120).map((line) => stripVTControlCharacters(line))
const shown = (more: Partial<TraceRecord>) => plain(traceOf(more)).join('\n')

test('waterfall: shows retries, a fallback, waits and faults over time', () => {
  const attempts = [
    attempt({ duration_ms: 500, outcome: 'http_error', status: 429, error: 'slow down', faults: ['rush hour'] }),
    attempt({
      number: 2,
      reason: 'retry',
      wait_ms: 1000,
      started_ms: 1500,
      duration_ms: 500,
      outcome: 'timed_out',
      status: 504,
    }),
    attempt({
      ...{ target: 'groq/bigger', position: 1, reason: 'fallback', started_ms: 2000, duration_ms: 2000 },
      first_content_ms: 3000,
    }),
  ]
  expect(shown({ duration_ms: 4000, attempts, scenario: 'black-friday' })).toBe(
    [
      '  scenario   black-friday',
      '',
      '                        0                                4000 ms',
      '  openai/a    first     ░░░░░                                    HTTP error 429 in 500 ms, faults: rush hour',
      '                        slow down',
      '  openai/a    retry          ··········░░░░░                     timed out 504 in 500 ms, after 1000 ms',
      '  groq/bigger fallback                      ░░░░░░░░░░██████████ succeeded 200 in 2000 ms, first content after 1000 ms',
      '',
    ].join('\n'),
  )
})

test('waterfall: shows cache, guardrails, retrieval, usage and cost in order', () => {
  const search = { knowledge_id: 'shop', search_type: 'vector_search', query: 'x', chunks: [] }
  const steps = shown({
    retrievals: [
      { knowledge_id: 'faq', search_type: 'hybrid_search', query: 'x', chunks: [{ id: '1', score: 1, text: 'x' }] },
      { ...search, started_ms: 2, duration_ms: 30 },
    ],
    guardrails: [
      { id: 'svc_pii_detection', stage: 'input', outcome: 'passed', reason: null, evaluation: null },
      { id: 'polite', stage: 'output', outcome: 'blocked', reason: 'it is rude', evaluation: null },
    ],
    cache: { status: 'miss', key: 'k', age_ms: null },
    attempts: [attempt({ duration_ms: 1, first_content_ms: 1 })],
    duration_ms: 1,
    faults: ['cut'],
    usage: { prompt_tokens: 12, completion_tokens: 30, prompt_tokens_details: { cached_tokens: 0 } },
    cost: 0.00012345,
  })
  expect(steps).toBe(
    [
      '  knowledge  faq hybrid_search, 1 chunk',
      '  knowledge  shop vector_search, 0 chunks, took 30 ms',
      '  input      svc_pii_detection passed',
      '  cache      miss',
      '',
      `                     0                                   1 ms`,
      `  openai/a first     ${'░'.repeat(39)}█ succeeded 200 in 1 ms, first content after 1 ms`,
      '',
      '  output     polite blocked: it is rude',
      '  faults     on the way to the client: cut',
      '  usage      12 prompt tokens, 30 completion tokens, $0.000123',
    ].join('\n'),
  )
})

test('waterfall: shows no attempts of a cached response', () => {
  expect(shown({ cache: { status: 'hit', key: 'k', age_ms: 61_500 } })).toBe('  cache      hit, 61.5 s old')
})

test('waterfall: shows nothing for a call that was rejected at once', () => {
  expect(shown({})).toBe('')
})

test('waterfall: shows an attempt that took no time, even at the end of the axis', () => {
  const attempts = [attempt({}), attempt({ number: 2, reason: 'retry', wait_ms: 60_000, started_ms: 60_000 })]
  const [, , first, second] = plain(traceOf({ attempts, duration_ms: 60_000 }))
  expect(first).toStartWith(`  openai/a first     ░${' '.repeat(39)} succeeded 200 in 0 ms`)
  expect(second).toStartWith(`  openai/a retry     ${'·'.repeat(39)}░ succeeded 200 in 0 ms, after 60.0 s`)
})

test('waterfall: prints colors on request and only around texts', () => {
  const attempts = [attempt({ duration_ms: 5, outcome: 'http_error', status: 500, error: 'no' })]
  const painted = waterfall(traceOf({ attempts, duration_ms: 5 }), 120).map((line) => safeLine(line, () => true))
  const [dim, red, end] = ['\u001b[2m\u001b[22m', '\u001b[31m', '\u001b[39m']
  expect(painted[2]).toBe(`  openai/a first     ${dim}${red}${'░'.repeat(40)}${end} ${red}HTTP error 500 in 5 ms${end}`)
  expect(painted.map((line) => stripVTControlCharacters(line)).join('\n')).toBe(shown({ attempts, duration_ms: 5 }))
})
