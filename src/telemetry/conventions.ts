// Names in telemetry: the one file that changes with OpenTelemetry's semantic conventions. Those of HTTP and of
// services are of version 1.44.0. Those of GenAI left that version, have no release of their own yet and are all in
// development: the names are those of github.com/open-telemetry/semantic-conventions-genai in November 2026. Names that
// start with `understudy.` are ours; docs/telemetry.md lists them.

/** The schema URL of the core conventions in spans. */
export const SCHEMA_URL = 'https://opentelemetry.io/schemas/1.44.0'

/** Attributes of the core conventions. */
export const CORE = {
  errorType: 'error.type',
  method: 'http.request.method',
  resend: 'http.request.resend_count',
  status: 'http.response.status_code',
  route: 'http.route',
  path: 'url.path',
  scheme: 'url.scheme',
  serverAddress: 'server.address',
  serverPort: 'server.port',
  serviceName: 'service.name',
  serviceVersion: 'service.version',
} as const

/** Attributes of the conventions for GenAI. */
export const GEN_AI = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  conversation: 'gen_ai.conversation.id',
  requestModel: 'gen_ai.request.model',
  stream: 'gen_ai.request.stream',
  responseId: 'gen_ai.response.id',
  responseModel: 'gen_ai.response.model',
  finishReasons: 'gen_ai.response.finish_reasons',
  firstChunk: 'gen_ai.response.time_to_first_chunk',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
  cacheWriteTokens: 'gen_ai.usage.cache_write.input_tokens',
  agent: 'gen_ai.agent.name',
  tool: 'gen_ai.tool.name',
  toolCall: 'gen_ai.tool.call.id',
  dataSource: 'gen_ai.data_source.id',
  // Only if content is exported.
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  query: 'gen_ai.retrieval.query.text',
  documents: 'gen_ai.retrieval.documents',
} as const

/** Fields of requests, and their attributes; the first existing field counts. */
export const REQUEST_PARAMETERS = [
  {
    fields: ['max_completion_tokens', 'max_output_tokens', 'max_tokens'],
    name: 'gen_ai.request.max_tokens',
    as: 'int',
  },
  { fields: ['temperature'], name: 'gen_ai.request.temperature', as: 'double' },
  { fields: ['top_p'], name: 'gen_ai.request.top_p', as: 'double' },
  { fields: ['top_k'], name: 'gen_ai.request.top_k', as: 'int' },
  { fields: ['seed'], name: 'gen_ai.request.seed', as: 'int' },
  { fields: ['n'], name: 'gen_ai.request.choice.count', as: 'int' },
  { fields: ['frequency_penalty'], name: 'gen_ai.request.frequency_penalty', as: 'double' },
  { fields: ['presence_penalty'], name: 'gen_ai.request.presence_penalty', as: 'double' },
  { fields: ['reasoning_effort'], name: 'gen_ai.request.reasoning.level', as: 'text' },
  { fields: ['previous_response_id'], name: 'gen_ai.request.previous_response.id', as: 'text' },
] as const

/** Names of the router's operations in the conventions; operations without one keep their own. */
const OPERATIONS: Readonly<Record<string, string>> = {
  'chat.completions': 'chat',
  responses: 'chat',
  completions: 'text_completion',
  embeddings: 'embeddings',
}
/** The `gen_ai.operation.name` of an agent's turn. */
export const INVOKE_AGENT = 'invoke_agent'
/** The `gen_ai.operation.name` of a tool call. */
export const EXECUTE_TOOL = 'execute_tool'
/** The `gen_ai.operation.name` of a knowledge search. */
export const RETRIEVAL = 'retrieval'
/** The `gen_ai.operation.name` of an operation. */
export const genAiOperation = (operation: string): string => OPERATIONS[operation] ?? operation

const PROVIDERS: Readonly<Record<string, string>> = {
  aws: 'aws.bedrock',
  azure: 'azure.ai.openai',
  google: 'gcp.gemini',
  mistral: 'mistral_ai',
  xai: 'x_ai',
}
/** The `gen_ai.provider.name`, and the model, of an id such as `openai/gpt-4o`. */
export function providerAndModel(target: string): { provider: string; model: string } {
  const slash = target.indexOf('/')
  const provider = target.slice(0, Math.max(0, slash))
  return { provider: PROVIDERS[provider] ?? provider, model: target.slice(slash + 1) }
}

/** Our own attributes. */
export const OWN = {
  session: 'understudy.session',
  trace: 'understudy.trace',
  call: 'understudy.call',
  operation: 'understudy.operation',
  outcome: 'understudy.outcome',
  point: 'understudy.point',
  scenario: 'understudy.scenario',
  fixture: 'understudy.fixture',
  generated: 'understudy.generated',
  cost: 'understudy.cost',
  retryAfter: 'understudy.retry_after_ms',
  sessionDuration: 'understudy.duration_ms',
  attempt: 'understudy.attempt',
  reason: 'understudy.attempt.reason',
  position: 'understudy.attempt.position',
  wait: 'understudy.wait_ms',
  rule: 'understudy.fault.rule',
  cacheStatus: 'understudy.cache.status',
  cacheAge: 'understudy.cache.age_ms',
  guardrail: 'understudy.guardrail.id',
  guardrailStage: 'understudy.guardrail.stage',
  guardrailOutcome: 'understudy.guardrail.outcome',
  chunks: 'understudy.retrieval.chunks',
  inputLength: 'understudy.input.messages.length',
  outputLength: 'understudy.output.messages.length',
  queryLength: 'understudy.retrieval.query.length',
  documentsLength: 'understudy.retrieval.documents.length',
  iteration: 'understudy.agent.iteration',
  task: 'understudy.agent.task',
  taskState: 'understudy.agent.task_state',
  finding: 'understudy.finding.kind',
  severity: 'understudy.finding.severity',
  accepted: 'understudy.finding.accepted',
  message: 'understudy.finding.message',
  count: 'understudy.finding.count',
} as const

/** Events of spans. */
export const EVENTS = {
  fault: 'understudy.fault',
  wait: 'understudy.wait',
  finding: 'understudy.finding',
} as const
