// Tools that run at the provider, by OpenAI's names: accepted and echoed, and never called here.

/** Types of tools that need no configuration. */
export const HOSTED_TOOLS = [
  'apply_patch',
  'code_interpreter',
  'computer',
  'computer_use',
  'computer_use_preview',
  'file_search',
  'image_generation',
  'local_shell',
  'mcp',
  'namespace',
  'programmatic_tool_calling',
  'shell',
  'tool_search',
  'web_search',
  'web_search_2025_08_26',
  'web_search_preview',
  'web_search_preview_2025_03_11',
] as const

/** Items of such tools in a conversation. */
export const HOSTED_ITEMS = [
  'additional_tools',
  'apply_patch_call',
  'apply_patch_call_output',
  'code_interpreter_call',
  'compaction',
  'compaction_trigger',
  'computer_call',
  'computer_call_output',
  'file_search_call',
  'image_generation_call',
  'local_shell_call',
  'local_shell_call_output',
  'mcp_approval_request',
  'mcp_approval_response',
  'mcp_call',
  'mcp_list_tools',
  'program',
  'program_output',
  'shell_call',
  'shell_call_output',
  'tool_search_call',
  'tool_search_output',
  'web_search_call',
] as const
