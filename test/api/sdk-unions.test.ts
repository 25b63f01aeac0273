// Every type of tool, choice, message and item that the OpenAI SDK can send is accepted. The tables are typed by the SDK's own unions, so
// that a type which a later SDK adds is a type error here until it is listed.
import { afterAll, describe, expect, test } from 'bun:test'
import type OpenAI from 'openai'
import type {
  ResponseCreateParams,
  ResponseIncludable,
  ResponseInputContent,
  ResponseInputItem,
  Tool,
} from 'openai/resources/responses/responses'
import { createTestApp } from '../support/app.ts'
import { CHAT, MODEL } from '../support/chat.ts'
import { PATH } from '../support/responses.ts'

// One kind at a time makes no conversation.
const app = createTestApp({ history: 'off' })
afterAll(app.close)

type Chat = OpenAI.Chat.Completions.ChatCompletionMessageParam
type ChatTool = OpenAI.Chat.Completions.ChatCompletionTool
type ToolCall = OpenAI.Chat.Completions.ChatCompletionMessageToolCall
type ChatPart = OpenAI.Chat.Completions.ChatCompletionContentPart
type ChatChoice = Exclude<OpenAI.Chat.Completions.ChatCompletionToolChoiceOption, string>

/** One sample a kind: a member of `Union` by the value of its `Key`; samples that lack a kind or have one too many are type errors. */
type ByKind<Union, Key extends keyof Union> = {
  [Kind in NonNullable<Union[Key]> & string]: Union extends { [K in Key]?: infer Value | null }
    ? Kind extends Value
      ? Union
      : never
    : never
}

async function accepted(path: string, body: object): Promise<void> {
  for (const stream of [false, true]) {
    const answer = await app.post(path, { model: MODEL, ...body, stream })
    expect({ status: answer.status, text: answer.text.slice(0, 400) }).toEqual({
      status: 200,
      text: expect.any(String),
    })
    if (stream) expect(answer.text).toEndWith('data: [DONE]\n\n')
  }
}

const said: Chat = { role: 'user', content: 'Look it up' }
const functionTool: ChatTool = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } }
const customTool: ChatTool = { type: 'custom', custom: { name: 'run', description: 'Runs code.' } }

describe('chat completions with every SDK variant', () => {
  const tools: ByKind<ChatTool, 'type'> = {
    function: functionTool,
    custom: {
      type: 'custom',
      custom: { name: 'run', format: { type: 'grammar', grammar: { syntax: 'regex', definition: '[a-z]{3}' } } },
    },
  }
  test.each(Object.entries(tools))('accept the tool %s', async (_, tool) => {
    await accepted(CHAT, { messages: [said], tools: [tool] })
    await accepted(CHAT, { messages: [said], tools: [tool], tool_choice: 'required' })
  })

  const choices: ByKind<ChatChoice, 'type'> = {
    function: { type: 'function', function: { name: 'look' } },
    custom: { type: 'custom', custom: { name: 'run' } },
    allowed_tools: {
      type: 'allowed_tools',
      allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'look' } }] },
    },
  }
  test.each(Object.entries(choices))('accept the tool choice %s', (_, tool_choice) =>
    accepted(CHAT, { messages: [said], tools: [functionTool, customTool], tool_choice }),
  )

  const calls: ByKind<ToolCall, 'type'> = {
    function: { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } },
    custom: { id: 'call_1', type: 'custom', custom: { name: 'run', input: 'print(1)' } },
  }
  test.each(Object.entries(calls))('accept a history with a call of type %s', (_, call) =>
    accepted(CHAT, {
      messages: [
        said,
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_1', content: 'done' },
      ],
      tools: [functionTool, customTool],
    }),
  )

  const messages: ByKind<Chat, 'role'> = {
    developer: { role: 'developer', content: 'Be brief.' },
    system: { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] },
    user: said,
    assistant: { role: 'assistant', content: null, function_call: { name: 'look', arguments: '{}' } },
    tool: { role: 'tool', tool_call_id: 'call_1', content: 'done' },
    function: { role: 'function', name: 'look', content: null },
  }
  test.each(Object.entries(messages))('accept a message of role %s', (_, message) =>
    accepted(CHAT, { messages: [said, message] }),
  )

  const parts: ByKind<ChatPart, 'type'> = {
    text: { type: 'text', text: 'Hi' },
    image_url: { type: 'image_url', image_url: { url: 'https://example.org/a.png' } },
    input_audio: { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
    file: { type: 'file', file: { file_id: 'file-1' } },
  }
  test.each(Object.entries(parts))('accept a part of type %s', (_, part) =>
    accepted(CHAT, { messages: [{ role: 'user', content: [part] }] }),
  )
})

