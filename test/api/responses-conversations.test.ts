// Model responses that continue stored ones.
import { afterAll, describe, expect, test } from 'bun:test'
import { lastResponse, responsesApp, user, weather, whole } from '../support/responses.ts'

const app = responsesApp()
const { ask, answerTo } = app
afterAll(app.close)

describe('responses conversation', () => {
  test('counts its turns and tokens', async () => {
    const first = await answerTo({ input: 'number 1', instructions: 'Only here.' })
    const second = await answerTo({ input: [user('number 2')], previous_response_id: first.id })
    const third = await answerTo({ input: 'number 3', previous_response_id: second.id })
    expect(third.output_text).toBe('Third, with 3.')
    expect(third.previous_response_id).toBe(second.id)
    const tokens = [first, second, third].map((response) => response.usage?.input_tokens ?? 0)
    const ownTokens = tokens[2] ?? 0
    expect(ownTokens).toBeGreaterThan((tokens[1] ?? 0) + (second.usage?.output_tokens ?? 0))
    // Instructions are not carried over, so the second input is smaller than the first one with its answer.
    expect(tokens[1]).toBeLessThan((tokens[0] ?? 0) + (first.usage?.output_tokens ?? 0) + 10)
    // Two can continue the same response.
    const branch = await answerTo({ input: 'number 33', previous_response_id: second.id })
    expect(branch.output_text).toBe('Third, with 33.')
  })

  test('looks up one response for the last call of a long chain', async () => {
    const store = app.understudy.sessions.get('default').keyValues
    const { get } = store
    let lookups = 0
    store.get = (...asked) => {
      lookups++
      return get(...asked)
    }
    let id: string | undefined
    for (let turn = 1; turn <= 50; turn++) {
      lookups = 0
      const response = await answerTo({ input: `turn ${turn}`, ...(id ? { previous_response_id: id } : {}) })
      if (turn > 1) expect(lookups).toBe(1)
      expect(response.output_text === 'Fifty turns.').toBe(turn === 50)
      id = response.id
    }
    store.get = get
  })

  test('applies instructions to one call and developer messages to all later ones', async () => {
    const told = [{ role: 'developer', content: 'Be brief.' }, user('x')]
    const first = await ask({ input: told })
    const { id } = whole(first)
    const second = await ask({ input: 'y', previous_response_id: id })
    const brief = await ask({ input: 'x', instructions: 'Be brief.' })
    const after = await ask({ input: 'y', previous_response_id: whole(brief).id })
    const names = [first, second, brief, after].map((answer) => answer.headers.get('x-understudy-fixture'))
    expect(names).toEqual(['brief', 'brief', 'brief', 'generated'])
  })

  test.each([false, true])('completes a tool round trip over a stored response (stream: %p)', async (stream) => {
    const asked = await ask({ input: 'How is the weather?', tools: [weather], stream })
    const made = stream ? lastResponse(asked) : whole(asked)
    const [item] = made.output
    if (item?.type !== 'function_call') throw new Error(`a call was expected, not ${item?.type}`)
    const output = { type: 'function_call_output', call_id: item.call_id, output: '{"degrees":17}' }
    const told = await answerTo({ input: [output], previous_response_id: made.id, tools: [weather] })
    expect(told.output_text).toBe('It is 17 degrees in Utrecht.')
    // The same with a reference to the call instead of the response, as the AI SDK does it.
    const referred = { input: [user('weather?'), { type: 'item_reference', id: item.id }, output], tools: [weather] }
    const again = await answerTo(referred)
    const spelled = await answerTo({ ...referred, input: [user('weather?'), item, output] })
    expect(again.output_text).toBe('It is 17 degrees in Utrecht.')
    expect(again.usage?.input_tokens).toBe(spelled.usage?.input_tokens ?? 0)
  })

  const unknown: [string, () => Promise<string>, Record<string, string>][] = [
    ['that was never created', async () => 'resp_01JGFJJZ00ZZZZZZZZZZZZZZZZ', {}],
    ['that was not stored', async () => (await answerTo({ input: 'Say hi', store: false })).id, {}],
    ['of another session', async () => (await answerTo({ input: 'Say hi' })).id, { 'x-understudy-session': 'other' }],
  ]
  test.each(unknown)('rejects a response %s', async (_, make, headers) => {
    const id = await make()
    const answer = await ask({ input: 'x', previous_response_id: id }, headers)
    expect(answer.status).toBe(400)
    const about = { code: 'previous_response_not_found', param: 'previous_response_id' }
    expect(answer.json().error).toMatchObject({ ...about, message: `Previous response with id '${id}' not found.` })
  })
})
