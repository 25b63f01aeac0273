// Requests that OpenAI refuses because of their parameters. Each rule holds for the models that its source is about, and for
// nothing more: a model of a newer family takes what it likes until somebody has seen it refuse.
import { asList, asObject, objectsIn } from '../../lib/values.ts'
import {
  changedNumber,
  type ListedParameterRule,
  modelsNamed,
  numberIn,
  type ParameterRule,
  parameterRules,
  tokensBeyond,
} from './parameter-rule.ts'
import { INVALID_REQUEST, type RequestRejection } from './rule.ts'

const invalid = (param: string | null, code: string | null, message: string): RequestRejection => ({
  ...INVALID_REQUEST,
  code,
  param,
  message,
})
const unsupported = (param: string) =>
  invalid(param, 'unsupported_parameter', `Unsupported parameter: '${param}' is not supported with this model.`)

const models = (...names: string[]) => modelsNamed(names, /-\d{4}-\d{2}-\d{2}/)

const GPT5 = ['gpt-5', 'gpt-5-mini', 'gpt-5-nano']
const GPT4 = ['gpt-4o', 'gpt-4o-mini', 'gpt-4.1', 'gpt-4.1-mini', 'gpt-4.1-nano']
const GPT56 = ['gpt-5.6', 'gpt-5.6-sol', 'gpt-5.6-terra', 'gpt-5.6-luna']

/** `'a', 'b', and 'c'` */
function quotedList(values: readonly string[]): string {
  const quoted = values.map((value) => `'${value}'`)
  return quoted.length < 2 ? quoted.join('') : `${quoted.slice(0, -1).join(', ')}, and ${quoted.at(-1)}`
}

/** Whether a request asks for reasoning by itself. */
const reasons = ({ reasoning_effort: effort }: Readonly<Record<string, unknown>>) =>
  typeof effort === 'string' && effort !== 'none'

const hasFunctions = ({ tools }: Readonly<Record<string, unknown>>) =>
  objectsIn(tools).some(({ type }) => type === 'function')

/** The rejection of a temperature that is not the default. */
function defaultTemperature(temperature: unknown): RequestRejection | undefined {
  const value = changedNumber(temperature)
  if (value === undefined) return undefined
  const message = `Unsupported value: 'temperature' does not support ${value} with this model. Only the default (1) value is supported.`
  return invalid('temperature', 'unsupported_value', message)
}

/** A rule about the efforts that a model takes, in chat completions or in responses. */
const effortRule = (
  param: 'reasoning_effort' | 'reasoning.effort',
  model: string,
  efforts: readonly string[],
  { id, source }: Pick<ListedParameterRule, 'id' | 'source'>,
): ListedParameterRule => ({
  id,
  models: models(model),
  source,
  check({ reasoning_effort, reasoning }) {
    const isChat = param === 'reasoning_effort'
    const effort = isChat ? reasoning_effort : asObject(reasoning)?.effort
    if (typeof effort !== 'string' || efforts.includes(effort)) return undefined
    const problem = isChat
      ? `'reasoning_effort' does not support '${effort}' with this model`
      : `'${effort}' is not supported with the '${model}' model`
    const message = `Unsupported value: ${problem}. Supported values are: ${quotedList(efforts)}.`
    return invalid(param, 'unsupported_value', message)
  },
})

