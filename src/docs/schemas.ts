// JSON Schemas of the document (2020-12, the dialect of OpenAPI 3.1), each shape once and by its name, with descriptions of
// names that have the same meaning everywhere.
import { z } from 'zod'
import { Finding } from '../contract/core/finding.ts'
import { RuleReport } from '../contract/core/rule-report.ts'
import {
  AttemptRecord,
  Evaluation,
  GuardrailRecord,
  RetrievalRecord,
  StoredTrace,
  TaskStep,
  TaskTrace,
  TraceRecord,
} from '../contract/core/trace.ts'
import { ExpectationReport, Verification } from '../contract/core/verification.ts'
import { TokenLogprob, Usage } from '../contract/router/chat.ts'
import { Message } from '../contract/router/chat-request.ts'
import { InputItem } from '../contract/router/responses.ts'
import { ModelResponse, OutputItem, ResponseUsage } from '../contract/router/responses-answer.ts'
import { ResponsesTool, ResponsesToolChoice } from '../contract/router/responses-tools.ts'
import { Cache, Identity, LoadBalancer, Retry, Thinking, Thread, Timeout } from '../contract/router/shared.ts'
import { Agent, AgentTool } from '../contract/workspace/agent.ts'
import { AgentTask, RequestMessage, TaskMessage } from '../contract/workspace/agent-task.ts'
import { Chunk } from '../contract/workspace/chunks.ts'
import { Contact } from '../contract/workspace/contact.ts'
import { Datapoint, Dataset } from '../contract/workspace/dataset.ts'
import { Evaluator } from '../contract/workspace/evaluator.ts'
import { Event, Feedback } from '../contract/workspace/feedback.ts'
import { FilterBy } from '../contract/workspace/filter.ts'
import { ChunkingOptions, Datasource, FileRecord, Knowledge } from '../contract/workspace/knowledge.ts'
import { Memory, MemoryDocument, MemoryStore } from '../contract/workspace/memory.ts'
import { Project } from '../contract/workspace/project.ts'
import { ReviewSet } from '../contract/workspace/review-set.ts'
import { Deleted, VersionRecord } from '../contract/workspace/shared.ts'
import { Tool } from '../contract/workspace/tool.ts'
import { onceFor } from '../lib/once.ts'

/** Parameters of paths, which have no schema of their own. */
export const PATH_PARAMETERS: Readonly<Record<string, string>> = {
  id: 'Id of the record. Evaluators also accept their key.',
  name: 'Name of the session or of the image.',
  model: 'Name of the model.',
  project_id: 'Id of the project.',
  dataset_id: 'Id of the dataset.',
  version_id: 'Id of the version record.',
  datapoint_id: 'Id of the datapoint.',
  file_id: 'Id of the file, from its upload.',
  knowledge_id: 'Id of the knowledge base.',
  datasource_id: 'Id of the datasource.',
  chunk_id: 'Id of the chunk.',
  human_eval_set_id: 'Id of the human review set.',
  tool_id: 'Id of the tool.',
  contact_id: 'Id of the contact.',
  memory_store_key: 'Key of the memory store.',
  entity_id: 'Id of the memory, or of the entity (such as a user or a session) that it belongs to.',
  document_id: 'Id of the document.',
  key: 'Key or id of the agent.',
  feedback_id: 'Id of the stored feedback (`_id`).',
  event_id: 'Id of the event.',
  task_id: 'Id of the task.',
}

/** Properties without a description in their schema, by name. */
export const PROPERTIES: Readonly<Record<string, string>> = {
  role: "Role of the message's author.",
  strict: 'Whether the model output must match the schema exactly. Default `false`.',
  email: "The person's e-mail address.",
  knowledge_id: 'Id of the knowledge base.',
  total_tokens: 'Total number of tokens.',
  usage: 'Token counts of the call. In a stream, only at the end.',
  call_id: 'Id of the call. The item with its result has the same id.',
  description: 'Description for people. For tools and agents, models read it, too.',
  stream: 'Whether to stream the response as server-sent events.',
  metadata: 'Custom key-value pairs, stored and returned unchanged.',
  sequence_number: 'Index of the event in the stream, from 0.',
  output_index: 'Index of the item in `output`, from 0.',
  item_id: 'Id of the item.',
  content_index: 'Index of the content part in the item, from 0.',
  summary_index: 'Index of the summary part, from 0.',
  session: 'Name of the session.',
  operation: 'Name of the operation, such as `chat.completions`.',
  outcome: 'Outcome.',
  data: 'The records on this page.',
  _id: 'Id of the record, assigned by the server. It never changes.',
  workspace_id: 'The workspace of the record, determined by the token.',
  created_by_id: 'The creator: the user of the token.',
  updated_by_id: 'The last editor: the user of the token.',
  project_id: 'The project of the record: the first segment of its `path`.',
  display_name: 'Display name.',
  headers: 'Headers to send, by name. A value is a string, or an object that marks it as a secret.',
  product: 'The product that produced the rated generation.',
}

