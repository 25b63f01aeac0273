// Which tool calls of an answer are cut off, whole and streamed, in each API.
import { describe, expect, test } from 'bun:test'
import { cutCalls, cutCallsSent } from '../../src/lib/cut-calls.ts'

const chat = (text: string) => ({
  choices: [{ message: { tool_calls: [{ id: 'call_1', function: { name: 'f', arguments: text } }] } }],
})
const response = (text: unknown) => ({ output: [{ type: 'function_call', call_id: 'call_1', arguments: text }] })
const message = (input: unknown, stop_reason = 'tool_use') => ({
  content: [{ type: 'tool_use', id: 'toolu_1', input }],
  stop_reason,
})

describe('cut calls', () => {
  test.each([
    ['{"a":1', true],
    ['{', true],
    ['{"a":"b', true],
    ['{"a":"}', true],
    ['{"a":"\\"}', true],
    ['[{"a":1}', true],
    ['{"a":1}', false],
    ['', false],
    ['{}', false],
    // Invalid, and not cut off.
    ['{"a":1,}', false],
    ["{'a': 1}", false],
    ['```json\n{"a":1}\n```', false],
    ['"{\\"a\\":1}"', false],
    ['{"a":1}}', false],
    ['text', false],
  ])('finds %j cut: %p', (text, isCut) => {
    const expected = isCut ? ['1'] : []
    expect([cutCalls(chat(text)), cutCalls(response(text))]).toEqual([expected, expected])
    expect(cutCalls(message(text))).toEqual(expected)
  })

  test('finds the last call of a message without its input where the limit ended it', () => {
    expect(cutCalls(message({}, 'max_tokens'))).toEqual(['1'])
    expect(cutCalls(message({}))).toEqual([])
    expect(cutCalls(message({ a: 1 }, 'max_tokens'))).toEqual([])
  })

  test.each([
    [null],
    [5],
    ['text'],
    [[]],
    [{ choices: [null, { message: 5 }] }],
    [{ output: [5] }],
    [{ content: [{ type: 'tool_use' }] }],
  ])('finds none in %j', (answer) => {
    expect(cutCalls(answer)).toEqual([])
    expect(cutCallsSent(JSON.stringify(answer))).toEqual([])
  })
})

const stream = (...events: object[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
const delta = (...tool_calls: object[]) => ({ choices: [{ index: 0, delta: { tool_calls } }] })

describe('cut calls of a sent stream', () => {
  test('are found in chat chunks', () => {
    const first = { index: 0, id: 'call_1', function: { name: 'f', arguments: '{"a":' } }
    const second = { index: 1, id: 'call_2', function: { name: 'f', arguments: '{"b"' } }
    const end = { index: 0, function: { arguments: '1}' } }
    expect(cutCallsSent(stream(delta(first), delta(end), delta(second)))).toEqual(['2'])
    expect(cutCallsSent(`${stream(delta(first), delta(second))}data: [DONE]\n\n`)).toEqual(['1', '2'])
  })

  test('are found in events of a response', () => {
    const [item] = response('{"a"').output
    expect(cutCallsSent(stream({ type: 'response.output_item.done', item }))).toEqual(['1'])
  })

  test('are found in events of a message', () => {
    const begin = {
      type: 'content_block_start',
      index: 1,
      content_block: { type: 'tool_use', id: 'toolu_1', input: {} },
    }
    const piece = (partial_json: string) => ({
      type: 'content_block_delta',
      index: 1,
      delta: { type: 'input_json_delta', partial_json },
    })
    expect(cutCallsSent(stream(begin, piece('{"a"')))).toEqual(['1'])
    expect(cutCallsSent(stream(begin, piece('{"a"'), piece(':1}')))).toEqual([])
    expect(cutCallsSent(stream(begin, { type: 'message_delta', delta: { stop_reason: 'max_tokens' } }))).toEqual(['1'])
  })
})
