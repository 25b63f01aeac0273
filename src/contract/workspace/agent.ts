// Agents: bodies and responses (the specification, "Agent" and "Create an agent").
import { z } from 'zod'
import { describedLoose, describedObject } from '../core/described.ts'
import { ChatRequest } from '../router/chat-request.ts'
import { KnowledgeBases, ModelId, Retry, TemplateEngine } from '../router/shared.ts'
import { Path, Ulid, Uuid } from './shared.ts'

/** A key that starts with a letter, in parts of letters and digits. */
const AgentKey = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[A-Za-z][A-Za-z0-9]*([._-][A-Za-z0-9]+)*$/, {
    error: "must begin with a letter and be letters and digits, with '.', '_' and '-' only between them",
  })

const { shape: chat } = ChatRequest
/** The `model.parameters` of the specification ("Agent"): fields of a chat completion. */
const Parameters = describedLoose('Model parameters, with the same meanings as in chat completions.', {
  name: chat.name,
  frequency_penalty: chat.frequency_penalty,
  max_tokens: chat.max_completion_tokens
    .describe('Deprecated: use `max_completion_tokens`.')
    .meta({ deprecated: true }),
  max_completion_tokens: chat.max_completion_tokens,
  presence_penalty: chat.presence_penalty,
  response_format: chat.response_format,
  reasoning_effort: chat.reasoning_effort,
  verbosity: chat.verbosity,
  seed: chat.seed,
  stop: chat.stop,
  thinking: chat.thinking,
  temperature: chat.temperature,
  top_p: chat.top_p,
  top_k: chat.top_k,
  tool_choice: chat.tool_choice,
  parallel_tool_calls: chat.parallel_tool_calls,
  modalities: chat.modalities,
  guardrails: chat.guardrails,
  fallbacks: chat.fallbacks,
  cache: chat.cache,
  load_balancer: chat.load_balancer,
  timeout: chat.timeout,
})
const connection = {
  integration_id: z.string().describe('The connection to the provider. Stored, but not used.').nullish(),
  parameters: Parameters.optional(),
  retry: Retry.optional(),
}
const ModelObject = z.looseObject({
  id: ModelId,
  ...connection,
})
const ModelChoice = z.union([ModelId, ModelObject])

/** The built-in tools, which need not be created; `src/agents/tools` implements them. */
const BUILT_IN_TOOLS = [
  'google_search',
  'web_scraper',
  'call_sub_agent',
  'retrieve_agents',
  'query_memory_store',
  'write_memory_store',
  'retrieve_memory_stores',
  'delete_memory_document',
  'retrieve_knowledge_bases',
  'query_knowledge_base',
  'current_date',
] as const
/** The workspace tools that an agent may refer to. */
const REFERRED_TOOLS = ['http', 'code', 'function', 'json_schema', 'mcp'] as const

/** Default timeout of a tool call, in seconds. */
export const TOOL_TIMEOUT = 120
const TIMEOUT = z.int().min(1).max(600).describe("Timeout of a call in seconds, on the session's clock.")
const approval = {
  requires_approval: z.boolean().describe('Whether its calls require approval.').optional(),
}
const AgentToolBody = z
  .looseObject({
    type: z.string().min(1).describe('Type of the tool: from the workspace, the platform, or a provider.'),
    key: z.string().min(1).describe('Key of the tool in the workspace.').optional(),
    id: z.string().min(1).describe('Id of the tool in the workspace, instead of its key.').optional(),
    tool_id: z.string().min(1).describe('For an MCP server: the tool of the server.').optional(),
    timeout: TIMEOUT.optional(),
    ...approval,
  })
  .superRefine((tool, context) => {
    const refuse = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message })
    const known: readonly string[] = [...BUILT_IN_TOOLS, ...REFERRED_TOOLS]
    if (!known.includes(tool.type) && !/^[a-z]+:[a-z_]+$/.test(tool.type))
      refuse('type', `must be one of ${known.join(', ')}, or a tool of a provider such as 'openai:web_search'`)
    if ((REFERRED_TOOLS as readonly string[]).includes(tool.type) && tool.key === undefined && tool.id === undefined)
      refuse('key', `is required when 'type' is '${tool.type}', or 'id': the tool of the workspace that is meant`)
    if (tool.type === 'mcp' && tool.tool_id === undefined)
      refuse('tool_id', "is required when 'type' is 'mcp': the one of the server's tools")
  })
