// The reader of server-sent events: whatever the line ends and wherever the bytes are split, the blocks are the stream as received, and
// their events are those that a browser would see.
import { describe, expect } from 'bun:test'
import { createParser } from 'eventsource-parser'
import fc from 'fast-check'
import { dataEvent, EventTooLong, encodeEvent, type SseBlock, sseReader } from '../../src/lib/sse.ts'
import { property, runs, test } from '../support/property.ts'

const encoder = new TextEncoder()
/** The blocks of a text whose bytes come in pieces of these lengths. */
function blocksOf(text: string, lengths: readonly number[] = []): SseBlock[] {
  const bytes = encoder.encode(text)
  const reader = sseReader()
  const blocks: SseBlock[] = []
  let at = 0
  for (const length of lengths) {
    blocks.push(...reader.read(bytes.subarray(at, at + length)))
    at = Math.min(bytes.length, at + length)
  }
  return [...blocks, ...reader.read(bytes.subarray(at)), ...reader.end()]
}
const eventsIn = (blocks: readonly SseBlock[]) => blocks.flatMap(({ event }) => (event ? [event.data] : []))

describe('SSE reader', () => {
  const rows: [string, string, string[], number][] = [
    ['of one event', 'data: a\n\n', ['a'], 1],
    ['with a name', 'event: x\ndata: a\n\n', ['a'], 1],
    ['of several lines', 'data: a\ndata: b\n\n', ['a\nb'], 1],
    ['with Windows line ends', 'data: a\r\n\r\ndata: b\r\n\r\n', ['a', 'b'], 2],
    ['with old Mac line ends', 'data: a\r\rdata: b\r\r', ['a', 'b'], 2],
    ['with mixed line ends', 'data: a\r\n\ndata: b\n\r\ndata: c\n\n', ['a', 'b', 'c'], 3],
    ['with comments', ': hello\n\ndata: a\n\n', ['a'], 2],
    ['with a comment before its data', ': hello\ndata: a\n\n', ['a'], 1],
    ['with more blank lines', '\n\ndata: a\n\n\n\n', ['a'], 3],
    ['with a byte order mark', '\ufeffdata: a\n\n', ['a'], 1],
    ['that is truncated', 'data: a\n\ndata: b', ['a'], 2],
    ['that is truncated before the blank line', 'data: a\n\ndata: b\n', ['a'], 2],
    ['without content', '', [], 0],
  ]
  test.each(rows)('reads a stream %s', (_, text, events, count) => {
    for (const lengths of [[], [...text].map(() => 1)]) {
      const blocks = blocksOf(text, lengths)
      expect(blocks.map((block) => block.text).join('')).toBe(text)
      expect(eventsIn(blocks)).toEqual(events)
      expect(blocks).toHaveLength(count)
    }
  })

  property('reads the same however the bytes are split', () => {
    const line = fc.constantFrom('data: a', 'data: "\u{1f600}"', 'data:', ': c', 'event: e', 'id: 1', '', 'x')
    const end = fc.constantFrom('\n', '\r\n', '\r')
    const stream = fc.array(fc.tuple(line, end), { maxLength: 12 }).map((lines) => lines.flat().join(''))
    fc.assert(
      fc.property(stream, fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 40 }), (text, lengths) => {
        const cut = blocksOf(text, lengths)
        expect(cut.map((block) => block.text).join('')).toBe(text)
        expect(eventsIn(cut)).toEqual(eventsIn(blocksOf(text)))
      }),
      { numRuns: runs(500) },
    )
  })
})

property('SSE blocks without a parser: are read as the parser would', () => {
  const line = fc.constantFrom(
    'data: a',
    'data: ',
    'data:b',
    'data',
    'data:  c',
    ': c',
    'event: e',
    '\ufeffdata: d',
    'x',
    '',
  )
  const end = fc.constantFrom('\n', '\n', '\n', '\n\n', '\n\n', '\r', '\r\n')
  const stream = fc.array(fc.tuple(line, end), { maxLength: 12 }).map((lines) => lines.flat().join(''))
  fc.assert(
    fc.property(stream, (text) => {
      const parsed: { event: string | undefined; data: string }[] = []
      const parser = createParser({ onEvent: ({ event, data }) => void parsed.push({ event, data }) })
      parser.feed(text.replaceAll(/\r\n?/g, '\n'))
      const read = blocksOf(text).flatMap(({ event }) => (event ? [{ event: event.event, data: event.data }] : []))
      expect(read).toEqual(parsed)
    }),
    { numRuns: runs(2_000) },
  )
})

property('SSE writer: writes what the reader reads', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue(), { maxLength: 5 }), (values) => {
      const text = values.map((data) => encodeEvent(dataEvent(data, { event: 'x' }))).join('')
      const blocks = blocksOf(text)
      expect(eventsIn(blocks)).toEqual(values.map((data) => JSON.stringify(data)))
      expect(blocks.every(({ event }) => event?.event === 'x')).toBe(true)
    }),
  )
})

test('SSE line: costs its length once in many small chunks, and is rejected without an end', () => {
  const reader = sseReader()
  const piece = encoder.encode('x'.repeat(1024 * 1024))
  expect(reader.read(encoder.encode('data: '))).toEqual([])
  expect(() => {
    for (let count = 0; count < 65; count++) reader.read(piece)
  }).toThrow(EventTooLong)
  expect(reader.pending).toBe(true)
})
