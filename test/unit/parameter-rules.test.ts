// Rules about parameters: the exact words of each refusal, and what looks similar and is accepted.
import { describe, expect, test } from 'bun:test'
import { modelOf } from '../../src/providers/catalogue.ts'
import { brokenParameterRule, type ParameterRule, tokensBeyond } from '../../src/providers/rules/parameter-rule.ts'
import { anthropicParameters } from '../../src/providers/rules/parameters-anthropic.ts'
import { openaiParameters } from '../../src/providers/rules/parameters-openai.ts'

const RULES = { openai: openaiParameters, anthropic: anthropicParameters }
type Api = ParameterRule['api']
const providerOf = (api: Api) => (api === 'messages' ? 'anthropic' : 'openai')

/** What a provider says of a request for a model whose input has so many tokens. */
function judged(api: Api, model: string, request: Record<string, unknown>, tokens = 10) {
  const provider = providerOf(api)
  const facts = { model, limits: modelOf(`${provider}/${model}`), inputTokens: () => tokens }
  return brokenParameterRule(RULES[provider], api, { model, ...request }, facts)
}

const LONG = { messages: [{ role: 'user', content: 'word '.repeat(300_000) }] }
const LONG_INPUT = { input: 'word '.repeat(300_000) }
const FUNCTION = { tools: [{ type: 'function', function: { name: 'f' } }] }
const BUDGET = (budget_tokens: number) => ({ thinking: { type: 'enabled', budget_tokens }, max_tokens: 4_096 })
const unsupported = (param: string) => `Unsupported parameter: '${param}' is not supported with this model.`
const temperature = (value: number) =>
  `Unsupported value: 'temperature' does not support ${value} with this model. Only the default (1) value is supported.`
const ADAPTIVE =
  '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
const THINKING_TEMPERATURE =
  '`temperature` may only be set to 1 when thinking is enabled or in adaptive mode. Please consult our documentation at https://platform.claude.com/docs/en/build-with-claude/extended-thinking'
const BOTH = '`temperature` and `top_p` cannot both be specified for this model. Please use only one.'