const Check = z.looseObject({
  id: z.string().min(1).describe('An evaluator of the workspace by key or id.'),
  execute_on: z.enum(['input', 'output']).describe('Whether it checks the input or the output of the model.'),
  sample_rate: z.number().min(1).max(100).default(50).describe('Percentage of the iterations to evaluate.'),
})
const Guardrail = Check.extend({
  id: Check.shape.id.describe('A built-in guardrail, or an evaluator of the workspace by key or id.'),
})
const limits = {
  max_iterations: z.int().min(1).max(1000).describe('Maximum number of model calls per turn.'),
  max_execution_time: z.number().min(1).describe("Maximum duration of a turn in seconds, on the session's clock."),
  max_cost: z.number().min(0).describe('Maximum cost of a turn in USD at list price. 0 means no limit.'),
  tool_approval_required: z.enum(['all', 'respect_tool', 'none']).describe('Which tool calls require approval.'),
}
const settings = {
  max_iterations: limits.max_iterations.default(100),
  max_execution_time: limits.max_execution_time.default(600),
  max_cost: limits.max_cost.default(0).describe('Maximum cost of a turn in USD. 0 means no limit.'),
  tool_approval_required: limits.tool_approval_required.default('respect_tool'),
}
const toolsBody = z.array(AgentToolBody).describe('The tools that the agent can call.')
const checks = {
  evaluators: z.array(Check).describe('Evaluators of its model calls. The results are in the trace.'),
  guardrails: z.array(Guardrail).describe('Guardrails that can block its model calls.'),
}
const SettingsBody = z.looseObject({
  ...settings,
  tools: toolsBody.default([]),
  evaluators: checks.evaluators.default([]),
  guardrails: checks.guardrails.default([]),
})
const TeamMember = z.looseObject({
  key: z.string().min(1).describe('Key of the agent.'),
  role: z.string().optional().describe('Description for the orchestrating agent.'),
})
const fields = {
  key: AgentKey.describe('Must be unique in the workspace.'),
  role: z.string().min(1).describe('Short role description. Part of the system prompt.'),
  description: z.string().min(1),
  instructions: z.string().describe('Instructions for the agent. `{{name}}` inserts a variable.'),
  path: Path,
  display_name: z.string().max(255).optional(),
  system_prompt: z.string().min(1).nullish().describe('Default: a standard system prompt.'),
  memory_stores: z.array(z.string().min(1)).describe('Memory stores by key or id.'),
  knowledge_bases: KnowledgeBases.describe('Knowledge bases that its tools can search.'),
  team_of_agents: z.array(TeamMember).describe('Agents to which it can delegate tasks.'),
  variables: z
    .record(z.string(), z.unknown())
    .describe('Values of the variables. Variables in the instructions are added.'),
  source: z
    .enum(['internal', 'external', 'experiment'])
    .describe('Origin of the agent. Stored, but not used.')
    .optional(),
  engine: TemplateEngine,
}
const model = {
  model: ModelChoice.describe('A model that supports tools: its id, or an object with parameters and retry settings.'),
  fallback_models: z
    .array(ModelChoice)
    .nullish()
    .describe(
      'Models to try in order if the model fails, before the `fallbacks` of its parameters. An object has its own parameters, retries, and timeout. Name, guardrails, cache, and load balancer come from `model`.',
    ),
}
const HEADERS = 20
const a2aFields = {
  agent_url: z.url().describe('URL of the agent.'),
  card_url: z.url().describe('URL of its card. Default: the agent URL followed by `/card`.').optional(),
  headers: z
    .record(
      z.string(),
      z.looseObject({
        value: z.string().describe('Value of the header.'),
        encrypted: z
          .boolean()
          .describe('Whether the value is a secret. Understudy does not encrypt it.')
          .default(false),
      }),
    )
    .refine((headers) => Object.keys(headers).length <= HEADERS, { error: `must have at most ${HEADERS} headers` })
    .meta({ maxProperties: HEADERS })
    .optional(),
  cached_card: z.unknown().describe('The card as last read.').optional(),
}
const A2a = z
  .looseObject(a2aFields)
  .transform((a2a) => ({ ...a2a, card_url: a2a.card_url ?? `${a2a.agent_url.replace(/\/$/, '')}/card` }))
