// What strict clients accept of the workspace operations: a value that does not fit makes them throw. Written from what
// such clients declare, not from the schemas of src.
import { z } from 'zod'
import { strictAgent } from './agents.ts'

const date = z.iso.datetime({ offset: true })
const list = (item: z.ZodType) => z.looseObject({ object: z.string(), data: z.array(item), has_more: z.boolean() })

const dataset = z.looseObject({
  _id: z.string(),
  display_name: z.string(),
  project_id: z.string(),
  workspace_id: z.string(),
  metadata: z.looseObject({ total_versions: z.number(), datapoints_count: z.number() }),
  created_by_id: z.string().optional(),
  updated_by_id: z.string().optional(),
  created: date.optional(),
  updated: date,
})

const text = z.looseObject({ type: z.literal('text'), text: z.string() })
const message = z.discriminatedUnion('role', [
  z.looseObject({
    role: z.literal('system'),
    content: z.union([z.string(), z.array(text)]),
    name: z.string().optional(),
  }),
  z.looseObject({ role: z.literal('developer'), content: z.union([z.string(), z.array(text)]) }),
  z.looseObject({
    role: z.literal('user'),
    content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]),
  }),
  z.looseObject({
    role: z.literal('assistant'),
    content: z.union([z.string(), z.array(z.looseObject({ type: z.string() })), z.null()]).optional(),
    tool_calls: z
      .array(
        z.looseObject({
          id: z.string(),
          type: z.literal('function'),
          function: z.looseObject({ name: z.string().optional(), arguments: z.string().optional() }),
        }),
      )
      .optional(),
  }),
  z.looseObject({
    role: z.literal('tool'),
    content: z.union([z.string(), z.array(text)]),
    tool_call_id: z.string().nullable(),
  }),
])
const review = { id: z.string(), human_review_id: z.string(), reviewed_by_id: z.string(), reviewed_at: date }
const reviewed = { ...review, evaluation_type: z.literal('human_review'), source: z.enum(['svc', 'external']) }
const datapoint = z.looseObject({
  _id: z.string(),
  workspace_id: z.string(),
  dataset_id: z.string(),
  inputs: z.record(z.string(), z.unknown()).optional(),
  messages: z.array(message).optional(),
  expected_output: z.string().optional(),
  evaluations: z
    .array(
      z.discriminatedUnion('type', [
        z.looseObject({ ...reviewed, type: z.literal('string'), value: z.string() }),
        z.looseObject({ ...reviewed, type: z.literal('number'), value: z.number() }),
        z.looseObject({ ...reviewed, type: z.literal('string_array'), values: z.array(z.string()) }),
      ]),
    )
    .optional(),
  snapshot_version: z.string().optional(),
  created_by_id: z.string().optional(),
  updated_by_id: z.string().optional(),
  created: date.optional(),
  updated: date,
})

const datasource = z.looseObject({
  _id: z.string(),
  display_name: z.string(),
  status: z.enum(['pending', 'processing', 'completed', 'failed', 'queued']),
  created: z.string(),
  updated: z.string(),
  knowledge_id: z.string(),
  chunks_count: z.number(),
  description: z.string().optional(),
  file_id: z.string().nullish(),
  created_by_id: z.string().nullish(),
  update_by_id: z.string().nullish(),
})

const guardrail = { enabled: z.boolean(), alert_on_failure: z.boolean().optional() }
const evaluator = z.looseObject({
  _id: z.string(),
  description: z.string(),
  type: z.literal('llm_eval'),
  prompt: z.string(),
  key: z.string(),
  mode: z.literal('single'),
  model: z.string(),
  created: z.string().optional(),
  updated: z.string().optional(),
  guardrail_config: z
    .discriminatedUnion('type', [
      z.looseObject({ ...guardrail, type: z.literal('boolean'), value: z.boolean() }),
      z.looseObject({ ...guardrail, type: z.literal('categorical'), values: z.array(z.string()) }),
      z.looseObject({
        ...guardrail,
        type: z.literal('number'),
        value: z.number(),
        operator: z.enum(['eq', 'ne', 'gt', 'gte', 'lt', 'lte']),
      }),
    ])
    .nullish(),
  repetitions: z.int().optional(),
  categories: z.array(z.string()).optional(),
  categorical_labels: z.array(z.looseObject({ value: z.string(), description: z.string().optional() })).optional(),
})

const version = z.looseObject({
  _id: z.string(),
  created_at: z.string(),
  updated_at: z.string(),
  version: z.string(),
  checksum: z.string(),
  entityType: z.string(),
  entityId: z.string(),
  data: z.record(z.string(), z.unknown()),
  workspace_id: z.string(),
  created_by_id: z.string().optional(),
  updated_by_id: z.string().optional(),
  description: z.string().optional(),
})

