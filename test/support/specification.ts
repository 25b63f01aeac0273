// The specification of the API as a table: the fields of its 20 operations, their types, limits, defaults, values and patterns.
// What it does not say stands in no row. Where its own words are wider or narrower than a client needs, a comment says what holds.

/** The types of JSON. */
export type JsonType = 'string' | 'integer' | 'number' | 'boolean' | 'object' | 'array' | 'null'

/** What the specification says of one field. */
export interface Field {
  /** The types that it may have. */
  type: JsonType | readonly JsonType[]
  required?: true
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  /** Most pairs of an object. */
  maxProperties?: number
  /** Most characters of a name in an object, and of its value. */
  maxKeyLength?: number
  maxValueLength?: number
  pattern?: string
  /** All values that it may have. */
  enum?: readonly unknown[]
  /** Values that the specification names, where it leaves room for more. */
  values?: readonly unknown[]
  default?: unknown
  deprecated?: true
}

/** Fields by their paths: `a.b`, and `a[].b` for what each item of a list has. */
export type Fields = Readonly<Record<string, Field>>

/** One operation. */
export interface SpecifiedOperation {
  method: 'get' | 'post' | 'patch'
  path: string
  status: 200 | 201
  form?: true
  parameters?: Fields
  body?: Fields
  answer: Fields
  /** Bodies that are valid; together they have every field, so that each can be made wrong where it stands. */
  bodies?: readonly Record<string, unknown>[]
}

const string = { type: 'string' } as const
const integer = { type: 'integer' } as const
const number = { type: 'number' } as const
const boolean = { type: 'boolean' } as const
const object = { type: 'object' } as const
const array = { type: 'array' } as const
const ULID = '^[0-9A-HJKMNP-TV-Z]{26}$'
const UUID = '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'
const ulid = { type: 'string', pattern: ULID } as const
const uuid = { type: 'string', pattern: UUID } as const
const prefixed = (prefix: string) => ({ type: 'string', pattern: `^${prefix}_${ULID.slice(1)}` }) as const

/** Fields, below another. */
const under = (at: string, fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).map(([path, field]) => [`${at}.${path}`, field]))

const FALLBACKS: Fields = { fallbacks: array, 'fallbacks[].model': string }
const RETRY: Fields = {
  retry: object,
  'retry.count': integer,
  'retry.on_codes': array,
  'retry.on_codes[]': integer,
}
const LOAD_BALANCER: Fields = {
  load_balancer: object,
  'load_balancer.type': { type: 'string', enum: ['weight_based'] },
  'load_balancer.models': array,
  'load_balancer.models[].model': string,
  'load_balancer.models[].weight': number,
}
const CACHE: Fields = {
  cache: object,
  'cache.type': { type: 'string', enum: ['exact_match'] },
  'cache.ttl': integer,
}
const TIMEOUT: Fields = { timeout: object, 'timeout.call_timeout': integer }
const THINKING: Fields = {
  thinking: object,
  'thinking.type': { type: 'string', enum: ['disabled', 'adaptive', 'enabled'] },
  'thinking.budget_tokens': integer,
}
const GUARDRAILS: Fields = {
  guardrails: array,
  'guardrails[].id': string,
  'guardrails[].execute_on': { type: 'string', values: ['input'] },
}
const IDENTITY: Fields = {
  identity: object,
  'identity.id': string,
  'identity.display_name': string,
  'identity.email': string,
}
const THREAD: Fields = { thread: object, 'thread.id': string, 'thread.tags': array, 'thread.tags[]': string }
const KNOWLEDGE: Fields = {
  knowledge_bases: array,
  'knowledge_bases[].knowledge_id': string,
  'knowledge_bases[].top_k': integer,
}
const ROUTING: Fields = { ...FALLBACKS, ...RETRY, ...LOAD_BALANCER, ...TIMEOUT }
const PROMPT_SERVICE: Fields = {
  svc: object,
  ...under('svc', {
    ...RETRY,
    ...FALLBACKS,
    ...IDENTITY,
    ...THREAD,
    inputs: { type: ['object', 'array'] },
    ...CACHE,
    ...KNOWLEDGE,
    ...TIMEOUT,
  }),
}
const SERVICE: Fields = { svc: object, ...under('svc', { name: string, ...FALLBACKS, ...RETRY, ...LOAD_BALANCER }) }

