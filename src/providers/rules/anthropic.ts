// Which conversations Anthropic rejects, and in which words. Looked up on 26 November 2026.
import { type HistoryProblem, historyRules } from './rule.ts'

/** The place of a block, as errors write it. */
const place = ({ index, part = 0 }: HistoryProblem) => `messages.${index}.content.${part}`
const unanswered = ({ index, ids }: HistoryProblem) =>
  `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`

/** Rules of Anthropic's messages. Consecutive messages of one role are one turn, and any role may come first. */
export const anthropicHistory = historyRules({ form: 'messages' }, [
  {
    problem: 'empty-conversation',
    source: 'https://github.com/langgenius/dify/issues/25953',
    message: () => 'messages: at least one message is required',
  },
  {
    problem: 'empty-message',
    source: 'https://github.com/anthropics/claude-code/issues/6774',
    message: ({ index }) =>
      `messages.${index}: all messages must have non-empty content except for the optional final assistant message`,
  },
  {
    problem: 'empty-text',
    source: 'https://github.com/anthropics/claude-code/issues/53473',
    message: () => 'messages: text content blocks must be non-empty',
  },
  {
    problem: 'blank-text',
    source: 'https://github.com/anthropics/claude-code/issues/23096',
    message: () => 'messages: text content blocks must contain non-whitespace text',
  },
  {
    problem: 'call-without-result',
    source: 'https://github.com/anthropics/claude-code/issues/5989',
    message: unanswered,
  },
  {
    problem: 'result-after-content',
    source: 'https://github.com/NousResearch/hermes-agent/pull/65369',
    message: unanswered,
  },
  {
    problem: 'unknown-call-id',
    source: 'https://github.com/anthropics/claude-code/issues/13460',
    message: (problem) =>
      `${place(problem)}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${problem.ids[0]}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
  },
  {
    problem: 'duplicate-result',
    source:
      'https://github.com/BerriAI/litellm/blob/main/tests/test_litellm/llms/anthropic/experimental_pass_through/adapters/test_anthropic_experimental_pass_through_adapters_transformation.py',
    message: (problem) =>
      `${place(problem)}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${problem.ids[0]}`,
  },
  {
    problem: 'duplicate-call-id',
    source: 'https://github.com/anthropics/claude-code/issues/28515',
    message: (problem) => `${place(problem)}: \`tool_use\` ids must be unique`,
  },
  {
    problem: 'invalid-call-id',
    source: 'https://github.com/anomalyco/opencode/issues/1279',
    message: (problem) => `${place(problem)}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`,
  },
  {
    problem: 'changed-thinking',
    models: /^claude-opus-4-6/,
    source: 'https://github.com/vybestack/llxprt-code/issues/1653',
    message: (problem) =>
      `${place(problem)}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.`,
  },
  {
    problem: 'changed-thinking',
    source: 'https://github.com/anthropics/claude-code/issues/10627',
    message: (problem) => `${place(problem)}: Invalid \`signature\` in \`thinking\` block`,
  },
  {
    problem: 'missing-thinking',
    models: /^claude-(?:sonnet-4(?!-[6-9])|opus-4-5)/,
    source: 'https://github.com/Kilo-Org/kilocode/issues/5219',
    message: (problem) =>
      `${place(problem)}.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${problem.found}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable \`thinking\`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking`,
  },
  {
    problem: 'thinking-not-enabled',
    models: /^claude-sonnet-4-5/,
    source: 'https://github.com/tailcallhq/forgecode/issues/1853',
    message: (problem) =>
      `${place(problem)}: When thinking is disabled, an \`assistant\` message in the final position cannot contain \`thinking\`. To use thinking blocks, enable \`thinking\` in your request.`,
  },
  {
    problem: 'assistant-last',
    // The models that go on with no assistant message but a paused one.
    models: /^claude-(?:opus-4-[678]|sonnet-4-6|sonnet-5|fable-5)/,
    source: 'https://github.com/ericc-ch/copilot-api/pull/261',
    message: () =>
      'This model does not support assistant message prefill. The conversation must end with a user message.',
  },
  {
    problem: 'trailing-whitespace',
    source: 'https://github.com/tailcallhq/forgecode/issues/1872',
    message: () => 'messages: final assistant content cannot end with trailing whitespace',
  },
  {
    problem: 'system-message',
    models: /^claude-opus-4-7/,
    source: 'https://github.com/anthropics/claude-code/issues/61412',
    message: () => "role 'system' is not supported on this model",
  },
  {
    problem: 'system-message-first',
    models: /^claude-opus-(?:4-8|5)/,
    source: 'https://github.com/LeenHawk/gproxy/issues/209',
    message: () =>
      "messages.0: use the top-level 'system' parameter for the initial system prompt; the directive-only form (content: [] with output_config) is accepted at any position",
  },
  ...(['system-message', 'system-message-first'] as const).map((problem) => ({
    problem,
    models: /^claude-(?:3|haiku-4-5|sonnet-4(?!-[6-9]))/,
    source: 'https://github.com/anthropics/claude-agent-sdk-typescript/issues/350',
    message: () =>
      'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.',
  })),
])