const chatParameters = parameterRules('chat', [
  {
    id: 'chat-max-tokens',
    models: models('o1', 'o3', 'o3-mini', 'o4-mini', ...GPT5, 'gpt-5.1', 'gpt-5.2', 'gpt-5.4', 'gpt-5.4-mini'),
    // Also https://github.com/teilomillet/gollm/issues/33 (o1, o3-mini).
    // Also https://github.com/memochou1993/gpt-ai-assistant/issues/361 (o3).
    // Also https://github.com/ServiceNow/AgentLab/issues/251 (o4-mini).
    // Also https://github.com/langflow-ai/openrag/issues/398 (gpt-5-mini).
    // Also https://github.com/rubyonai/chatgpt-ruby/issues/18 (gpt-5-nano).
    // Also https://github.com/fish2018/YPrompt/issues/26 (gpt-5.1).
    // Also https://github.com/Natively-AI-assistant/natively-cluely-ai-assistant/issues/20 (gpt-5.2).
    // Also https://github.com/koosoli/ESPHomeDesigner/issues/379 (gpt-5.4).
    source: 'https://github.com/griptape-ai/ComfyUI-Griptape/issues/312',
    check({ max_tokens: most }) {
      if (numberIn(most) === undefined) return undefined
      const { message, ...refusal } = unsupported('max_tokens')
      return { ...refusal, message: `${message} Use 'max_completion_tokens' instead.` }
    },
  },
  {
    id: 'chat-both-token-limits',
    models: models('gpt-4.1'),
    source: 'https://github.com/langchain-ai/langgraph/issues/5943',
    check({ max_tokens: most, max_completion_tokens: other }) {
      if (numberIn(most) === undefined || numberIn(other) === undefined) return undefined
      const message = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
      return invalid('max_tokens', 'invalid_parameter_combination', message)
    },
  },
  {
    id: 'chat-max-tokens-too-large',
    models: models(...GPT4),
    // Also https://github.com/tailcallhq/forgecode/issues/1185 (gpt-4o).
    source: 'https://github.com/opencode-ai/opencode/issues/140',
    check({ max_tokens: asked }, { limits }) {
      const [most, wanted] = [limits?.maxOutput, numberIn(asked)]
      if (most === undefined || wanted === undefined || wanted <= most) return undefined
      const message = `max_tokens is too large: ${wanted}. This model supports at most ${most} completion tokens, whereas you provided ${wanted}.`
      return invalid('max_tokens', 'invalid_value', message)
    },
  },
  {
    id: 'chat-temperature',
    models: models('o1-mini', 'o1-preview', 'o3', 'o4-mini', ...GPT5),
    // Also https://github.com/diffbot/code-gpt-docs/issues/445 (gpt-5).
    // Also https://github.com/griptape-ai/griptape/issues/1915 (o4-mini).
    // Also https://github.com/cline/cline/issues/341 (o1-mini, o1-preview).
    source: 'https://github.com/BeehiveInnovations/pal-mcp-server/issues/78',
    check: ({ temperature }) => defaultTemperature(temperature),
  },
  {
    id: 'chat-temperature-while-reasoning',
    models: models('gpt-5.4'),
    source: 'https://github.com/johny-b/llmcomp/issues/69',
    // Without an effort it does not reason, and takes any temperature.
    check: (request) => reasons(request) && defaultTemperature(request.temperature),
  },
  {
    id: 'chat-temperature-unsupported',
    models: models('o3-mini'),
    source: 'https://github.com/npiv/chatblade/issues/100',
    check: ({ temperature }) => changedNumber(temperature) !== undefined && unsupported('temperature'),
  },
  {
    id: 'chat-top-p',
    models: models('o1', 'o1-mini', 'o1-preview', 'o4-mini', 'gpt-5'),
    // Also https://github.com/aandrew-me/tgpt/issues/333 (o1).
    // Also https://github.com/chatboxai/chatbox/issues/2627 (gpt-5).
    source: 'https://github.com/aandrew-me/tgpt/pull/366',
    check: ({ top_p }) => changedNumber(top_p) !== undefined && unsupported('top_p'),
  },
  {
    id: 'chat-stop',
    models: models('o1-mini', 'o1-preview', 'o3', 'o4-mini', ...GPT5),
    // Also https://github.com/crewAIInc/crewAI/issues/2738 (o3).
    // Also https://github.com/griptape-ai/griptape/issues/1915 (o4-mini).
    // Also https://github.com/crewAIInc/crewAI/issues/1323 (o1-mini, o1-preview).
    source: 'https://github.com/huggingface/smolagents/pull/1662',
    check: ({ stop }) => (typeof stop === 'string' || asList(stop).length > 0) && unsupported('stop'),
  },
  {
    id: 'chat-presence-penalty',
    models: models('gpt-5-mini'),
    source: 'https://github.com/nextai-translator/nextai-translator/issues/1781',
    check: ({ presence_penalty: penalty }) => Boolean(numberIn(penalty)) && unsupported('presence_penalty'),
  },
  {
    id: 'chat-parallel-tool-calls',
    models: models('o3-mini', 'o4-mini'),
    // Also https://github.com/browser-use/web-ui/issues/648 (o3-mini).
    source: 'https://github.com/evalstate/fast-agent/issues/279',
    check: ({ parallel_tool_calls: parallel }) => typeof parallel === 'boolean' && unsupported('parallel_tool_calls'),
  },
  {
    id: 'chat-functions-without-effort-none',
    models: models(...GPT56),
    // Also https://github.com/danny-avila/LibreChat/issues/14355 (gpt-5.6-sol).
    // Also https://github.com/livekit/agents/pull/7169 (gpt-5.6-luna).
    // Also https://github.com/GoogleChromeLabs/webmcp-tools/issues/417 (gpt-5.6-terra).
    source: 'https://github.com/BerriAI/litellm/pull/34569',
    check(request, { model }) {
      // It reasons unless it is told not to.
      if (!hasFunctions(request) || request.reasoning_effort === 'none') return undefined
      const message = `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`
      return invalid('reasoning_effort', null, message)
    },
  },
  {
    id: 'chat-functions-while-reasoning',
    models: models('gpt-5.4'),
    source: 'https://github.com/pipecat-ai/pipecat/issues/4043',
    check(request, { model }) {
      if (!hasFunctions(request) || !reasons(request)) return undefined
      const message = `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions. Please use /v1/responses instead.`
      return invalid('reasoning_effort', null, message)
    },
  },
  {
    id: 'chat-effort-unrecognized',
    models: models('gpt-4o', 'gpt-4o-mini'),
    // Also https://github.com/AAswordman/Operit/issues/1048 (gpt-4o).
    source: 'https://github.com/davidmigloz/langchain_dart/issues/712',
    check: ({ reasoning_effort: effort }) =>
      typeof effort === 'string' && invalid(null, null, 'Unrecognized request argument supplied: reasoning_effort'),
  },
  effortRule('reasoning_effort', 'gpt-5.1', ['none', 'low', 'medium', 'high'], {
    id: 'chat-effort-gpt-5.1',
    source: 'https://github.com/cline/cline/issues/7519',
  }),
  effortRule('reasoning_effort', 'gpt-5.2-chat-latest', ['medium'], {
    id: 'chat-effort-gpt-5.2-chat',
    source: 'https://github.com/egoist/chatwise-releases/issues/1257',
  }),
  {
    id: 'chat-input-tokens',
    countsInput: true,
    models: models(...GPT5),
    source: 'https://github.com/cline/cline/issues/5474',
    check(request, facts) {
      const limit = facts.limits?.maxInput
      const tokens = tokensBeyond(limit, request, facts)
      if (tokens === undefined) return undefined
      const message = `Input tokens exceed the configured limit of ${limit} tokens. Your messages resulted in ${tokens} tokens. Please reduce the length of the messages.`
      return invalid('messages', 'context_length_exceeded', message)
    },
  },
  {
    id: 'chat-context-length',
    countsInput: true,
    models: models(...GPT4, 'gpt-4-turbo', 'gpt-4', 'gpt-3.5-turbo'),
    // Also https://github.com/jefferson-calmon/codocx/issues/6 (128,000 tokens).
    source: 'https://github.com/crewAIInc/crewAI-examples/issues/121',
    check(request, facts) {
      const limit = facts.limits?.context
      const tokens = tokensBeyond(limit, request, facts)
      if (tokens === undefined) return undefined
      const message = `This model's maximum context length is ${limit} tokens. However, your messages resulted in ${tokens} tokens. Please reduce the length of the messages.`
      return invalid('messages', 'context_length_exceeded', message)
    },
  },
])

