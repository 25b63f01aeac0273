// Requests that Anthropic refuses because of their parameters. Each rule holds for the models that its source is about. Headers
// are not known here, so a limit that a beta header raises is the raised one.
import { asObject } from '../../lib/values.ts'
import {
  changedNumber,
  modelsNamed,
  numberIn,
  type ParameterRule,
  parameterRules,
  tokensBeyond,
} from './parameter-rule.ts'
import { INVALID_REQUEST, type RequestRejection } from './rule.ts'

type Request = Readonly<Record<string, unknown>>

const invalid = (message: string): RequestRejection => ({ ...INVALID_REQUEST, message })
/** The rejection of a parameter that the model no longer takes, if it has a value. */
const deprecated = (param: string, value: number | undefined) =>
  value !== undefined && invalid(`\`${param}\` is deprecated for this model.`)
const models = (...names: string[]) => modelsNamed(names, /-\d{8}|-latest|@\d{8}/)

/** Those that think with a budget of tokens. */
const WITH_BUDGET = models(
  ...['claude-3-7-sonnet', 'claude-opus-4', 'claude-opus-4-0', 'claude-sonnet-4'],
  ...['claude-sonnet-4-0', 'claude-opus-4-1', 'claude-opus-4-5', 'claude-sonnet-4-5', 'claude-haiku-4-5'],
  ...['claude-opus-4-6', 'claude-sonnet-4-6'],
)
/** Those that neither think with a budget any more nor let a client choose how to sample. */
const ADAPTIVE_ONLY = models('claude-opus-4-7', 'claude-opus-4-8', 'claude-opus-5', 'claude-sonnet-5', 'claude-fable-5')
const WITHOUT_TOP_P = models('claude-opus-4-7', 'claude-opus-4-8', 'claude-fable-5')
const WITHOUT_TOP_K = models('claude-opus-4-7', 'claude-opus-4-8')

const thinkingOf = ({ thinking }: Request) => asObject(thinking)
const isThinking = (request: Request) => ['enabled', 'adaptive'].includes(String(thinkingOf(request)?.type))
const hasBudget = (request: Request) => thinkingOf(request)?.type === 'enabled'
const budgetOf = (request: Request) => (hasBudget(request) ? numberIn(thinkingOf(request)?.budget_tokens) : undefined)

const THINKING_DOCS = 'https://docs.claude.com/en/docs/build-with-claude/extended-thinking'