const routing = {
  fallbacks: [{ model: 'openai/gpt-4o-mini' }],
  retry: { count: 2, on_codes: [429] },
  load_balancer: { type: 'weight_based', models: [{ model: 'openai/gpt-4o', weight: 0.5 }] },
  timeout: { call_timeout: 60_000 },
}
const cache = { type: 'exact_match', ttl: 60 }
const identity = { id: 'user-1', display_name: 'Ada', email: 'ada@example.com' }
const thread = { id: 'thread-1', tags: ['a'] }
const promptService = {
  retry: routing.retry,
  fallbacks: routing.fallbacks,
  identity,
  thread,
  inputs: { a: 'b' },
  cache,
  timeout: routing.timeout,
  knowledge_bases: [{ knowledge_id: 'help', top_k: 2 }],
}
const { retry, load_balancer } = routing
/** A body whose models are all this one, as not every model does everything. */
const withModel = (model: string) => ({
  model,
  fallbacks: [{ model }],
  retry,
  load_balancer: { type: 'weight_based', models: [{ model, weight: 0.5 }] },
  timeout: routing.timeout,
  name: 'a call',
  svc: {
    name: 'a call',
    fallbacks: [{ model }],
    retry,
    load_balancer: { ...load_balancer, models: [{ model, weight: 0.5 }] },
  },
})

const PRODUCT = {
  type: 'string',
  enum: [
    ...[
      'remoteconfigs',
      'deployments',
      'experiments',
      'playgrounds',
      'spreadsheets',
      'spreadsheet_run',
      'llm_evaluator',
    ],
    ...[
      'knowledge',
      'router',
      'workflows',
      'external_events',
      'agents',
      'memory-stores',
      'generic',
      'evaluators',
      'otel',
    ],
    'ai-chat',
  ],
} as const
// A number is accepted too: clients of this API send it.
const FEEDBACK: Fields = {
  property: string,
  value: { type: ['string', 'array', 'number'] },
  'value[]': string,
  trace_id: string,
  id: string,
  product: PRODUCT,
}
const feedback = {
  property: 'rating',
  value: ['good'],
  trace_id: '01JGFJJZ0036VRWY9BQ6JFZ8CK',
  id: '01JGFJJZ00Q8VN5K2ZC3R7WXYA',
  product: 'router',
}

const FUNCTION_TOOL: Fields = {
  'tools[].type': { type: 'string', values: ['function'] },
  'tools[].name': string,
  'tools[].description': string,
  'tools[].parameters': object,
  'tools[].strict': boolean,
}
const SERVICE_TIER = ['auto', 'default', 'flex', 'scale', 'priority'] as const
const TOOL_CHOICE = ['none', 'auto', 'required'] as const
const EFFORT = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const
const INCLUDE = [
  ...['code_interpreter_call.outputs', 'computer_call_output.output.image_url', 'file_search_call.results'],
  ...['message.input_image.image_url', 'message.output_text.logprobs', 'reasoning.encrypted_content'],
  ...['web_search_call.results', 'web_search_call.action.sources'],
] as const

const CHAT_USAGE: Fields = {
  usage: object,
  'usage.completion_tokens': integer,
  'usage.prompt_tokens': integer,
  'usage.total_tokens': integer,
  'usage.prompt_tokens_details': object,
  'usage.prompt_tokens_details.cached_tokens': integer,
  'usage.prompt_tokens_details.cache_creation_tokens': integer,
  'usage.prompt_tokens_details.audio_tokens': integer,
  'usage.completion_tokens_details': object,
  'usage.completion_tokens_details.reasoning_tokens': integer,
  'usage.completion_tokens_details.accepted_prediction_tokens': integer,
  'usage.completion_tokens_details.rejected_prediction_tokens': integer,
  'usage.completion_tokens_details.audio_tokens': integer,
}
const TOKEN: Fields = {
  token: string,
  logprob: number,
  bytes: array,
  'bytes[]': integer,
}
const logprobsOf = (name: string): Fields => ({
  [name]: array,
  ...under(`${name}[]`, { ...TOKEN, top_logprobs: array, ...under('top_logprobs[]', TOKEN) }),
})
const MESSAGE: Fields = {
  messages: array,
  'messages[].role': { type: 'string', values: ['system'] },
  'messages[].content': { type: ['string', 'array'] },
  'messages[].name': string,
}