const responsesParameters = parameterRules('responses', [
  {
    id: 'responses-temperature',
    models: models(...GPT5, 'gpt-5.2-codex'),
    // Also https://github.com/OpenHands/software-agent-sdk/issues/1837 (gpt-5.2-codex).
    source: 'https://github.com/JetBrains/koog/issues/1263',
    check: ({ temperature }) =>
      changedNumber(temperature) !== undefined && { ...unsupported('temperature'), code: null },
  },
  {
    id: 'responses-max-output-tokens-too-small',
    models: /^(?:gpt-|o\d)/,
    source: 'https://github.com/vectorize-io/hindsight/issues/58',
    check({ max_output_tokens: most }) {
      const value = numberIn(most)
      if (value === undefined || value >= MIN_OUTPUT) return undefined
      const message = `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= ${MIN_OUTPUT}, but got ${value} instead.`
      return invalid('max_output_tokens', 'integer_below_min_value', message)
    },
  },
  {
    id: 'responses-effort-unsupported',
    models: models('gpt-4.1'),
    source: 'https://github.com/BoundaryML/baml/pull/2708',
    check: ({ reasoning }) => typeof asObject(reasoning)?.effort === 'string' && unsupported('reasoning.effort'),
  },
  effortRule('reasoning.effort', 'gpt-5.1', ['none', 'low', 'medium', 'high'], {
    id: 'responses-effort-gpt-5.1',
    source: 'https://github.com/openai/openai-agents-python/issues/2089',
  }),
  effortRule('reasoning.effort', 'gpt-5.1-codex', ['low', 'medium', 'high'], {
    id: 'responses-effort-gpt-5.1-codex',
    source: 'https://github.com/openai/codex/issues/6647',
  }),
  {
    id: 'responses-context-length',
    countsInput: true,
    models: models(...GPT5, 'gpt-5.1', 'gpt-5.2'),
    // Also https://github.com/dyad-sh/dyad/issues/1672.
    source: 'https://github.com/anomalyco/opencode/issues/6071',
    check(request, facts) {
      // The API itself leaves out the oldest items then.
      if (request.truncation === 'auto') return undefined
      if (tokensBeyond(facts.limits?.maxInput, request, facts) === undefined) return undefined
      const message = 'Your input exceeds the context window of this model. Please adjust your input and try again.'
      return invalid('input', 'context_length_exceeded', message)
    },
  },
])

/** The rules about parameters, in the order in which they are tried. */
export const openaiParameters: readonly ParameterRule[] = [...chatParameters, ...responsesParameters]

/** The fewest tokens of output that a request for a response may allow. */
const MIN_OUTPUT = 16