type Refused = [
  rule: string,
  api: Api,
  model: string,
  request: object,
  message: string,
  code: string | null,
  param: string | null,
  tokens?: number,
]
const refused: Refused[] = [
  ...[
    'o1',
    'o3',
    'o3-mini',
    'o4-mini-2025-04-16',
    'gpt-5',
    'gpt-5-mini',
    'gpt-5-nano-2025-08-07',
    'gpt-5.1',
    'gpt-5.4',
  ].map(
    (model): Refused => [
      'chat-max-tokens',
      'chat',
      model,
      { max_tokens: 100 },
      `${unsupported('max_tokens')} Use 'max_completion_tokens' instead.`,
      'unsupported_parameter',
      'max_tokens',
    ],
  ),
  [
    'chat-both-token-limits',
    'chat',
    'gpt-4.1',
    { max_tokens: 1, max_completion_tokens: 1 },
    "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
    'invalid_parameter_combination',
    'max_tokens',
  ],
  ...(
    [
      ['gpt-4o', 16_384],
      ['gpt-4o-2024-05-13', 4_096],
      ['gpt-4o-mini', 16_384],
      ['gpt-4.1-2025-04-14', 32_768],
    ] as const
  ).map(
    ([model, most]): Refused => [
      'chat-max-tokens-too-large',
      'chat',
      model,
      { max_tokens: most + 1 },
      `max_tokens is too large: ${most + 1}. This model supports at most ${most} completion tokens, whereas you provided ${most + 1}.`,
      'invalid_value',
      'max_tokens',
    ],
  ),
  ...['gpt-5', 'gpt-5-mini-2025-08-07', 'o3', 'o4-mini', 'o1-preview'].flatMap((model) =>
    [0, 0.5, 2].map(
      (value): Refused => [
        'chat-temperature',
        'chat',
        model,
        { temperature: value },
        temperature(value),
        'unsupported_value',
        'temperature',
      ],
    ),
  ),
  [
    'chat-temperature-while-reasoning',
    'chat',
    'gpt-5.4',
    { temperature: 0, reasoning_effort: 'low' },
    temperature(0),
    'unsupported_value',
    'temperature',
  ],
  [
    'chat-temperature-unsupported',
    'chat',
    'o3-mini',
    { temperature: 0.2 },
    unsupported('temperature'),
    'unsupported_parameter',
    'temperature',
  ],
  ...['o1', 'o4-mini', 'gpt-5'].map(
    (model): Refused => [
      'chat-top-p',
      'chat',
      model,
      { top_p: 0.9 },
      unsupported('top_p'),
      'unsupported_parameter',
      'top_p',
    ],
  ),
  ...['gpt-5', 'gpt-5-nano', 'o3', 'o4-mini'].flatMap((model) =>
    ['END', ['a', 'b']].map(
      (stop): Refused => ['chat-stop', 'chat', model, { stop }, unsupported('stop'), 'unsupported_parameter', 'stop'],
    ),
  ),
  [
    'chat-presence-penalty',
    'chat',
    'gpt-5-mini',
    { presence_penalty: 0.5 },
    unsupported('presence_penalty'),
    'unsupported_parameter',
    'presence_penalty',
  ],
  ...['o3-mini', 'o4-mini'].map(
    (model): Refused => [
      'chat-parallel-tool-calls',
      'chat',
      model,
      { parallel_tool_calls: false },
      unsupported('parallel_tool_calls'),
      'unsupported_parameter',
      'parallel_tool_calls',
    ],
  ),
  ...['gpt-5.6', 'gpt-5.6-sol', 'gpt-5.6-terra', 'gpt-5.6-luna'].flatMap((model) =>
    [{}, { reasoning_effort: 'low' }].map(
      (effort): Refused => [
        'chat-functions-without-effort-none',
        'chat',
        model,
        { ...FUNCTION, ...effort },
        `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`,
        null,
        'reasoning_effort',
      ],
    ),
  ),
  [
    'chat-functions-while-reasoning',
    'chat',
    'gpt-5.4',
    { ...FUNCTION, reasoning_effort: 'medium' },
    'Function tools with reasoning_effort are not supported for gpt-5.4 in /v1/chat/completions. Please use /v1/responses instead.',
    null,
    'reasoning_effort',
  ],
  [
    'chat-effort-unrecognized',
    'chat',
    'gpt-4o',
    { reasoning_effort: 'low' },
    'Unrecognized request argument supplied: reasoning_effort',
    null,
    null,
  ],
  [
    'chat-effort-gpt-5.1',
    'chat',
    'gpt-5.1-2025-11-13',
    { reasoning_effort: 'minimal' },
    "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. Supported values are: 'none', 'low', 'medium', and 'high'.",
    'unsupported_value',
    'reasoning_effort',
  ],
  [
    'chat-effort-gpt-5.2-chat',
    'chat',
    'gpt-5.2-chat-latest',
    { reasoning_effort: 'high' },
    "Unsupported value: 'reasoning_effort' does not support 'high' with this model. Supported values are: 'medium'.",
    'unsupported_value',
    'reasoning_effort',
  ],
  [
    'chat-input-tokens',
    'chat',
    'gpt-5-2025-08-07',
    LONG,
    'Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 289650 tokens. Please reduce the length of the messages.',
    'context_length_exceeded',
    'messages',
    289_650,
  ],
  [
    'chat-context-length',
    'chat',
    'gpt-4o',
    LONG,
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130043 tokens. Please reduce the length of the messages.",
    'context_length_exceeded',
    'messages',
    130_043,
  ],
  ...['gpt-5', 'gpt-5.2-codex'].map(
    (model): Refused => [
      'responses-temperature',
      'responses',
      model,
      { temperature: 0.2 },
      unsupported('temperature'),
      null,
      'temperature',
    ],
  ),
  [
    'responses-max-output-tokens-too-small',
    'responses',
    'gpt-4o',
    { max_output_tokens: 10 },
    "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 10 instead.",
    'integer_below_min_value',
    'max_output_tokens',
  ],
  [
    'responses-effort-unsupported',
    'responses',
    'gpt-4.1',
    { reasoning: { effort: 'low' } },
    unsupported('reasoning.effort'),
    'unsupported_parameter',
    'reasoning.effort',
  ],
  [
    'responses-effort-gpt-5.1',
    'responses',
    'gpt-5.1',
    { reasoning: { effort: 'minimal' } },
    "Unsupported value: 'minimal' is not supported with the 'gpt-5.1' model. Supported values are: 'none', 'low', 'medium', and 'high'.",
    'unsupported_value',
    'reasoning.effort',
  ],
  [
    'responses-effort-gpt-5.1-codex',
    'responses',
    'gpt-5.1-codex',
    { reasoning: { effort: 'none' } },
    "Unsupported value: 'none' is not supported with the 'gpt-5.1-codex' model. Supported values are: 'low', 'medium', and 'high'.",
    'unsupported_value',
    'reasoning.effort',
  ],
  [
    'responses-context-length',
    'responses',
    'gpt-5.2',
    LONG_INPUT,
    'Your input exceeds the context window of this model. Please adjust your input and try again.',
    'context_length_exceeded',
    'input',
    272_001,
  ],
  ...(
    [
      ['claude-opus-4-5-20251101', 64_000],
      ['claude-sonnet-4-20250514', 64_000],
      ['claude-opus-4-1', 32_000],
      ['claude-3-opus-20240229', 4_096],
      ['claude-sonnet-5', 128_000],
    ] as const
  ).map(
    ([model, most]): Refused => [
      'messages-max-tokens-too-large',
      'messages',
      model,
      { max_tokens: most + 1 },
      `max_tokens: ${most + 1} > ${most}, which is the maximum allowed number of output tokens for ${model}`,
      null,
      null,
    ],
  ),
  ...['claude-opus-4-7', 'claude-opus-4-8', 'claude-sonnet-5', 'claude-opus-5', 'claude-fable-5'].map(
    (model): Refused => [
      'messages-temperature-deprecated',
      'messages',
      model,
      { temperature: 0 },
      '`temperature` is deprecated for this model.',
      null,
      null,
    ],
  ),
  [
    'messages-top-p-deprecated',
    'messages',
    'claude-opus-4-8',
    { top_p: 0.5 },
    '`top_p` is deprecated for this model.',
    null,
    null,
  ],
  [
    'messages-top-k-deprecated',
    'messages',
    'claude-opus-4-7',
    { top_k: 5 },
    '`top_k` is deprecated for this model.',
    null,
    null,
  ],
  ...[
    'claude-sonnet-4-5-20250929',
    'claude-opus-4-5-20251101',
    'claude-sonnet-4-6',
    'claude-opus-4-1',
    'claude-haiku-4-5',
  ].map(
    (model): Refused => [
      'messages-temperature-and-top-p',
      'messages',
      model,
      { temperature: 0.5, top_p: 0.9 },
      BOTH,
      null,
      null,
    ],
  ),
  ...['claude-opus-4-7', 'claude-opus-4-8', 'claude-sonnet-5', 'claude-opus-5'].map(
    (model): Refused => [
      'messages-thinking-enabled-unsupported',
      'messages',
      model,
      BUDGET(2_048),
      ADAPTIVE,
      null,
      null,
    ],
  ),
  [
    'messages-budget-with-adaptive',
    'messages',
    'claude-opus-4-6',
    { thinking: { type: 'adaptive', budget_tokens: 16_000 }, max_tokens: 32_000 },
    'thinking.adaptive.budget_tokens: Extra inputs are not permitted',
    null,
    null,
  ],
  [
    'messages-budget-too-small',
    'messages',
    'claude-sonnet-4-6',
    BUDGET(512),
    'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024',
    null,
    null,
  ],
  [
    'messages-budget-not-below-max-tokens',
    'messages',
    'claude-sonnet-4-20250514',
    BUDGET(4_096),
    '`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size',
    null,
    null,
  ],
  ...['claude-opus-4-8', 'claude-sonnet-4-6'].map(
    (model): Refused => [
      'messages-temperature-while-thinking',
      'messages',
      model,
      { thinking: { type: 'adaptive' }, temperature: 0.5 },
      THINKING_TEMPERATURE,
      null,
      null,
    ],
  ),
  [
    'messages-temperature-while-thinking',
    'messages',
    'claude-3-7-sonnet-latest',
    { ...BUDGET(1_024), temperature: 0 },
    THINKING_TEMPERATURE,
    null,
    null,
  ],
  [
    'messages-top-k-while-thinking',
    'messages',
    'claude-opus-4-1-20250805',
    { ...BUDGET(1_024), top_k: 40 },
    '`top_k` must be unset when thinking is enabled. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#important-considerations-when-using-extended-thinking',
    null,
    null,
  ],
  ...['any', 'tool'].map(
    (type): Refused => [
      'messages-forced-tool-while-thinking',
      'messages',
      'claude-sonnet-4-20250514',
      { ...BUDGET(1_024), tools: [{ name: 'f' }], tool_choice: { type, name: 'f' } },
      'Thinking may not be enabled when tool_choice forces tool use.',
      null,
      null,
    ],
  ),
  [
    'messages-prompt-too-long',
    'messages',
    'claude-opus-4-5',
    LONG,
    'prompt is too long: 208310 tokens > 200000 maximum',
    null,
    null,
    208_310,
  ],
]