const reviewSet = {
  _id: z.string(),
  display_name: z.string(),
  human_eval_ids: z.array(z.string()),
  workspace_id: z.string(),
  description: z.string().optional(),
  project_id: z.string().optional(),
  created_by_id: z.string().optional(),
  updated_by_id: z.string().optional(),
  created: date.optional(),
  updated: date,
}

const parameters = z.looseObject({
  type: z.literal('object'),
  properties: z.record(z.string(), z.unknown()),
  required: z.array(z.string()),
})
const toolName = z.string().regex(/^[a-zA-Z0-9_-]{1,64}$/)
const headers = z
  .record(z.string(), z.union([z.string(), z.looseObject({ value: z.string(), encrypted: z.boolean() })]))
  .optional()
const toolBase = {
  _id: z.string(),
  path: z.string(),
  key: z.string(),
  description: z.string(),
  project_id: z.string(),
  workspace_id: z.string(),
  created: z.string(),
  updated: z.string(),
  display_name: z.string().optional(),
  created_by_id: z.string().optional(),
  updated_by_id: z.string().optional(),
  status: z.enum(['live', 'draft', 'pending', 'published']).optional(),
}
const tool = z.discriminatedUnion('type', [
  z.looseObject({
    ...toolBase,
    type: z.literal('function'),
    function: z.looseObject({
      name: toolName,
      description: z.string().optional(),
      strict: z.boolean().optional(),
      parameters: parameters.optional(),
    }),
  }),
  z.looseObject({
    ...toolBase,
    type: z.literal('json_schema'),
    json_schema: z.looseObject({
      name: z.string(),
      description: z.string(),
      schema: parameters,
      strict: z.boolean().optional(),
    }),
  }),
  z.looseObject({
    ...toolBase,
    type: z.literal('http'),
    http: z.looseObject({
      blueprint: z.looseObject({ url: z.string(), method: z.enum(['GET', 'POST', 'PUT', 'DELETE']), headers }),
      arguments: z
        .record(
          z.string(),
          z.looseObject({
            type: z.enum(['string', 'number', 'boolean']),
            description: z.string(),
            send_to_model: z.boolean().optional(),
          }),
        )
        .optional(),
    }),
  }),
  z.looseObject({
    ...toolBase,
    type: z.literal('mcp'),
    mcp: z.looseObject({
      server_url: z.string(),
      connection_type: z.enum(['http', 'sse']),
      headers,
      tools: z.array(
        z.looseObject({
          id: z.string().optional(),
          name: z.string(),
          description: z.string().optional(),
          schema: z.looseObject({ type: z.literal('object') }),
        }),
      ),
    }),
  }),
  z.looseObject({
    ...toolBase,
    type: z.literal('code'),
    code_tool: z.looseObject({ language: z.literal('python'), code: z.string(), parameters: parameters.optional() }),
  }),
])

const contact = z.looseObject({
  _id: z.string(),
  external_id: z.string(),
  display_name: z.string().nullish(),
  email: z.string().nullish(),
  avatar_url: z.string().nullish(),
  tags: z.array(z.string()).optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
  created: date.optional(),
  updated: date,
})

const products = [
  ...['remoteconfigs', 'deployments', 'experiments', 'playgrounds', 'spreadsheets', 'spreadsheet_run', 'llm_evaluator'],
  ...['knowledge', 'router', 'workflows', 'external_events', 'agents', 'memory-stores', 'generic', 'evaluators'],
  ...['otel', 'ai-chat'],
]
const product = z.enum(products)
const feedback = z.looseObject({
  id: z.string().optional(),
  property: z.string(),
  value: z.union([z.string(), z.number(), z.array(z.string())]),
  trace_id: z.string(),
  product: product.optional(),
})

/** What a strict client parses of each answer with status 200, by resource. */
export const strict: Record<string, z.ZodType> = {
  agent: strictAgent,
  dataset,
  datapoint,
  datasource,
  evaluator,
  evaluatorVersions: list(version),
  version,
  human_review_set: z.discriminatedUnion('filter_type', [
    z.looseObject({ ...reviewSet, filter_type: z.literal('span_type'), filter_values: z.array(z.string()) }),
    z.looseObject({ ...reviewSet, filter_type: z.literal('name'), filter_value: z.string() }),
  ]),
  tool,
  tools: list(tool),
  contact,
  feedback,
  feedbackRemoved: z.looseObject({ id: z.string(), trace_id: z.string(), product }),
}

/** The error body that strict clients parse: `code` is a text. */
export const strictError = z.looseObject({ code: z.string().optional(), message: z.string() })
/** All products of feedback. */
export const PRODUCTS = products