describe('model responses with every SDK variant', () => {
  const look: Tool = { type: 'function', name: 'look', parameters: null, strict: null }
  const tools: ByKind<Tool, 'type'> = {
    function: look,
    file_search: { type: 'file_search', vector_store_ids: ['vs_1'] },
    computer: { type: 'computer' },
    computer_use_preview: {
      type: 'computer_use_preview',
      display_height: 600,
      display_width: 800,
      environment: 'browser',
    },
    web_search: { type: 'web_search' },
    web_search_2025_08_26: { type: 'web_search_2025_08_26' },
    web_search_preview: { type: 'web_search_preview' },
    web_search_preview_2025_03_11: { type: 'web_search_preview_2025_03_11' },
    mcp: { type: 'mcp', server_label: 'wiki', server_url: 'https://example.org/mcp' },
    code_interpreter: { type: 'code_interpreter', container: 'c_1' },
    programmatic_tool_calling: { type: 'programmatic_tool_calling' },
    image_generation: { type: 'image_generation' },
    local_shell: { type: 'local_shell' },
    shell: { type: 'shell' },
    custom: { type: 'custom', name: 'run' },
    namespace: { type: 'namespace', name: 'crm', description: 'Customers.', tools: [{ type: 'custom', name: 'run' }] },
    tool_search: { type: 'tool_search' },
    apply_patch: { type: 'apply_patch' },
  }
  test.each(Object.entries(tools))('accept the tool %s', async (_, tool) => {
    await accepted(PATH, { input: 'Hi', tools: [tool] })
    await accepted(PATH, { input: 'Hi', tools: [tool, look], tool_choice: 'auto' })
  })

  type Choice = Exclude<NonNullable<ResponseCreateParams['tool_choice']>, string>
  const choices: ByKind<Choice, 'type'> = {
    function: { type: 'function', name: 'look' },
    custom: { type: 'custom', name: 'run' },
    mcp: { type: 'mcp', server_label: 'wiki' },
    allowed_tools: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'look' }] },
    apply_patch: { type: 'apply_patch' },
    shell: { type: 'shell' },
    programmatic_tool_calling: { type: 'programmatic_tool_calling' },
    file_search: { type: 'file_search' },
    web_search_preview: { type: 'web_search_preview' },
    web_search_preview_2025_03_11: { type: 'web_search_preview_2025_03_11' },
    computer: { type: 'computer' },
    computer_use: { type: 'computer_use' },
    computer_use_preview: { type: 'computer_use_preview' },
    image_generation: { type: 'image_generation' },
    code_interpreter: { type: 'code_interpreter' },
  }
  const offered = Object.values(tools)
  test.each(Object.entries(choices))('accept the tool choice %s', (_, tool_choice) =>
    accepted(PATH, { input: 'Hi', tools: offered, tool_choice }),
  )

  const done = { status: 'completed' as const }
  const items: ByKind<ResponseInputItem, 'type'> = {
    message: { type: 'message', role: 'user', content: 'Hi' },
    file_search_call: { type: 'file_search_call', id: 'fs_1', queries: ['x'], ...done },
    computer_call: { type: 'computer_call', id: 'cu_1', call_id: 'call_1', pending_safety_checks: [], ...done },
    computer_call_output: {
      type: 'computer_call_output',
      call_id: 'call_1',
      output: { type: 'computer_screenshot', image_url: 'https://example.org/a.png' },
    },
    web_search_call: { type: 'web_search_call', id: 'ws_1', action: { type: 'search', query: 'x' }, ...done },
    function_call: { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
    function_call_output: {
      type: 'function_call_output',
      call_id: 'call_1',
      output: [{ type: 'input_text', text: 'found' }],
    },
    tool_search_call: { type: 'tool_search_call', arguments: {} },
    tool_search_output: { type: 'tool_search_output', tools: [look] },
    additional_tools: { type: 'additional_tools', role: 'developer', tools: [look] },
    reasoning: { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm.' }] },
    compaction: { type: 'compaction', encrypted_content: 'AAAA' },
    compaction_trigger: { type: 'compaction_trigger' },
    image_generation_call: { type: 'image_generation_call', id: 'ig_1', result: null, ...done },
    code_interpreter_call: {
      type: 'code_interpreter_call',
      id: 'ci_1',
      code: '1',
      container_id: 'c_1',
      outputs: null,
      ...done,
    },
    local_shell_call: {
      type: 'local_shell_call',
      id: 'ls_1',
      call_id: 'call_1',
      action: { type: 'exec', command: ['ls'], env: {} },
      ...done,
    },
    local_shell_call_output: { type: 'local_shell_call_output', id: 'call_1', output: 'a b' },
    shell_call: { type: 'shell_call', call_id: 'call_1', action: { commands: ['ls'] } },
    shell_call_output: {
      type: 'shell_call_output',
      call_id: 'call_1',
      output: [{ stdout: 'a', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
    },
    apply_patch_call: {
      type: 'apply_patch_call',
      call_id: 'call_1',
      operation: { type: 'delete_file', path: 'a' },
      ...done,
    },
    apply_patch_call_output: { type: 'apply_patch_call_output', call_id: 'call_1', ...done },
    mcp_list_tools: { type: 'mcp_list_tools', id: 'mcpl_1', server_label: 'wiki', tools: [] },
    mcp_approval_request: {
      type: 'mcp_approval_request',
      id: 'mcpr_1',
      arguments: '{}',
      name: 'read',
      server_label: 'wiki',
    },
    mcp_approval_response: { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true },
    mcp_call: { type: 'mcp_call', id: 'mcp_1', arguments: '{}', name: 'read', server_label: 'wiki' },
    custom_tool_call: { type: 'custom_tool_call', call_id: 'call_1', name: 'run', input: 'print(1)' },
    custom_tool_call_output: { type: 'custom_tool_call_output', call_id: 'call_1', output: '1' },
    item_reference: { type: 'item_reference', id: 'msg_1' },
    program: { type: 'program', id: 'pr_1', call_id: 'call_1', code: '1', fingerprint: 'f' },
    program_output: { type: 'program_output', id: 'po_1', call_id: 'call_1', result: '1', ...done },
  }
  test.each(Object.entries(items))('accept the item %s', async (_, item) => {
    await accepted(PATH, { input: [{ role: 'user', content: 'Hi' }, item], tools: offered })
  })

  const parts: ByKind<ResponseInputContent, 'type'> = {
    input_text: { type: 'input_text', text: 'Hi' },
    input_image: { type: 'input_image', detail: 'original', image_url: 'https://example.org/a.png' },
    input_file: { type: 'input_file', file_id: 'file-1' },
  }
  test.each(Object.entries(parts))('accept a part of type %s', (_, part) =>
    accepted(PATH, { input: [{ role: 'user', content: [part] }] }),
  )

  const include: { [Name in ResponseIncludable]: Name } = {
    'file_search_call.results': 'file_search_call.results',
    'web_search_call.results': 'web_search_call.results',
    'web_search_call.action.sources': 'web_search_call.action.sources',
    'message.input_image.image_url': 'message.input_image.image_url',
    'computer_call_output.output.image_url': 'computer_call_output.output.image_url',
    'code_interpreter_call.outputs': 'code_interpreter_call.outputs',
    'reasoning.encrypted_content': 'reasoning.encrypted_content',
    'message.output_text.logprobs': 'message.output_text.logprobs',
  }
  test('accept every value of include', () => accepted(PATH, { input: 'Hi', include: Object.values(include) }))
})
