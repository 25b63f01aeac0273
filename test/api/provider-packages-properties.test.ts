// Anthropic and Google through their model packages: whatever they send, a call ends properly, without an internal error, and has its
// trace; what cannot be read says so.
import { afterAll, expect } from 'bun:test'
import fc from 'fast-check'
import { type Change, changeArbitrary, changedBy } from '../support/arbitrary-answers.ts'
import { HELLO } from '../support/forward.ts'
import { dataIn, oddProvider } from '../support/odd-provider.ts'
import { property, runs, test } from '../support/property.ts'

const RUNS = runs(60)
const PATH = '/v2/router/chat/completions'

const usage = { input_tokens: 3, output_tokens: 2 }
const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude',
  content: [
    { type: 'thinking', thinking: 'Hm', signature: 'sig' },
    { type: 'text', text: 'Hi' },
    { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Rome' } },
  ],
  stop_reason: 'tool_use',
  usage,
}
const ANTHROPIC = [
  { type: 'message_start', message: { ...MESSAGE, content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
  { type: 'content_block_stop', index: 0 },
  {
    type: 'content_block_start',
    index: 1,
    content_block: { type: 'tool_use', id: 'toolu_1', name: 'weather', input: {} },
  },
  { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{}' } },
  { type: 'content_block_stop', index: 1 },
  { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage },
  { type: 'message_stop' },
]
const candidate = (parts: object[], finishReason?: string) => ({
  candidates: [{ content: { parts, role: 'model' }, finishReason, index: 0 }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
  modelVersion: 'gemini',
})
const GOOGLE = [
  candidate([{ text: 'Hm', thought: true }]),
  candidate([{ text: 'Hi' }]),
  candidate([{ functionCall: { name: 'weather', args: { city: 'Rome' } } }], 'STOP'),
]
const ROWS: [string, object, object[]][] = [
  ['anthropic', MESSAGE, ANTHROPIC],
  ['google', candidate([{ text: 'Hi' }, { functionCall: { name: 'weather', args: {} } }], 'STOP'), GOOGLE],
]

for (const [kind, whole, events] of ROWS) {
  const odd = oddProvider(kind)
  afterAll(odd.close)
  /** What must hold of every call, whatever came. */
  const hold = async (answer: Awaited<ReturnType<typeof odd.whole>>) => {
    expect(odd.reported.splice(0)).toEqual([])
    expect(answer.status === 200 || (answer.status >= 400 && answer.status !== 500)).toBe(true)
    const trace = await odd.app.traceOf(answer)
    expect(trace.id).toBe(answer.headers.get('x-understudy-trace') ?? 'none')
    return trace
  }

  property(`property: odd whole responses to model packages never cause a server error (${kind})`, () =>
    fc.assert(
      fc.asyncProperty(fc.array(changeArbitrary, { maxLength: 3 }), async (changes) => {
        const sent = changes.reduce<unknown>(changedBy, whole)
        const answer = await odd.whole(PATH, HELLO, JSON.stringify(sent))
        const { outcome } = await hold(answer)
        expect(outcome === 'succeeded').toBe(answer.status === 200)
        if (changes.length === 0) expect(outcome).toBe('succeeded')
      }),
      { numRuns: RUNS },
    ),
  )

  property(`property: odd streams to model packages never cause a server error (${kind})`, () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(events.length - 1), changeArbitrary), { maxLength: 3 }),
        async (all) => {
          const own = (index: number): Change[] => all.flatMap(([at, one]) => (at === index ? [one] : []))
          const sent = events.map((event, index) => JSON.stringify(own(index).reduce<unknown>(changedBy, event)))
          const answer = await odd.stream(PATH, HELLO, sent)
          const { outcome } = await hold(answer)
          if (answer.status !== 200) return
          const told = dataIn(answer.text)
          if (outcome === 'succeeded') return expect(told.at(-1)).toBe('[DONE]')
          expect(JSON.parse(told.at(-1) ?? 'null')).toHaveProperty('error.code')
        },
      ),
      { numRuns: RUNS },
    ),
  )
}

test('model package: makes a response unreadable when it throws', async () => {
  const odd = oddProvider('anthropic')
  for (const sent of [null, 5, [], { content: 'x' }, { ...MESSAGE, content: [null] }]) {
    const answer = await odd.whole(PATH, HELLO, JSON.stringify(sent))
    expect(answer.json()).toMatchObject({ error: { code: 'provider_unreadable' } })
    expect(await odd.app.traceOf(answer)).toMatchObject({ outcome: 'invalid_response' })
  }
  expect(odd.reported).toEqual([])
  await odd.close()
})
