// Faults of single stream events, in detail: which are invalid, missing, repeated, misplaced or comments.
import { afterAll, describe, expect, test } from 'bun:test'
import { eventsOf } from '../support/app.ts'
import { blocksOf, hasContent, rehearsal } from '../support/faults.ts'

const { hear, close } = rehearsal()
afterAll(close)

const healthy = await hear()
const blocks = blocksOf(healthy.text)
const content = blocks.filter(hasContent)
const TOO_SHORT = { 'the response ended before the position of the fault': 1 }

test('malformed-chunk: sends half of the JSON of one event and leaves the end mark alone', async () => {
  const heard = await hear({ point: 'gateway', fault: { type: 'malformed-chunk', after_tokens: 1 } })
  const wrong = blocks[2]?.match(/\{.*\}/)?.[0] ?? ''
  const expected = blocks.with(2, `data: ${wrong.slice(0, Math.ceil(wrong.length / 2))}\n\n`)
  expect(heard.text).toBe(expected.join(''))
  expect(() => eventsOf(heard.text)).toThrow()
  const last = await hear({ point: 'gateway', fault: { type: 'malformed-chunk', after_chunks: blocks.length - 1 } })
  expect([last.text, last.rule?.skipped]).toEqual([healthy.text, TOO_SHORT])
})

test('missing-finish: removes the finish reason of each of several choices', async () => {
  const fault = { type: 'missing-finish' }
  const heard = await hear({ point: 'gateway', fault, more: { n: 2 } })
  const choices = eventsOf(heard.text).flatMap(
    (event) => (event as { choices?: { index: number; finish_reason: unknown }[] }).choices ?? [],
  )
  expect(new Set(choices.map(({ index }) => index)).size).toBe(2)
  expect(choices.filter(({ finish_reason }) => finish_reason !== null)).toEqual([])
  expect(heard.text).toEndWith('data: [DONE]\n\n')
})

test('missing-usage: removes the counts from the response and the trace', async () => {
  const fault = { type: 'missing-usage' }
  const { text, trace } = await hear({ fault })
  expect(text).toBe(blocks.filter((block) => !block.includes('"usage":{')).join(''))
  expect([trace.usage, trace.cost]).toEqual([null, null])
  const unasked = { stream_options: null }
  expect((await hear({ fault, more: unasked })).trace.usage).toBeNull()
  const client = await hear({ fault, more: unasked, point: 'gateway' })
  expect(client.rule?.skipped).toEqual({ 'the response has no usage': 1 })
  expect(client.trace.usage).toEqual(healthy.trace.usage)
})

test('duplicate-chunk: sends as many copies as configured', async () => {
  const heard = await hear({ point: 'gateway', fault: { type: 'duplicate-chunk', chunk: 1, copies: 3 } })
  const [first = ''] = content
  expect(heard.text).toBe(blocks.toSpliced(1, 0, first, first, first).join(''))
  const none = await hear({ point: 'gateway', fault: { type: 'duplicate-chunk', chunk: content.length + 1 } })
  expect([none.text, none.rule?.skipped]).toEqual([healthy.text, TOO_SHORT])
})

test('reorder-chunks: sends the last content after the finish reason without losing it', async () => {
  const last = blocks.indexOf(content.at(-1) ?? '')
  const expected = blocks.toSpliced(last, 2, blocks[last + 1] ?? '', blocks[last] ?? '').join('')
  for (const point of ['gateway', 'provider'] as const) {
    const heard = await hear({ point, fault: { type: 'reorder-chunks', chunk: content.length } })
    expect([heard.text, heard.trace.outcome]).toEqual([expected, 'succeeded'])
  }
})

describe('keep-alive-comments', () => {
  test('sends its text as often as configured', async () => {
    const fault = { type: 'keep-alive-comments', text: 'PROCESSING', every: 100, count: 2, interval: '5s' }
    const heard = await hear({ point: 'gateway', fault })
    expect(heard.text).toBe(`: PROCESSING\n\n: PROCESSING\n\n${healthy.text}`)
    expect(heard.trace.duration_ms).toBeGreaterThanOrEqual(10_000)
  })

  test('does not prevent a timeout, because comments are not content', async () => {
    const fault = { type: 'keep-alive-comments', count: 20, interval: '1s' }
    const heard = await hear({ fault, more: { timeout: { call_timeout: 2500 } } })
    expect([heard.status, heard.trace.outcome, heard.trace.duration_ms]).toEqual([504, 'timed_out', 2500])
  })
})