/**
 * Describes a property of a JSON Schema by its name, or by its only possible value.
 * @returns the property itself if it has a description, or if there is none to add
 */
export function describe(property: Record<string, unknown>, name: string): Record<string, unknown> {
  if (property.description !== undefined) return property
  const description = PROPERTIES[name] ?? (property.const === undefined ? undefined : `Always \`${property.const}\`.`)
  return description === undefined ? property : { ...property, description }
}

/** A JSON Schema or another part of the OpenAPI document. */
export type SchemaJson = Record<string, unknown>
type Io = 'input' | 'output'

/** JSON Schema of a zod schema, in the most readable form. */
const jsonSchema = (schema: z.ZodType, io: Io): SchemaJson => converted[io](schema)
// Once per schema: a process may have many applications, whose documents share nearly all schemas.
const converted = {
  input: onceFor((schema: z.ZodType) => convert(schema, 'input')),
  output: onceFor((schema: z.ZodType) => convert(schema, 'output')),
}

function convert(schema: z.ZodType, io: Io): SchemaJson {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    reused: 'inline',
    override: ({ jsonSchema }) => withoutBounds(jsonSchema as SchemaJson),
  }) as SchemaJson
  return rest
}

/** Drops the limits that only define an integer. */
function withoutBounds(schema: SchemaJson): void {
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
}

/** Keywords that may stand beside a reference. */
const BESIDE = ['description', 'default', 'deprecated', 'examples'] as const
const signatureOf = (schema: SchemaJson): string =>
  JSON.stringify(schema, (key, value) =>
    key === '' ? { ...value, ...Object.fromEntries(BESIDE.map((one) => [one])) } : value,
  )
const isShape = (schema: SchemaJson) => 'properties' in schema || 'oneOf' in schema || 'anyOf' in schema

/** The named schemas of a document. */
export type Schemas = ReturnType<typeof createSchemas>

/** A new collection with the names of shared schemas. */
export function createSchemas() {
  const known = new Map<string, { name: string; schema: SchemaJson }>()
  const used = new Map<string, SchemaJson>()
  const add = (name: string, schema: SchemaJson) => known.getOrInsert(signatureOf(schema), { name, schema })
  for (const [name, schema] of Object.entries(ANSWER_NAMES())) add(name, jsonSchema(schema, 'output'))
  for (const [name, schema] of Object.entries(REQUEST_NAMES())) {
    const output = jsonSchema(schema, 'output')
    const input = add(name, jsonSchema(schema, 'input'))
    if (signatureOf(input.schema) !== signatureOf(output)) add(`${name}Output`, output)
  }
  const reference = ({ name, schema }: { name: string; schema: SchemaJson }, extra: SchemaJson): SchemaJson => {
    if (!used.has(name)) {
      used.set(name, {})
      used.set(name, partsOf(schema))
    }
    const more = BESIDE.filter((key) => extra[key] !== undefined && extra[key] !== schema[key])
    return { $ref: `#/components/schemas/${name}`, ...Object.fromEntries(more.map((key) => [key, extra[key]])) }
  }
  const walk = (schema: unknown): unknown => {
    if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return schema
    const found = isShape(schema as SchemaJson) ? known.get(signatureOf(schema as SchemaJson)) : undefined
    return found ? reference(found, schema as SchemaJson) : partsOf(schema as SchemaJson)
  }
  const partsOf = (schema: SchemaJson): SchemaJson => {
    const changed: SchemaJson = { ...schema }
    const [value, other] = (schema.anyOf ?? []) as SchemaJson[]
    if (other?.type === 'null' && value?.description !== undefined) changed.description ??= value.description
    if ('items' in schema) changed.items = walk(schema.items)
    for (const key of ['additionalProperties', 'propertyNames', 'not'])
      if (key in schema) changed[key] = walk(schema[key])
    for (const key of ['anyOf', 'oneOf', 'allOf', 'prefixItems'])
      if (key in schema) changed[key] = (schema[key] as unknown[]).map(walk)
    if (schema.oneOf && !isExclusive(schema.oneOf as SchemaJson[])) {
      changed.anyOf = changed.oneOf
      delete changed.oneOf
    }
    if (schema.properties) {
      const own = Object.entries(schema.properties as Record<string, SchemaJson>)
      changed.properties = Object.fromEntries(
        own.map(([name, property]) => [name, describe(orNull(walk(property) as SchemaJson), name)]),
      )
    }
    return orNull(changed)
  }
  return {
    /** A reference to a schema, which gets a name unless it has one. */
    refer: (schema: z.ZodType, io: Io, name: string) => reference(add(name, jsonSchema(schema, io)), {}),
    /** An inline schema that may contain references. */
    inline: (schema: z.ZodType, io: Io) => walk(jsonSchema(schema, io)) as SchemaJson,
    /** All referenced schemas, by name. */
    all: (): Record<string, SchemaJson> =>
      Object.fromEntries([...used].sort(([one], [other]) => (one < other ? -1 : 1))),
  }
}