/** A request as a title shows it. */
const shown = (request: object) => JSON.stringify(request).slice(0, 80)

describe('parameter rule', () => {
  const rows = refused.map((row): [string, Refused] => [`${row[0]}: refuses ${row[2]} ${shown(row[3])}`, row])
  test.each(rows)('%s', (_, [id, api, model, request, message, code, param, tokens]) => {
    const broken = judged(api, model, request as Record<string, unknown>, tokens)
    expect(broken?.rejection).toEqual({ status: 400, type: 'invalid_request_error', code, param, message })
    expect(broken?.rule.id).toBe(id)
  })

  test('has an id of its own, a source, and a row here', () => {
    const rules = Object.values(RULES).flat()
    const ids = rules.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect([...new Set(refused.map(([id]) => id))].toSorted()).toEqual(ids.toSorted())
    for (const { source } of rules) expect(source).toMatch(/^https:\/\/(?:github\.com|platform\.claude\.com)\//)
    for (const { models } of rules) expect(models.flags).toBe('')
  })
})

type Accepted = [api: Api, model: string, request: object, tokens?: number]
const accepted: Accepted[] = [
  ['chat', 'gpt-5-chat-latest', { temperature: 0.2, top_p: 0.5, stop: 'END', max_tokens: 100 }],
  ['chat', 'gpt-5', { temperature: 1, top_p: 1, presence_penalty: 0, stop: null, max_tokens: null }],
  ['chat', 'gpt-5', { temperature: null, stop: [], max_completion_tokens: 100 }],
  ['chat', 'gpt-5.1', { temperature: 0, reasoning_effort: 'none' }],
  ['chat', 'gpt-5.1', { temperature: 0 }],
  ['chat', 'gpt-5.4', { temperature: 0, reasoning_effort: 'none', ...FUNCTION }],
  ['chat', 'gpt-5.4', { temperature: 0, ...FUNCTION }],
  ['chat', 'gpt-5.6-sol', { reasoning_effort: 'none', ...FUNCTION }],
  ['chat', 'gpt-5.6-sol', { reasoning_effort: 'high', tools: [] }],
  ['chat', 'gpt-5.7', { temperature: 0, max_tokens: 9_000_000, reasoning_effort: 'absurd', ...FUNCTION }],
  ['chat', 'gpt-6-sol', { temperature: 0, max_tokens: 100 }],
  ['chat', 'gpt-5-pro-max', { temperature: 0, max_tokens: 100 }],
  ['chat', 'gpt-4o', { temperature: 2, max_tokens: 16_384, reasoning_effort: null, parallel_tool_calls: false }],
  ['chat', 'gpt-4o', LONG, 128_000],
  ['chat', 'gpt-4o-2024-05-13', { max_tokens: 4_096 }],
  ['chat', 'gpt-4o-audio-preview', { max_tokens: 100_000 }],
  ['chat', 'ft:gpt-4o-2024-08-06:acme::abc', { max_tokens: 100_000 }],
  ['chat', 'gpt-4.1', { max_tokens: 32_768 }],
  ['chat', 'o3', { parallel_tool_calls: true, max_completion_tokens: 100 }],
  ['chat', 'o3-mini', { temperature: 1 }],
  ['chat', 'gpt-5', LONG, 272_000],
  ['chat', 'gpt-4o', { field_of_next_week: true, messages: [] }],
  ['responses', 'gpt-5', { temperature: 1, max_output_tokens: 16 }],
  ['responses', 'gpt-5.1', { temperature: 0, reasoning: { effort: 'none' } }],
  ['responses', 'gpt-5.1', { reasoning: null, max_output_tokens: null }],
  ['responses', 'gpt-5.2', { ...LONG_INPUT, truncation: 'auto' }, 300_000],
  ['responses', 'gpt-5.6', { ...FUNCTION, reasoning: { effort: 'max' } }],
  ['responses', 'gpt-4o', { reasoning: { effort: 'low' } }],
  ['messages', 'claude-sonnet-4-5', { max_tokens: 64_000, temperature: 0, top_k: 40 }],
  ['messages', 'claude-sonnet-4-5', { temperature: 1, top_p: 0.9 }],
  ['messages', 'claude-sonnet-4-5', { temperature: 0.5, top_p: null }],
  ['messages', 'claude-3-5-haiku-20241022', { temperature: 0.5, top_p: 0.9 }],
  ['messages', 'claude-opus-4-6', { temperature: 0 }],
  ['messages', 'claude-opus-4-8', { temperature: 1, thinking: { type: 'adaptive' } }],
  ['messages', 'claude-opus-4-8', { thinking: { type: 'disabled' }, max_tokens: 128_000 }],
  ['messages', 'claude-3-7-sonnet-20250219', { max_tokens: 128_000 }],
  ['messages', 'claude-sonnet-4-20250514', { ...BUDGET(10_000), tools: [{ name: 'f' }] }],
  ['messages', 'claude-sonnet-4-20250514', { ...BUDGET(1_024), tools: [{ name: 'f' }], tool_choice: { type: 'auto' } }],
  ['messages', 'claude-sonnet-4-20250514', { tools: [{ name: 'f' }], tool_choice: { type: 'any' } }],
  ['messages', 'claude-sonnet-4-5', LONG, 900_000],
  ['messages', 'claude-opus-4-5', LONG, 200_000],
  ['messages', 'claude-opus-4-9', { max_tokens: 500_000, temperature: 0, ...LONG }, 900_000],
  ['messages', 'claude-next-6', { max_tokens: 500_000, temperature: 0, top_k: 5, field_of_next_week: {} }],
  ['messages', 'claude-opus-4-5', { thinking: 'enabled', tool_choice: 'any', max_tokens: 'many', temperature: '0' }],
]

describe('request that providers accept', () => {
  const rows = accepted.map((row): [string, Accepted] => [`${row[0]} with ${row[1]} ${shown(row[2])}`, row])
  test.each(rows)('in %s: breaks no rule', (_, [api, model, request, tokens]) => {
    expect(judged(api, model, request as Record<string, unknown>, tokens)).toBeUndefined()
  })
})

describe('count of input tokens', () => {
  test('is not made for a short request, and once for a long one', () => {
    let counted = 0
    const inputTokens = () => ++counted
    const facts = { model: 'gpt-4o', limits: { context: 128_000 }, inputTokens }
    brokenParameterRule(openaiParameters, 'chat', { messages: [{ role: 'user', content: 'Hello' }] }, facts)
    expect(counted).toBe(0)
    brokenParameterRule(openaiParameters, 'chat', LONG, facts)
    expect(counted).toBe(1)
  })

  test('is never left out for an input that exceeds the limit', () => {
    const texts = ['\u4f60\u597d'.repeat(5_000), 'a '.repeat(5_000), '\u{1F600}'.repeat(3_000), '{}'.repeat(5_000)]
    for (const content of texts) {
      const tokens = [...content].length
      const request = { messages: [{ role: 'user', content }] }
      expect(tokensBeyond(tokens - 1, request, { model: 'm', inputTokens: () => tokens })).toBe(tokens)
    }
    const pictures = Array.from({ length: 10 }, () => ({ type: 'image_url', image_url: { url: 'https://x.invalid/' } }))
    const request = { messages: [{ role: 'user', content: pictures }] }
    expect(tokensBeyond(11_049, request, { model: 'm', inputTokens: () => 11_050 })).toBe(11_050)
  })

  test('takes no longer than the limit is long for a request of a million values', () => {
    const request = { messages: Array.from({ length: 1_000_000 }, () => 0) }
    let reads = 0
    const messages = new Proxy(request.messages, {
      get: (target, key) => {
        reads++
        return Reflect.get(target, key)
      },
    })
    tokensBeyond(1_000, { messages }, { model: 'm', inputTokens: () => 0 })
    expect(reads).toBeLessThan(1_000)
  })
})