/** What an agent is made with and what it answers with. */
const AGENT: Fields = {
  key: {
    type: 'string',
    minLength: 1,
    maxLength: 255,
    pattern: '^[A-Za-z][A-Za-z0-9]*([._-][A-Za-z0-9]+)*$',
  },
  role: { type: 'string', minLength: 1 },
  description: { type: 'string', minLength: 1 },
  instructions: string,
  path: string,
  display_name: { type: 'string', maxLength: 255 },
  system_prompt: { type: ['string', 'null'], minLength: 1 },
  memory_stores: array,
  'memory_stores[]': string,
  knowledge_bases: array,
  'knowledge_bases[].knowledge_id': string,
  team_of_agents: array,
  'team_of_agents[]': object,
  skills: array,
  'skills[]': string,
  variables: object,
  source: { type: 'string', enum: ['internal', 'external', 'experiment'] },
  engine: { type: 'string', enum: ['text', 'jinja', 'mustache'] },
  settings: object,
  'settings.max_iterations': integer,
  'settings.max_execution_time': number,
  'settings.max_cost': number,
  'settings.tool_approval_required': { type: 'string', values: ['respect_tool'] },
  'settings.tools': array,
}
const CHECKS = (name: string): Fields => ({
  [`settings.${name}`]: array,
  [`settings.${name}[].id`]: string,
  [`settings.${name}[].execute_on`]: { type: 'string', values: ['input'] },
  [`settings.${name}[].sample_rate`]: number,
})
const PARAMETERS: Fields = under('model.parameters', {
  name: string,
  frequency_penalty: { type: 'number', minimum: -2, maximum: 2 },
  max_tokens: integer,
  max_completion_tokens: integer,
  presence_penalty: { type: 'number', minimum: -2, maximum: 2 },
  response_format: object,
  'response_format.type': { type: 'string', values: ['text'] },
  reasoning_effort: { type: 'string', enum: EFFORT },
  verbosity: string,
  seed: integer,
  stop: { type: ['string', 'array'], maxItems: 4 },
  ...THINKING,
  temperature: { type: 'number', minimum: 0, maximum: 2 },
  top_p: { type: 'number', minimum: 0, maximum: 1 },
  top_k: integer,
  tool_choice: { type: ['string', 'object'] },
  parallel_tool_calls: boolean,
  modalities: array,
  'modalities[]': { type: 'string', enum: ['text', 'audio'] },
  ...GUARDRAILS,
  ...FALLBACKS,
  ...CACHE,
  ...LOAD_BALANCER,
  ...TIMEOUT,
})
const AGENT_MODEL: Fields = {
  'model.id': string,
  'model.integration_id': string,
  'model.parameters': object,
  ...PARAMETERS,
  ...under('model', RETRY),
}
const required = (fields: Fields, ...names: string[]): Fields =>
  Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, names.includes(name) ? { ...field, required: true } : field]),
  )

const A2A_MESSAGE: Fields = {
  kind: { type: 'string', enum: ['message'] },
  messageId: string,
  role: string,
  parts: array,
  'parts[].kind': { type: 'string', values: ['text'] },
  'parts[].text': string,
}

const DATASET: Fields = {
  _id: uuid,
  display_name: { type: 'string', minLength: 1, maxLength: 128 },
  project_id: uuid,
  workspace_id: uuid,
  metadata: object,
  'metadata.total_versions': integer,
  'metadata.datapoints_count': integer,
  created_by_id: uuid,
  updated_by_id: uuid,
  created: string,
  updated: string,
}
const VERSION: Fields = {
  _id: string,
  created_at: string,
  updated_at: string,
  version: string,
  checksum: string,
  entityType: string,
  entityId: string,
  workspace_id: string,
  created_by_id: string,
  updated_by_id: string,
  description: string,
  data: object,
}
const page = (record: Fields): Fields => ({
  object: { type: 'string', enum: ['list'] },
  data: array,
  ...under('data[]', record),
  has_more: boolean,
})
const CURSORS: Fields = { starting_after: string, ending_before: string }

const EVALUATOR: Fields = {
  type: { type: 'string', values: ['llm_eval'] },
  prompt: string,
  key: { type: 'string', minLength: 1, pattern: '^[a-zA-Z0-9]([a-zA-Z0-9_-]*[a-zA-Z0-9])?$' },
  mode: { type: 'string', enum: ['single'] },
  model: string,
  description: string,
  guardrail_config: object,
  'guardrail_config.enabled': boolean,
  'guardrail_config.type': { type: 'string', values: ['boolean'] },
  'guardrail_config.value': { type: ['boolean', 'number'] },
  'guardrail_config.alert_on_failure': boolean,
  repetitions: { type: 'integer', minimum: 1, maximum: 3 },
  categories: array,
  'categories[]': string,
  categorical_labels: array,
  'categorical_labels[].value': string,
  'categorical_labels[].description': string,
}
const REVIEW_SET: Fields = {
  display_name: { type: 'string', minLength: 1, maxLength: 255 },
  human_eval_ids: { type: 'array', minItems: 1 },
  'human_eval_ids[]': ulid,
  filter_type: { type: 'string', values: ['span_type'] },
  filter_values: { type: 'array', minItems: 1 },
  'filter_values[]': string,
  description: string,
  project_id: uuid,
}
const CONTACT: Fields = {
  external_id: { type: 'string', minLength: 1, maxLength: 120 },
  display_name: string,
  email: string,
  avatar_url: string,
  tags: array,
  'tags[]': string,
  metadata: object,
}
const TOOL: Fields = {
  _id: prefixed('tool'),
  path: string,
  key: string,
  description: string,
  project_id: string,
  workspace_id: string,
  created: string,
  updated: string,
  display_name: string,
  created_by_id: string,
  updated_by_id: string,
  type: { type: 'string', values: ['function'] },
  status: { type: 'string', values: ['live'] },
  function: object,
  'function.name': string,
  'function.description': string,
  'function.strict': boolean,
  'function.parameters': object,
  'function.parameters.type': { type: 'string', enum: ['object'] },
  'function.parameters.properties': object,
  'function.parameters.required': array,
  'function.parameters.required[]': string,
}

