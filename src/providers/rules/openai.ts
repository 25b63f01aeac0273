// Which conversations OpenAI rejects, and in which words. Looked up on 26 November 2026.
import type { HistoryProblem, HistoryRule, RequestRejection } from './rule.ts'

/** An invalid request: status 400. */
const invalid = (
  message: string,
  { param, code = null }: { param: string; code?: string | null },
): RequestRejection => ({
  status: 400,
  type: 'invalid_request_error',
  code,
  param,
  message,
})
/** The place of a message, as errors about pairs of messages write it. */
const place = ({ index }: HistoryProblem, field: string) => `messages.[${index}].${field}`

/** Rules of OpenAI's chat completions and responses. */
export const openaiHistory: readonly HistoryRule[] = [
  {
    problem: 'empty-conversation',
    form: 'chat',
    source: 'https://github.com/CopilotKit/CopilotKit/issues/529',
    reject: () =>
      invalid(
        "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        { param: 'messages', code: 'empty_array' },
      ),
  },
  {
    problem: 'empty-calls',
    form: 'chat',
    source: 'https://github.com/openai/openai-python/issues/2061',
    reject: ({ index }) =>
      invalid(
        `Invalid 'messages[${index}].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.`,
        { param: `messages[${index}].tool_calls`, code: 'empty_array' },
      ),
  },
  {
    problem: 'call-without-result',
    form: 'chat',
    source: 'https://github.com/router-for-me/CLIProxyAPI/issues/2798',
    reject: (problem) =>
      invalid(
        `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${problem.ids.join(', ')}`,
        { param: place(problem, 'role') },
      ),
  },
  {
    problem: 'result-without-call',
    form: 'chat',
    source: 'https://github.com/smarter-sh/smarter/issues/264',
    reject: (problem) =>
      invalid(
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        { param: place(problem, 'role') },
      ),
  },
  {
    problem: 'unknown-call-id',
    form: 'chat',
    source: 'https://github.com/dapr/dapr-agents/issues/145',
    reject: (problem) =>
      invalid(
        `Invalid parameter: 'tool_call_id' of '${problem.ids[0]}' not found in 'tool_calls' of previous message.`,
        { param: place(problem, 'tool_call_id') },
      ),
  },
  {
    problem: 'missing-call-id',
    form: 'chat',
    source: 'https://github.com/MadcowD/ell/issues/325',
    reject: (problem) =>
      invalid("Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.", {
        param: place(problem, 'tool_call_id'),
      }),
  },
  {
    problem: 'duplicate-result',
    form: 'chat',
    source: 'https://github.com/agno-agi/agno/issues/5116',
    reject: (problem) =>
      invalid(
        `Invalid parameter: Duplicate value for 'tool_call_id' of '${problem.ids[0]}', in messages[${problem.first}] and messages[${problem.index}].`,
        { param: place(problem, 'tool_call_id') },
      ),
  },
  {
    problem: 'long-call-id',
    form: 'chat',
    // The limit differs between models: only those are listed for which it was seen.
    models: /^gpt-(?:4o|5)-mini/,
    source: 'https://github.com/openclaw/openclaw/pull/875',
    reject: ({ index, part, found }) =>
      invalid(
        `Invalid 'messages[${index}].tool_calls[${part}].id': string too long. Expected a string with maximum length 40, but got a string with length ${found} instead.`,
        { param: `messages[${index}].tool_calls[${part}].id`, code: 'string_above_max_length' },
      ),
  },
  {
    problem: 'unknown-response',
    form: 'responses',
    source: 'https://github.com/router-for-me/CLIProxyAPI/issues/2954',
    reject: ({ ids }) =>
      invalid(`Previous response with id '${ids[0]}' not found.`, {
        param: 'previous_response_id',
        code: 'previous_response_not_found',
      }),
  },
  {
    problem: 'unknown-item',
    form: 'responses',
    source: 'https://github.com/can1357/oh-my-pi/issues/41',
    reject: ({ ids }) => ({
      ...invalid(
        `Item with id '${ids[0]}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
        { param: 'input' },
      ),
      status: 404,
    }),
  },
  {
    problem: 'duplicate-item',
    form: 'responses',
    source: 'https://github.com/OpenRouterTeam/ai-sdk-provider/issues/254',
    reject: ({ ids }) =>
      invalid(`Duplicate item found with id ${ids[0]}. Remove duplicate items from your input and try again.`, {
        param: 'input',
      }),
  },
  {
    problem: 'call-without-result',
    form: 'responses',
    source: 'https://github.com/livekit/agents/issues/5092',
    reject: ({ ids, found }) => invalid(`No tool output found for ${found} call ${ids[0]}.`, { param: 'input' }),
  },
  {
    problem: 'result-without-call',
    form: 'responses',
    source: 'https://github.com/microsoft/vscode/issues/320060',
    reject: ({ ids, found }) =>
      invalid(`No tool call found for ${found} call output with call_id ${ids[0]}.`, { param: 'input' }),
  },
  {
    problem: 'reasoning-without-item',
    form: 'responses',
    source: 'https://github.com/continuedev/continue/issues/10428',
    reject: ({ ids }) =>
      invalid(`Item '${ids[0]}' of type 'reasoning' was provided without its required following item.`, {
        param: 'input',
      }),
  },
  {
    problem: 'item-without-reasoning',
    form: 'responses',
    source: 'https://github.com/mastra-ai/mastra/issues/8738',
    reject: ({ ids }) =>
      invalid(
        `Item '${ids[0]}' of type 'function_call' was provided without its required 'reasoning' item: '${ids[1]}'.`,
        { param: 'input' },
      ),
  },
  {
    problem: 'changed-encrypted-content',
    form: 'responses',
    source: 'https://github.com/openai/codex/issues/8128',
    reject: ({ found = '' }) => ({
      ...invalid(`The encrypted content ${found.slice(0, 4)}...${found.slice(-4)} could not be verified.`, {
        param: 'input',
        code: 'invalid_encrypted_content',
      }),
      param: null,
    }),
  },
]