const skills = z.array(z.string()).describe('Names of skills. Stored, but not used.')
const kind = {
  type: z.enum(['internal', 'a2a']).default('internal').describe('`a2a` is a remote agent. It is stored, but not run.'),
  a2a: A2a.describe('Location of a remote agent.').optional(),
}

/** The body that creates an agent. */
export const AgentBody = z
  .object({
    ...fields,
    ...model,
    ...kind,
    skills: skills.nullish(),
    memory_stores: fields.memory_stores.default([]),
    knowledge_bases: fields.knowledge_bases.default([]),
    team_of_agents: fields.team_of_agents.default([]),
    variables: fields.variables.default({}),
    engine: fields.engine.default('text'),
    settings: SettingsBody.describe('The limits, tools and checks of the agent.'),
  })
  .superRefine((agent, context) => {
    const refuse = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message })
    if (agent.type === 'a2a' && !agent.a2a) refuse('a2a', "is required when 'type' is 'a2a'")
    if (agent.type === 'internal' && agent.a2a) refuse('a2a', "is only for agents of 'type' 'a2a'")
    const tools = agent.settings.tools.map(({ type }) => type)
    const team = tools.filter((type) => type === 'retrieve_agents' || type === 'call_sub_agent')
    if (agent.team_of_agents.length > 0 && new Set(team).size < 2)
      refuse('settings.tools', "must have 'retrieve_agents' and 'call_sub_agent' when there is a team")
  })
export type AgentBody = z.infer<typeof AgentBody>

/** The body that changes one: any of the fields. */
export const AgentPatch = z
  .object({
    ...fields,
    ...model,
    skills: skills.nullish(),
    settings: z
      .looseObject({ ...limits, tools: toolsBody, ...checks })
      .partial()
      .describe('The limits, tools and checks of the agent.'),
  })
  .partial()

/** A tool of an agent in a response: always an entry of its own, whatever the form of the request. */
export const AgentTool = z.object({
  id: z.string().describe('Id of the tool in this agent.'),
  action_type: z.string().describe('Type of the tool, as in the request.'),
  key: z.string().describe('The name that the model uses to call it.').optional(),
  display_name: z.string().optional(),
  description: z.string().optional(),
  requires_approval: z.boolean().describe('Whether its calls require approval.').default(false),
  tool_id: z.string().describe('For an MCP server: the tool of the server.').optional(),
  timeout: TIMEOUT.default(TOOL_TIMEOUT),
})
export type AgentTool = z.infer<typeof AgentTool>

/** An agent in a response. */
export const Agent = z.object({
  _id: Ulid,
  ...fields,
  project_id: Uuid,
  status: z
    .enum(['live', 'draft', 'pending', 'published'])
    .describe('Status of the version. `live` is the latest version.'),
  skills,
  model: describedObject('The model of the agent.', {
    id: z.string().describe('The model, as `<provider>/<model>`.'),
    ...connection,
    fallback_models: z.array(z.string()).describe('Models to try in order if the model fails.').nullish(),
  }),
  version: z
    .string()
    .describe('Semantic version of the manifest.')
    .meta({ examples: ['1.0.0'] }),
  metrics: z.object({ total_cost: z.number().describe('USD at list price.') }).describe('Total usage of its tasks.'),
  type: z.enum(['internal', 'a2a']).describe('`a2a` is a remote agent. It is stored, but not run.'),
  a2a: z
    .looseObject({
      ...a2aFields,
      card_url: z.url().describe('URL of its card. Default: the agent URL followed by `/card`.'),
    })
    .optional()
    .describe('Only for agents of type `a2a`.'),
  settings: describedObject('The limits, tools and checks of the agent.', {
    ...settings,
    tools: z.array(AgentTool).describe('The tools that the agent can call.'),
    ...checks,
  }),
  created_by_id: Uuid.nullish(),
  updated_by_id: Uuid.nullish(),
  created: z.string().describe('Creation time: ISO 8601, UTC.'),
  updated: z.string().describe('Time of the last update: ISO 8601, UTC.'),
})
export type Agent = z.infer<typeof Agent>