/** The rules about parameters, in the order in which they are tried. */
export const anthropicParameters: readonly ParameterRule[] = parameterRules('messages', [
  {
    id: 'messages-max-tokens-too-large',
    // Not the ids `claude-opus-4` and `claude-sonnet-4`, which Anthropic does not have: the AI SDK takes them for newer models.
    models: models(
      ...['claude-3-opus', 'claude-3-haiku', 'claude-3-5-sonnet', 'claude-3-5-haiku', 'claude-3-7-sonnet'],
      ...['claude-opus-4-20250514', 'claude-sonnet-4-20250514', 'claude-opus-4-0', 'claude-sonnet-4-0'],
      ...['claude-opus-4-1', 'claude-opus-4-5', 'claude-sonnet-4-5'],
      ...['claude-haiku-4-5', 'claude-opus-4-6', 'claude-sonnet-4-6', 'claude-opus-4-7', 'claude-opus-4-8'],
      ...['claude-opus-5', 'claude-sonnet-5', 'claude-fable-5', 'claude-opus-5-5', 'claude-sonnet-5-5'],
      'claude-haiku-5-5',
    ),
    // Also https://github.com/OpenHands/OpenHands/issues/11090 (Sonnet 4).
    // Also https://github.com/anthropics/claude-code/issues/11302 (Opus 3).
    source: 'https://github.com/anthropics/claude-code/issues/24451',
    check({ max_tokens: asked }, { model, limits }) {
      const [most, wanted] = [limits?.maxOutput, numberIn(asked)]
      if (most === undefined || wanted === undefined || wanted <= most) return undefined
      return invalid(
        `max_tokens: ${wanted} > ${most}, which is the maximum allowed number of output tokens for ${model}`,
      )
    },
  },
  {
    id: 'messages-temperature-deprecated',
    models: ADAPTIVE_ONLY,
    // Also https://github.com/UKGovernmentBEIS/inspect_ai/issues/3721 (Opus 4.7).
    // Also https://github.com/The-PR-Agent/pr-agent/issues/2456 (Opus 4.8, Fable 5).
    source: 'https://github.com/earendil-works/pi/pull/7961',
    check: (request) => !isThinking(request) && deprecated('temperature', changedNumber(request.temperature)),
  },
  {
    id: 'messages-top-p-deprecated',
    models: WITHOUT_TOP_P,
    // Also https://github.com/FerroxLabs/wayland/issues/250 (Opus 4.8).
    source: 'https://github.com/router-for-me/CLIProxyAPI/issues/4383',
    check: ({ top_p }) => deprecated('top_p', changedNumber(top_p)),
  },
  {
    id: 'messages-top-k-deprecated',
    models: WITHOUT_TOP_K,
    // Also https://github.com/vellum-ai/vellum-assistant/pull/35820 (Opus 4.8).
    source: 'https://github.com/danny-avila/LibreChat/issues/12945',
    check: ({ top_k: most }) => deprecated('top_k', numberIn(most) || undefined),
  },
  {
    id: 'messages-temperature-and-top-p',
    models: models('claude-opus-4-1', 'claude-opus-4-5', 'claude-sonnet-4-5', 'claude-sonnet-4-6', 'claude-haiku-4-5'),
    // Also https://github.com/SalesforceAIResearch/MCP-Universe/issues/49 (Opus 4.5).
    // Also https://github.com/Vali-98/ChatterUI/issues/564 (Sonnet 4.6).
    // Also https://github.com/comet-ml/opik/pull/3728 (Opus 4.1, Haiku 4.5).
    source: 'https://github.com/BerriAI/litellm/issues/15097',
    check: (request) =>
      changedNumber(request.temperature) !== undefined &&
      numberIn(request.top_p) !== undefined &&
      invalid('`temperature` and `top_p` cannot both be specified for this model. Please use only one.'),
  },
  {
    id: 'messages-thinking-enabled-unsupported',
    models: ADAPTIVE_ONLY,
    // Also https://github.com/NousResearch/hermes-agent/issues/11137 (Opus 4.7).
    // Also https://github.com/docker/docker-agent/issues/3093 (Opus 4.8).
    source: 'https://platform.claude.com/en/docs/build-with-claude/extended-thinking',
    check: (request) =>
      hasBudget(request) &&
      invalid(
        '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
      ),
  },
  {
    id: 'messages-budget-with-adaptive',
    models: models('claude-opus-4-6', 'claude-sonnet-4-6'),
    source: 'https://github.com/NousResearch/hermes-agent/pull/1128',
    check(request) {
      const thinking = thinkingOf(request)
      const isLimited = thinking?.type === 'adaptive' && thinking.budget_tokens !== undefined
      return isLimited && invalid('thinking.adaptive.budget_tokens: Extra inputs are not permitted')
    },
  },
  {
    id: 'messages-budget-too-small',
    models: WITH_BUDGET,
    source: 'https://github.com/themaximalist/llm.js/issues/30',
    check(request) {
      const budget = budgetOf(request)
      if (budget === undefined || budget >= MIN_BUDGET) return undefined
      return invalid(`thinking.enabled.budget_tokens: Input should be greater than or equal to ${MIN_BUDGET}`)
    },
  },
  {
    id: 'messages-budget-not-below-max-tokens',
    models: WITH_BUDGET,
    // Also https://github.com/sigoden/aichat/issues/1304 (Sonnet 4).
    source: 'https://github.com/mirrorange/clove/issues/39',
    check(request) {
      const budget = budgetOf(request)
      const most = numberIn(request.max_tokens)
      // With tools and interleaved thinking, which a header turns on, a budget is that of a whole turn.
      const mayInterleave = Array.isArray(request.tools) && request.tools.length > 0
      if (budget === undefined || most === undefined || budget < most || mayInterleave) return undefined
      const message = `\`max_tokens\` must be greater than \`thinking.budget_tokens\`. Please consult our documentation at ${THINKING_DOCS}#max-tokens-and-context-window-size`
      return invalid(message)
    },
  },
  {
    id: 'messages-temperature-while-thinking',
    models: models(
      ...['claude-opus-4-6', 'claude-sonnet-4-6', 'claude-opus-4-8', 'claude-opus-5', 'claude-opus-4-5'],
      ...['claude-sonnet-4-5', 'claude-haiku-4-5', 'claude-opus-4-1', 'claude-sonnet-4', 'claude-3-7-sonnet'],
    ),
    // Also https://github.com/dotCipher/opencode-claude-bridge/pull/1 (Sonnet 4.6).
    // Also https://github.com/dyad-sh/dyad/issues/4396 (Opus 5).
    source: 'https://github.com/mnfst/modelparams.dev/issues/214',
    check(request) {
      if (!isThinking(request) || changedNumber(request.temperature) === undefined) return undefined
      const message =
        '`temperature` may only be set to 1 when thinking is enabled or in adaptive mode. Please consult our documentation at https://platform.claude.com/docs/en/build-with-claude/extended-thinking'
      return invalid(message)
    },
  },
  {
    id: 'messages-top-k-while-thinking',
    models: models('claude-opus-4-1'),
    source: 'https://github.com/quarkiverse/quarkus-langchain4j/issues/1812',
    check(request) {
      if (!hasBudget(request) || !numberIn(request.top_k)) return undefined
      const message = `\`top_k\` must be unset when thinking is enabled. Please consult our documentation at ${THINKING_DOCS}#important-considerations-when-using-extended-thinking`
      return invalid(message)
    },
  },
  {
    id: 'messages-forced-tool-while-thinking',
    models: WITH_BUDGET,
    // Also https://github.com/can1357/oh-my-pi/issues/341 (Sonnet 4.6).
    source: 'https://github.com/mastra-ai/mastra/issues/7507',
    check(request) {
      const choice = asObject(request.tool_choice)?.type
      if (!hasBudget(request) || (choice !== 'any' && choice !== 'tool')) return undefined
      return invalid('Thinking may not be enabled when tool_choice forces tool use.')
    },
  },
  {
    id: 'messages-prompt-too-long',
    countsInput: true,
    // Not Sonnet 4 and 4.5, which a beta header gives five times the context.
    models: models(
      ...['claude-3-haiku', 'claude-3-5-haiku', 'claude-opus-4', 'claude-opus-4-1', 'claude-opus-4-5'],
      'claude-haiku-4-5',
    ),
    source: 'https://github.com/anthropics/claude-code/issues/12186',
    check(request, facts) {
      const limit = facts.limits?.context
      const tokens = tokensBeyond(limit, request, facts)
      return tokens === undefined ? undefined : invalid(`prompt is too long: ${tokens} tokens > ${limit} maximum`)
    },
  },
])

/** The fewest tokens that a budget for thinking may have. */
const MIN_BUDGET = 1_024