/** Whether one and the same property identifies every choice; otherwise a value may match several. */
function isExclusive(choices: readonly SchemaJson[]): boolean {
  const saysSo = (choice: SchemaJson, key: string) => {
    const property = ((choice.properties ?? {}) as Record<string, SchemaJson>)[key] ?? {}
    return ((choice.required ?? []) as string[]).includes(key) && ('const' in property || 'enum' in property)
  }
  return Object.keys((choices[0]?.properties ?? {}) as SchemaJson).some((key) =>
    choices.every((choice) => saysSo(choice, key)),
  )
}

/** The schema with null as a type instead of a choice of two. */
function orNull(schema: SchemaJson): SchemaJson {
  const [value, other, ...more] = (schema.anyOf ?? []) as SchemaJson[]
  if (!value || other?.type !== 'null' || more.length > 0) return schema
  const { anyOf, ...rest } = schema
  if (typeof value.type !== 'string' || 'const' in value) return schema
  const folded: SchemaJson = { ...value, ...rest, type: [value.type, 'null'] }
  return value.enum ? { ...folded, enum: [...(value.enum as unknown[]), null] } : folded
}

/** Schemas of requests. Where a response differs, its schema name ends in `Output`. */
const REQUEST_NAMES = (): Record<string, z.ZodType> => ({
  Cache,
  ChatMessage: Message,
  ChunkingOptions,
  FilterBy,
  Identity,
  LoadBalancer,
  ResponsesInputItem: InputItem,
  ResponsesTool,
  ResponsesToolChoice,
  Retry,
  TaskRequestMessage: RequestMessage,
  Thinking,
  Thread,
  Timeout,
})

/** Schemas of responses. */
const ANSWER_NAMES = (): Record<string, z.ZodType> => ({
  Agent,
  AgentTask,
  AgentTool,
  AttemptRecord,
  Chunk,
  Contact,
  Datapoint,
  Dataset,
  Datasource,
  Deleted,
  Evaluation,
  Evaluator,
  Event,
  ExpectationReport,
  Feedback,
  File: FileRecord,
  Finding,
  GuardrailRecord,
  HumanReviewSet: ReviewSet,
  KnowledgeBase: Knowledge,
  Memory,
  MemoryDocument,
  MemoryStore,
  Project,
  ResponsesOutputItem: OutputItem,
  ResponsesResponse: ModelResponse,
  ResponsesUsage: ResponseUsage,
  RetrievalRecord,
  RuleReport,
  StoredTrace,
  TaskMessage,
  TaskStep,
  TaskTrace,
  TokenLogprob,
  TokenUsage: Usage,
  Tool,
  Trace: TraceRecord,
  Verification,
  VersionRecord,
})