const message = { role: 'user', parts: [{ kind: 'text', text: 'Where is my parcel?' }], messageId: 'm-1' }
const chatMessages = [
  { role: 'system', content: 'Be brief.', name: 'house' },
  { role: 'user', content: 'Hello' },
]
const functionTool = { name: 'look_up', description: 'Looks up.', strict: false, parameters: { type: 'object' } }
const metadata = { a: 'b' }
const sound = {
  file: 'interview.mp3',
  model: 'openai/whisper-1',
  svc: { name: 'a call', fallbacks: [{ model: 'openai/whisper-1' }] },
}

/** All operations of the specification, in its order. */
export const SPECIFICATION: readonly SpecifiedOperation[] = [
  {
    method: 'post',
    path: '/v2/feedback',
    status: 200,
    body: FEEDBACK,
    answer: FEEDBACK,
    bodies: [feedback],
  },
  {
    method: 'post',
    path: '/v2/feedback/remove',
    status: 200,
    body: { id: string, trace_id: string, product: PRODUCT },
    answer: { id: string, trace_id: string, product: PRODUCT },
    bodies: [{ id: feedback.id, trace_id: feedback.trace_id, product: 'router' }],
  },
  {
    method: 'post',
    path: '/v2/router/responses',
    status: 200,
    body: {
      model: string,
      input: { type: ['string', 'array'] },
      metadata: object,
      temperature: { type: 'number', minimum: 0, maximum: 2 },
      top_p: { type: 'number', minimum: 0, maximum: 1 },
      previous_response_id: string,
      instructions: string,
      reasoning: object,
      'reasoning.effort': { type: 'string', values: ['none'] },
      'reasoning.summary': { type: 'string', values: ['auto'] },
      ...THINKING,
      max_output_tokens: integer,
      text: object,
      'text.format': object,
      'text.format.type': { type: 'string', values: ['text'] },
      include: array,
      'include[]': { type: 'string', enum: INCLUDE },
      parallel_tool_calls: boolean,
      store: boolean,
      service_tier: { type: ['string', 'null'], enum: SERVICE_TIER, default: 'auto' },
      tools: array,
      ...FUNCTION_TOOL,
      tool_choice: { type: ['string', 'object'], values: TOOL_CHOICE },
      stream: { type: 'boolean', default: false },
    },
    answer: {
      id: string,
      object: { type: 'string', enum: ['response'] },
      created_at: integer,
      status: { type: 'string', enum: ['completed', 'failed', 'in_progress', 'cancelled', 'queued', 'incomplete'] },
      incomplete_details: object,
      'incomplete_details.reason': { type: 'string', values: ['max_output_tokens'] },
      model: string,
      output: array,
      'output[].id': string,
      'output[].type': { type: 'string', values: ['message'] },
      'output[].role': { type: 'string', values: ['assistant'] },
      'output[].status': string,
      'output[].content': array,
      parallel_tool_calls: boolean,
      error: object,
      'error.code': string,
      'error.message': string,
      instructions: string,
      output_text: string,
      usage: object,
      'usage.input_tokens': integer,
      'usage.output_tokens': integer,
      'usage.total_tokens': integer,
      'usage.input_tokens_details.cached_tokens': integer,
      'usage.output_tokens_details.reasoning_tokens': integer,
      'usage.output_tokens_details.accepted_prediction_tokens': integer,
      'usage.output_tokens_details.rejected_prediction_tokens': integer,
      temperature: number,
      top_p: number,
      max_output_tokens: integer,
      previous_response_id: string,
      metadata: object,
      tool_choice: { type: 'string', values: TOOL_CHOICE },
      tools: array,
      ...FUNCTION_TOOL,
      reasoning: object,
      'reasoning.effort': string,
      'reasoning.summary': string,
      store: boolean,
      text: object,
      'text.format': object,
      'text.format.type': string,
      truncation: { type: ['string', 'null'], enum: ['auto', 'disabled'] },
      user: string,
      service_tier: { type: ['string', 'null'], enum: SERVICE_TIER },
      background: boolean,
      top_logprobs: { type: 'integer', minimum: 0, maximum: 20 },
      logprobs: boolean,
    },
    bodies: [
      {
        model: 'openai/gpt-4o',
        input: 'Hello',
        metadata,
        instructions: 'Be brief.',
        reasoning: { effort: 'none', summary: 'auto' },
        thinking: { type: 'enabled', budget_tokens: 1024 },
        max_output_tokens: 50,
        text: { format: { type: 'text' } },
        include: ['message.output_text.logprobs'],
        tools: [{ type: 'function', ...functionTool }],
      },
    ],
  },
  {
    method: 'post',
    path: '/v2/router/chat/completions',
    status: 200,
    body: {
      ...MESSAGE,
      model: string,
      metadata: { type: 'object', maxProperties: 16, maxKeyLength: 64, maxValueLength: 512 },
      name: string,
      audio: object,
      'audio.voice': string,
      'audio.format': string,
      frequency_penalty: { type: 'number', minimum: -2, maximum: 2 },
      presence_penalty: { type: 'number', minimum: -2, maximum: 2 },
      max_tokens: { type: 'integer', deprecated: true },
      max_completion_tokens: integer,
      logprobs: boolean,
      top_logprobs: { type: 'integer', minimum: 0, maximum: 20 },
      n: { type: 'integer', minimum: 1 },
      response_format: object,
      'response_format.type': { type: 'string', values: ['text'] },
      reasoning_effort: { type: 'string', enum: EFFORT },
      verbosity: string,
      seed: integer,
      stop: { type: ['string', 'array'], maxItems: 4 },
      'stop[]': string,
      stream_options: object,
      'stream_options.include_usage': boolean,
      ...THINKING,
      temperature: { type: 'number', minimum: 0, maximum: 2 },
      top_p: { type: 'number', minimum: 0, maximum: 1 },
      top_k: integer,
      tools: array,
      'tools[].type': { type: 'string', values: ['function'] },
      'tools[].function': object,
      'tools[].function.name': string,
      'tools[].function.description': string,
      'tools[].function.strict': boolean,
      tool_choice: { type: ['string', 'object'], values: TOOL_CHOICE },
      parallel_tool_calls: boolean,
      modalities: { type: 'array', default: ['text'] },
      'modalities[]': { type: 'string', enum: ['text', 'audio'] },
      ...GUARDRAILS,
      ...ROUTING,
      ...CACHE,
      variables: object,
      template_engine: string,
      ...PROMPT_SERVICE,
      stream: { type: 'boolean', default: false },
    },
    answer: {
      id: string,
      choices: array,
      'choices[].finish_reason': string,
      'choices[].index': integer,
      'choices[].message': object,
      ...under('choices[].message', {
        content: string,
        refusal: string,
        role: { type: 'string', enum: ['assistant'] },
        reasoning: string,
        reasoning_signature: string,
        redacted_reasoning: string,
        tool_calls: array,
        ...under('tool_calls[]', {
          index: integer,
          id: string,
          type: { type: 'string', values: ['function'] },
          'function.name': string,
          'function.arguments': string,
          thought_signature: string,
        }),
        audio: object,
        'audio.id': string,
        'audio.expires_at': integer,
        'audio.data': string,
        'audio.transcript': string,
      }),
      'choices[].logprobs': object,
      ...under('choices[].logprobs', { ...logprobsOf('content'), ...logprobsOf('refusal') }),
      created: integer,
      model: string,
      object: { type: 'string', enum: ['chat.completion'] },
      system_fingerprint: string,
      ...CHAT_USAGE,
    },
    bodies: [
      {
        messages: chatMessages,
        model: 'openai/gpt-4o',
        metadata,
        name: 'a call',
        logprobs: true,
        top_logprobs: 1,
        max_completion_tokens: 50,
        response_format: { type: 'text' },
        stop: ['\n'],
        thinking: { type: 'enabled', budget_tokens: 1024 },
        tools: [{ type: 'function', function: functionTool }],
        modalities: ['text'],
        guardrails: [{ id: 'svc_pii_detection', execute_on: 'input' }],
        ...routing,
        cache,
        variables: { a: 'b' },
        template_engine: 'text',
        svc: promptService,
      },
      { messages: chatMessages, model: 'openai/gpt-4o', stream: true, stream_options: { include_usage: true } },
      {
        messages: chatMessages,
        model: 'openai/gpt-4o-audio-preview',
        modalities: ['text', 'audio'],
        audio: { voice: 'alloy', format: 'mp3' },
        max_tokens: 50,
      },
    ],
  },
  {
    method: 'post',
    path: '/v2/router/completions',
    status: 200,
    body: {
      model: string,
      prompt: { type: ['string', 'array'] },
      echo: { type: 'boolean', default: false },
      frequency_penalty: { type: 'number', minimum: -2, maximum: 2, default: 0 },
      presence_penalty: { type: 'number', minimum: -2, maximum: 2, default: 0 },
      max_tokens: { type: 'integer', default: 16 },
      seed: integer,
      stop: { type: ['string', 'array'], maxItems: 4 },
      'stop[]': string,
      temperature: { type: 'number', default: 1 },
      top_p: { type: 'number', minimum: 0, maximum: 1, default: 1 },
      n: { type: 'integer', default: 1 },
      user: string,
      name: string,
      ...ROUTING,
      ...THINKING,
      ...PROMPT_SERVICE,
      ...CACHE,
      stream: { type: 'boolean', default: false },
    },
    // The specification has `created` as a string; clients read it as a number.
    answer: {
      id: string,
      choices: array,
      'choices[].finish_reason': string,
      'choices[].index': integer,
      'choices[].text': string,
      model: string,
      object: string,
      created: integer,
      system_fingerprint: string,
      ...CHAT_USAGE,
    },
    bodies: [
      {
        ...withModel('openai/gpt-3.5-turbo-instruct'),
        prompt: 'Once upon a time',
        stop: ['\n'],
        thinking: { type: 'enabled', budget_tokens: 1024 },
        cache,
        svc: { ...promptService, fallbacks: [{ model: 'openai/gpt-3.5-turbo-instruct' }] },
      },
    ],
  },
  {
    method: 'post',
    path: '/v2/router/images/generations',
    status: 200,
    body: {
      prompt: string,
      model: string,
      background: { type: ['string', 'null'], enum: ['transparent', 'opaque', 'auto'] },
      moderation: { type: ['string', 'null'], enum: ['low', 'auto'] },
      n: { type: 'integer', minimum: 1, maximum: 10, default: 1 },
      output_compression: { type: 'integer', minimum: 0, maximum: 100 },
      output_format: { type: ['string', 'null'], enum: ['png', 'jpeg', 'webp'] },
      quality: { type: ['string', 'null'], enum: ['auto', 'high', 'medium', 'low', 'hd', 'standard'] },
      response_format: { type: ['string', 'null'], enum: ['url', 'b64_json'] },
      size: string,
      style: { type: ['string', 'null'], enum: ['vivid', 'natural'] },
      metadata: object,
      name: string,
      ...ROUTING,
      ...SERVICE,
      ...CACHE,
    },
    answer: {
      created: integer,
      data: array,
      'data[].revised_prompt': string,
      'data[].b64_json': string,
      'data[].url': string,
      usage: object,
      'usage.input_tokens_details': object,
      'usage.input_tokens_details.image_tokens': integer,
      'usage.input_tokens_details.text_tokens': integer,
      'usage.input_tokens': integer,
      'usage.output_tokens': integer,
      'usage.total_tokens': integer,
    },
    bodies: [
      { ...withModel('openai/dall-e-2'), prompt: 'a cat', size: '256x256', response_format: 'url', metadata, cache },
      { ...withModel('openai/dall-e-3'), prompt: 'a cat', size: '1024x1024', response_format: 'url', style: 'natural' },
      {
        ...withModel('openai/gpt-image-1'),
        prompt: 'a cat',
        size: '1024x1024',
        quality: 'low',
        background: 'auto',
        moderation: 'low',
        output_format: 'webp',
        output_compression: 50,
      },
      { ...withModel('openai/gpt-image-1'), prompt: 'a cat', output_format: 'png' },
    ],
  },
  {
    method: 'post',
    path: '/v2/router/embeddings',
    status: 200,
    body: {
      input: { type: ['string', 'array'], minLength: 1 },
      model: string,
      encoding_format: { type: 'string', enum: ['float', 'base64'] },
      dimensions: integer,
      user: string,
      name: string,
      ...ROUTING,
      ...SERVICE,
      ...CACHE,
    },
    answer: {
      object: { type: 'string', enum: ['list'] },
      data: array,
      'data[].object': { type: 'string', enum: ['embedding'] },
      'data[].embedding': array,
      'data[].embedding[]': number,
      'data[].index': integer,
      model: string,
      usage: object,
      'usage.prompt_tokens': integer,
      'usage.total_tokens': integer,
    },
    bodies: [{ ...withModel('openai/text-embedding-3-small'), input: 'Hello', cache }],
  },
  {
    method: 'post',
    path: '/v2/router/audio/translations',
    status: 200,
    form: true,
    body: {
      file: string,
      model: string,
      prompt: string,
      enable_logging: boolean,
      diarize: boolean,
      response_format: { type: 'string', enum: ['json', 'text', 'srt', 'verbose_json', 'vtt'] },
      tag_audio_events: boolean,
      num_speakers: { type: 'integer', maximum: 32 },
      timestamps_granularity: { type: 'string', enum: ['none', 'word', 'character'] },
      temperature: { type: 'number', minimum: 0, maximum: 1 },
      name: string,
      ...ROUTING,
      ...SERVICE,
    },
    answer: { text: string },
    bodies: [{ ...sound, ...withModel('openai/whisper-1') }],
  },
  {
    method: 'post',
    path: '/v2/agents/{key}/task',
    status: 200,
    parameters: { key: string },
    body: {
      message: object,
      ...under('message', { ...A2A_MESSAGE, role: { type: 'string', values: ['user'] } }),
      task_id: string,
      variables: object,
      identity: object,
      contact: { type: 'object', deprecated: true },
      thread: object,
      memory: object,
      metadata: object,
      engine: { type: 'string', enum: ['text', 'jinja', 'mustache'] },
      configuration: object,
      'configuration.blocking': boolean,
    },
    answer: {
      id: string,
      contextId: string,
      kind: { type: 'string', enum: ['task'] },
      status: object,
      'status.state': { type: 'string', values: ['submitted'] },
      'status.timestamp': string,
      'status.message': object,
      ...under('status.message', A2A_MESSAGE),
      messages: array,
      ...under('messages[]', { ...A2A_MESSAGE, taskId: string, contextId: string, metadata: object }),
      metadata: object,
      'metadata.workspace_id': string,
      'metadata.trace_id': string,
    },
    bodies: [
      {
        message: { kind: 'message', ...message },
        variables: {},
        identity,
        contact: identity,
        thread,
        memory: { entity_id: 'user-1' },
        metadata,
        engine: 'text',
        configuration: { blocking: true },
      },
    ],
  },
  {
    method: 'post',
    path: '/v2/agents',
    status: 201,
    body: {
      ...required(AGENT, 'key', 'role', 'description', 'instructions', 'path', 'settings'),
      engine: { type: 'string', enum: ['text', 'jinja', 'mustache'], default: 'text' },
      skills: { type: ['array', 'null'] },
      model: { type: ['string', 'object'], required: true },
      ...AGENT_MODEL,
      fallback_models: array,
      'fallback_models[]': { type: ['string', 'object'] },
      ...CHECKS('evaluators'),
      ...CHECKS('guardrails'),
    },
    answer: {
      ...AGENT,
      _id: string,
      project_id: string,
      status: { type: 'string', enum: ['live', 'draft', 'pending', 'published'] },
      model: object,
      ...AGENT_MODEL,
      'model.fallback_models': array,
      'model.fallback_models[]': string,
      created_by_id: { type: ['string', 'null'] },
      updated_by_id: { type: ['string', 'null'] },
      created: string,
      updated: string,
      version: string,
      metrics: object,
      'metrics.total_cost': number,
      type: { type: 'string', enum: ['internal', 'a2a'] },
      a2a: object,
      'a2a.agent_url': string,
      'a2a.card_url': string,
      'a2a.headers': object,
      'a2a.cached_card': { type: [] },
    },
    bodies: [
      {
        key: 'table',
        role: 'Assistant',
        description: 'Answers questions.',
        instructions: 'Be brief.',
        path: 'Default',
        display_name: 'Table',
        system_prompt: 'You are an assistant.',
        memory_stores: [],
        knowledge_bases: [],
        team_of_agents: [],
        skills: ['reading'],
        variables: {},
        source: 'internal',
        engine: 'text',
        model: {
          id: 'openai/gpt-4o',
          integration_id: 'i-1',
          parameters: {
            name: 'a call',
            max_completion_tokens: 50,
            response_format: { type: 'text' },
            thinking: { type: 'enabled', budget_tokens: 1024 },
            stop: ['\n'],
            modalities: ['text'],
            guardrails: [{ id: 'svc_pii_detection', execute_on: 'input' }],
            cache,
            ...routing,
          },
          retry: { count: 2, on_codes: [429] },
        },
        fallback_models: ['openai/gpt-4o-mini'],
        settings: {
          max_iterations: 5,
          max_execution_time: 60,
          max_cost: 1,
          tool_approval_required: 'respect_tool',
          tools: [],
          evaluators: [{ id: 'polite', execute_on: 'input', sample_rate: 50 }],
          guardrails: [{ id: 'svc_pii_detection', execute_on: 'input', sample_rate: 50 }],
        },
      },
    ],
  },
  {
    method: 'patch',
    path: '/v2/datasets/{dataset_id}/datapoints/{datapoint_id}',
    status: 200,
    parameters: { dataset_id: string, datapoint_id: string },
    body: { inputs: object, ...MESSAGE, expected_output: string },
    answer: {
      _id: string,
      workspace_id: string,
      dataset_id: string,
      inputs: object,
      ...MESSAGE,
      expected_output: string,
      evaluations: array,
      ...under('evaluations[]', {
        id: string,
        evaluation_type: { type: 'string', values: ['human_review'] },
        human_review_id: string,
        reviewed_by_id: string,
        type: { type: 'string', values: ['string'] },
        value: string,
        source: string,
        reviewed_at: string,
      }),
      snapshot_version: string,
      created_by_id: string,
      updated_by_id: string,
      created: string,
      updated: string,
    },
    bodies: [{ inputs: { a: 'b' }, messages: chatMessages, expected_output: 'Yes.' }],
  },
  {
    method: 'get',
    path: '/v2/datasets/{dataset_id}',
    status: 200,
    parameters: { dataset_id: string },
    answer: DATASET,
  },
  {
    method: 'patch',
    path: '/v2/datasets/{dataset_id}',
    status: 200,
    parameters: { dataset_id: string },
    body: { display_name: { type: 'string', minLength: 1, maxLength: 128 }, project_id: uuid, path: string },
    answer: DATASET,
    bodies: [{ display_name: 'Questions', path: 'Default/questions' }],
  },
  {
    method: 'post',
    path: '/v2/knowledge/{knowledge_id}/datasources',
    status: 200,
    parameters: { knowledge_id: string },
    body: {
      display_name: string,
      file_id: string,
      chunking_options: object,
      'chunking_options.chunking_configuration': object,
      'chunking_options.chunking_configuration.type': { type: 'string', values: ['default'] },
      'chunking_options.chunking_cleanup_options': object,
      ...under('chunking_options.chunking_cleanup_options', {
        delete_emails: boolean,
        delete_credit_cards: boolean,
        delete_phone_numbers: boolean,
        clean_bullet_points: boolean,
        clean_numbered_list: boolean,
        clean_unicode: boolean,
        clean_dashes: boolean,
        clean_whitespaces: boolean,
      }),
    },
    answer: {
      display_name: string,
      status: { type: 'string', enum: ['pending', 'processing', 'completed', 'failed', 'queued'] },
      created: string,
      updated: string,
      knowledge_id: string,
      chunks_count: integer,
      _id: ulid,
      description: string,
      file_id: string,
      created_by_id: uuid,
      update_by_id: uuid,
    },
    bodies: [
      {
        display_name: 'Returns',
        chunking_options: {
          chunking_configuration: { type: 'default' },
          chunking_cleanup_options: { delete_emails: true },
        },
      },
    ],
  },
  {
    method: 'post',
    path: '/v2/evaluators',
    status: 200,
    body: {
      ...EVALUATOR,
      description: { type: 'string', default: '' },
      path: { type: 'string', minLength: 1 },
      output_type: { type: 'string', enum: ['boolean', 'categorical', 'number', 'string'] },
    },
    answer: { _id: string, ...EVALUATOR, created: string, updated: string },
    bodies: [
      {
        type: 'llm_eval',
        prompt: 'Is it right? {{log.output}}',
        path: 'Default',
        key: 'right',
        mode: 'single',
        model: 'openai/gpt-4o',
        guardrail_config: { enabled: true, type: 'boolean', value: true, alert_on_failure: false },
        output_type: 'boolean',
        repetitions: 1,
        categories: ['a'],
        categorical_labels: [{ value: 'a', description: 'The first.' }],
      },
    ],
  },
  {
    method: 'get',
    path: '/v2/evaluators/{id}/versions',
    status: 200,
    // The specification says both 1 to 50 and 1 to 200.
    parameters: { id: string, limit: { type: 'integer', minimum: 1, maximum: 200, default: 10 }, ...CURSORS },
    answer: page(VERSION),
  },
  {
    method: 'post',
    path: '/v2/human-eval-sets',
    status: 200,
    body: REVIEW_SET,
    answer: {
      _id: ulid,
      ...REVIEW_SET,
      workspace_id: string,
      created_by_id: string,
      updated_by_id: string,
      created: string,
      updated: string,
    },
    bodies: [
      {
        display_name: 'Answers',
        human_eval_ids: ['01JGFJJZ00Q8VN5K2ZC3R7WXYA'],
        filter_type: 'span_type',
        filter_values: ['chat_completion'],
        description: 'What to look at.',
      },
    ],
  },
  {
    method: 'get',
    path: '/v2/tools',
    status: 200,
    parameters: { limit: { type: 'integer', minimum: 1, maximum: 200 }, ...CURSORS },
    answer: page(TOOL),
  },
  {
    method: 'get',
    path: '/v2/tools/{tool_id}/versions/{version_id}',
    status: 200,
    parameters: { tool_id: string, version_id: string },
    answer: VERSION,
  },
  {
    method: 'post',
    path: '/v2/contacts',
    status: 200,
    body: CONTACT,
    answer: { _id: prefixed('contact'), ...CONTACT, created: string, updated: string },
    bodies: [
      {
        external_id: 'user-9',
        display_name: 'Ada',
        email: 'ada@example.com',
        avatar_url: 'https://example.com/a.png',
        tags: ['a'],
        metadata,
      },
    ],
  },
]
