// Which conversations OpenAI rejects, and in which words. Looked up on 26 November 2026.
import { type HistoryProblem, type HistoryRule, historyRules } from './rule.ts'

/** The place of a message, as errors about pairs of messages write it. */
const place = ({ index }: HistoryProblem, field: string) => `messages.[${index}].${field}`

/** Rules of OpenAI's chat completions and responses. */
export const openaiHistory: readonly HistoryRule[] = [
  ...historyRules({ form: 'chat' }, [
    {
      problem: 'empty-conversation',
      source: 'https://github.com/CopilotKit/CopilotKit/issues/529',
      message: () =>
        "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
      error: () => ({ param: 'messages', code: 'empty_array' }),
    },
    {
      problem: 'empty-calls',
      source: 'https://github.com/openai/openai-python/issues/2061',
      message: ({ index }) =>
        `Invalid 'messages[${index}].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.`,
      error: ({ index }) => ({ param: `messages[${index}].tool_calls`, code: 'empty_array' }),
    },
    {
      problem: 'call-without-result',
      source: 'https://github.com/router-for-me/CLIProxyAPI/issues/2798',
      message: ({ ids }) =>
        `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${ids.join(', ')}`,
      error: (problem) => ({ param: place(problem, 'role') }),
    },
    {
      problem: 'result-without-call',
      source: 'https://github.com/smarter-sh/smarter/issues/264',
      message: () =>
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
      error: (problem) => ({ param: place(problem, 'role') }),
    },
    {
      problem: 'unknown-call-id',
      source: 'https://github.com/dapr/dapr-agents/issues/145',
      message: ({ ids }) =>
        `Invalid parameter: 'tool_call_id' of '${ids[0]}' not found in 'tool_calls' of previous message.`,
      error: (problem) => ({ param: place(problem, 'tool_call_id') }),
    },
    {
      problem: 'missing-call-id',
      source: 'https://github.com/MadcowD/ell/issues/325',
      message: () => "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.",
      error: (problem) => ({ param: place(problem, 'tool_call_id') }),
    },
    {
      problem: 'duplicate-result',
      source: 'https://github.com/agno-agi/agno/issues/5116',
      message: ({ ids, first, index }) =>
        `Invalid parameter: Duplicate value for 'tool_call_id' of '${ids[0]}', in messages[${first}] and messages[${index}].`,
      error: (problem) => ({ param: place(problem, 'tool_call_id') }),
    },
    {
      problem: 'long-call-id',
      // The limit differs between models: only those are listed for which it was seen.
      models: /^gpt-(?:4o|5)-mini/,
      source: 'https://github.com/openclaw/openclaw/pull/875',
      message: ({ index, part, found }) =>
        `Invalid 'messages[${index}].tool_calls[${part}].id': string too long. Expected a string with maximum length 40, but got a string with length ${found} instead.`,
      error: ({ index, part }) => ({
        param: `messages[${index}].tool_calls[${part}].id`,
        code: 'string_above_max_length',
      }),
    },
  ]),
  ...historyRules({ form: 'responses', param: 'input' }, [
    {
      problem: 'unknown-response',
      source: 'https://github.com/router-for-me/CLIProxyAPI/issues/2954',
      message: ({ ids }) => `Previous response with id '${ids[0]}' not found.`,
      error: () => ({ param: 'previous_response_id', code: 'previous_response_not_found' }),
    },
    {
      problem: 'unknown-item',
      source: 'https://github.com/can1357/oh-my-pi/issues/41',
      message: ({ ids }) =>
        `Item with id '${ids[0]}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
      error: () => ({ status: 404 }),
    },
    {
      problem: 'duplicate-item',
      source: 'https://github.com/OpenRouterTeam/ai-sdk-provider/issues/254',
      message: ({ ids }) =>
        `Duplicate item found with id ${ids[0]}. Remove duplicate items from your input and try again.`,
    },
    {
      problem: 'call-without-result',
      source: 'https://github.com/livekit/agents/issues/5092',
      message: ({ ids, found }) => `No tool output found for ${found} call ${ids[0]}.`,
    },
    {
      problem: 'result-without-call',
      source: 'https://github.com/microsoft/vscode/issues/320060',
      message: ({ ids, found }) => `No tool call found for ${found} call output with call_id ${ids[0]}.`,
    },
    {
      problem: 'reasoning-without-item',
      source: 'https://github.com/continuedev/continue/issues/10428',
      message: ({ ids }) => `Item '${ids[0]}' of type 'reasoning' was provided without its required following item.`,
    },
    {
      problem: 'item-without-reasoning',
      source: 'https://github.com/mastra-ai/mastra/issues/8738',
      message: ({ ids }) =>
        `Item '${ids[0]}' of type 'function_call' was provided without its required 'reasoning' item: '${ids[1]}'.`,
    },
    {
      problem: 'changed-encrypted-content',
      source: 'https://github.com/openai/codex/issues/8128',
      message: ({ found = '' }) =>
        `The encrypted content ${found.slice(0, 4)}...${found.slice(-4)} could not be verified.`,
      error: () => ({ code: 'invalid_encrypted_content', param: null }),
    },
  ]),
]
