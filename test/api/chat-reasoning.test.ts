// Reasoning: how hard a call or its model thinks, what is shown of it, and its tokens.
import { afterAll, describe, expect, test } from 'bun:test'
import { createTestApp } from '../support/app.ts'
import { both, FIXTURES, messageOf, refused, streamed, user, whole } from '../support/chat.ts'

const app = createTestApp({ fixtures: [FIXTURES] })
afterAll(app.close)

const THOUGHT = 'one two three four five'
const tokensOf = async (patch: object) => {
  const completion = await both(app, patch)
  return { message: messageOf(completion), tokens: completion.usage.completion_tokens_details.reasoning_tokens }
}

describe('reasoning_effort', () => {
  test('lengthens the reasoning when higher', async () => {
    const counts: number[] = []
    for (const reasoning_effort of ['none', 'minimal', 'low', 'medium', 'high', 'xhigh']) {
      const { message, tokens } = await tokensOf({ reasoning_effort })
      expect(message.content).toContain('"What is up?"')
      if (reasoning_effort === 'none') expect(message).not.toHaveProperty('reasoning')
      else expect(message.reasoning).toContain('"What is up?"')
      counts.push(tokens)
    }
    expect(counts[0]).toBe(0)
    expect(counts).toEqual(counts.toSorted((a, b) => a - b))
    expect(new Set(counts).size).toBe(6)
  })

  const rows: [string, string[]][] = [
    ['openai/gpt-5.1', ['none', 'low', 'medium', 'high']],
    ['openai/gpt-5.1-codex-max', ['none', 'low', 'medium', 'high', 'xhigh']],
    ['openai/gpt-5', ['minimal', 'low', 'medium', 'high']],
    ['openai/gpt-5-2025-08-07', ['minimal', 'low', 'medium', 'high']],
    ['openai/gpt-5-pro', ['high']],
    ['openai/o3-mini', ['low', 'medium', 'high']],
  ]
  const all = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh']
  test.each(rows)('of %s accepts %p and lists the valid values', async (model, efforts) => {
    for (const reasoning_effort of efforts) await whole(app, { model, reasoning_effort })
    for (const reasoning_effort of all.filter((effort) => !efforts.includes(effort))) {
      const error = await refused(app, { model, reasoning_effort })
      expect(error).toMatchObject({ param: 'reasoning_effort', code: 'unsupported_value' })
      for (const said of [...efforts, model, reasoning_effort]) expect(error.message).toContain(said)
    }
  })

  test.each([
    ['openai/gpt-5.1', undefined],
    ['openai/gpt-4o', undefined],
    ['anthropic/claude-sonnet-4', undefined],
    ['openai/gpt-5', 'medium'],
    ['openai/o3', 'medium'],
    ['openai/gpt-5-pro', 'high'],
  ])('of %s defaults to %p', async (model, effort) => {
    for (const reasoning_effort of [undefined, null]) {
      const untold = await tokensOf({ model, reasoning_effort })
      if (effort) expect(untold).toEqual(await tokensOf({ model, reasoning_effort: effort }))
      else expect(untold.tokens).toBe(0)
    }
  })
})

describe('thinking', () => {
  const rows: [string, object, string | undefined][] = [
    ['disabled', { thinking: { type: 'disabled' } }, undefined],
    ['an effort of none', { reasoning_effort: 'none' }, undefined],
    ['adaptive', { thinking: { type: 'adaptive' } }, THOUGHT],
    ['a large budget', { thinking: { type: 'enabled', budget_tokens: 1024 } }, THOUGHT],
    ['a small budget', { thinking: { type: 'enabled', budget_tokens: 3 } }, 'one two three'],
    ['a level', { thinking: { type: 'enabled', budget_tokens: 4, thinking_level: 'low' } }, 'one two three four'],
    ['the default', {}, THOUGHT],
  ]
  test.each(rows)('shows of a fixture what %s allows', async (_, patch, reasoning) => {
    const { message, tokens } = await tokensOf({ ...patch, ...user('think') })
    expect(message.content).toBe('Done.')
    expect(message.reasoning).toBe(reasoning as string)
    expect(tokens).toBe(reasoning?.split(' ').length ?? 0)
  })

  test('is generated within its budget, with a signature to send back', async () => {
    const thinking = { type: 'enabled', budget_tokens: 6 }
    const { message, tokens } = await tokensOf({ thinking })
    expect(tokens).toBe(6)
    expect(message.reasoning_signature).toMatch(/^[\w+/]{8,}=*$/)
    const part = { type: 'reasoning', reasoning: message.reasoning, signature: message.reasoning_signature }
    const messages = [
      ...user('What is up?').messages,
      { role: 'assistant', content: [part, { type: 'text', text: 'x' }, { type: 'redacted_reasoning', data: 'x' }] },
      ...user('And now?').messages,
    ]
    expect(messageOf(await both(app, { thinking, messages })).content).toContain('"And now?"')
  })

  test('comes before the text in a stream', async () => {
    const { chunks } = await streamed(app, user('think'))
    const kinds = chunks.map(({ choices }) => {
      const { reasoning, content } = choices[0]?.delta ?? {}
      return reasoning ? 'r' : content ? 'c' : '-'
    })
    expect(kinds.join('')).toMatch(/^-r{5}cc--$/)
  })

  test('counts towards the limit, so that the response may be empty', async () => {
    const completion = await both(app, { max_completion_tokens: 3, ...user('think') })
    expect(completion.choices[0]).toMatchObject({
      finish_reason: 'length',
      message: { content: '', reasoning: 'one two three' },
    })
    expect(completion.usage).toMatchObject({
      completion_tokens: 3,
      completion_tokens_details: { reasoning_tokens: 3 },
    })
  })

  const wrong: [string, unknown, string][] = [
    ['a missing budget', { type: 'enabled' }, 'thinking.budget_tokens'],
    ['a budget of 0', { type: 'enabled', budget_tokens: 0 }, 'thinking.budget_tokens'],
    ['an unknown type', { type: 'on' }, 'thinking.type'],
    ['a missing type', {}, 'thinking.type'],
    ['an unknown level', { type: 'enabled', budget_tokens: 9, thinking_level: 'xhigh' }, 'thinking.thinking_level'],
  ]
  test.each(wrong)('is rejected with %s', async (_, thinking, param) => {
    expect((await refused(app, { thinking })).param).toBe(param)
  })
})
