// Tools of the workspace: their definitions for models, and what a call of each does.

import { z } from 'zod'
import { describedLoose, describedObject } from '../core/described.ts'
import { common, Key, Path, prefixedForm, Uuid, VersionPatch } from './shared.ts'

/** Form of a tool's id: `tool_` and a ULID. */
export const toolId = prefixedForm('tool')

const FunctionName = z
  .string()
  .regex(/^[a-zA-Z0-9_-]{1,64}$/, { error: "must be 1 to 64 letters, digits, '_' and '-'" })
// Clients reject parameters without `properties` and `required`, so both are always set.
const Parameters = describedLoose('JSON Schema of the arguments.', {
  type: z.literal('object').default('object'),
  properties: z.record(z.string(), z.unknown()).describe('The arguments, by name, each as a JSON Schema.').default({}),
  required: z.array(z.string()).describe('Names of the required arguments.').default([]),
})
const ToolFunction = describedObject('A client-side function. The client runs it and sends the result.', {
  name: FunctionName.describe('The name that models use to call it: at most 64 letters, digits, `_`, and `-`.'),
  description: z.string().describe('What the function does. The model uses this to decide when to call it.').optional(),
  strict: z.boolean().optional(),
  parameters: Parameters.optional(),
})
const JsonSchemaTool = describedObject('The JSON Schema that the model output must match.', {
  name: FunctionName.describe('Name: at most 64 letters, digits, `_`, and `-`.'),
  description: z.string().describe('Description for the model.'),
  schema: Parameters,
  strict: z.boolean().optional(),
})

const output_schema = z
  .looseObject({})
  .optional()
  .describe('JSON Schema of a generated result. Not part of the emulated API.')

const Header = z.union([
  z.string(),
  z.object({
    value: z.string().describe('Value of the header.'),
    encrypted: z.boolean().describe('Whether the value is a secret. Understudy does not encrypt it.').default(false),
  }),
])
const Headers = z.record(z.string(), Header)
const Argument = z.object({
  type: z.enum(['string', 'number', 'boolean']).describe('Type.'),
  description: z.string(),
  send_to_model: z
    .boolean()
    .default(true)
    .describe('Whether the model provides the value. Otherwise the default is sent.'),
  default_value: z.union([z.string(), z.number(), z.boolean()]).describe('Default value.').optional(),
})
const HttpTool = describedObject('An HTTP tool. It is never called; results come from fixtures or are generated.', {
  blueprint: describedObject(
    'The HTTP request of the tool. `{{name}}` inserts an argument. It is not sent; results come from fixtures.',
    {
      url: z.string().min(1).describe('URL.'),
      method: z.enum(['GET', 'POST', 'PUT', 'DELETE']).describe('HTTP method.'),
      headers: Headers.optional(),
      body: z.unknown().describe('Request body.').optional(),
    },
  ),
  arguments: z
    .record(z.string().regex(/^[a-zA-Z0-9_.-]{1,64}$/), Argument)
    .describe('The arguments, by name.')
    .optional(),
  output_schema,
})
const McpTool = describedObject(
  'A Model Context Protocol server. It is never called; results come from fixtures or are generated.',
  {
    server_url: z.string().min(1).describe('URL of the MCP server. It is not called; results come from fixtures.'),
    connection_type: z.enum(['http', 'sse']).describe('Transport of the server.'),
    headers: Headers.optional(),
    tools: z
      .array(
        z.object({
          id: z.string().min(1).describe('Id of the tool.').optional(),
          name: z.string().min(1).describe('The name that models use to call it.'),
          description: z.string().optional(),
          schema: Parameters.prefault({}),
          output_schema,
        }),
      )
      .default([])
      .describe('Tools of the server. Understudy does not query the server, so the creator of the tool lists them.'),
  },
)
const CodeTool = describedObject('A code tool. It is never run; results come from fixtures or are generated.', {
  language: z.literal('python').describe('The language of the code.'),
  code: z.string().describe('The code. It is not run; results come from fixtures.'),
  parameters: Parameters.optional(),
  output_schema,
})

/** The types of tools, each with the field of its own settings. */
const FIELD_OF = {
  function: 'function',
  json_schema: 'json_schema',
  http: 'http',
  mcp: 'mcp',
  code: 'code_tool',
} as const
type ToolType = keyof typeof FIELD_OF
const TOOL_TYPES = Object.keys(FIELD_OF) as ToolType[]
const type = z.enum(TOOL_TYPES)

const own = { function: ToolFunction, json_schema: JsonSchemaTool, http: HttpTool, mcp: McpTool, code_tool: CodeTool }
const ownOptional = z.object(own).partial().shape
const fields = {
  path: Path,
  key: Key.describe('Must be unique in the workspace.'),
  display_name: z.string().optional().describe('Display name.'),
  description: z.string(),
  status: z.enum(['live', 'draft', 'pending', 'published']).describe('Status.'),
}

/** Finds what is missing in a tool, or does not belong to its type. */
export function checkToolType(tool: { type: ToolType }, context: z.RefinementCtx): void {
  const field = FIELD_OF[tool.type]
  for (const name of Object.values(FIELD_OF)) {
    const isThere = (tool as Record<string, unknown>)[name] !== undefined
    if (isThere === (name === field)) continue
    const message = isThere
      ? `is not for tools of type '${tool.type}', which have '${field}'`
      : `is required when 'type' is '${tool.type}'`
    context.addIssue({ code: 'custom', path: [name], message })
  }
}

/** The body that creates a tool, without the check of its type. */
export const ToolShape = z.object({
  ...fields,
  path: fields.path.default('Default'),
  description: fields.description.default(''),
  status: fields.status.describe('Status.').default('live'),
  type: type.describe('Type of the tool. The field with the same name contains its settings.').default('function'),
  ...ownOptional,
})
/** The body that creates a tool. */
export const ToolBody = ToolShape.superRefine(checkToolType)
/** The body that changes one. The settings of its type are replaced as a whole. */
export const ToolPatch = z
  .object({
    ...fields,
    type: type.describe('Type of the tool. The field with the same name contains its settings.'),
    ...ownOptional,
  })
  .partial()
/** The same with the fields of the new version. */
export const ToolUpdate = ToolPatch.extend(VersionPatch)
/** A tool in a response. */
export const Tool = z.object({
  _id: toolId.schema,
  ...fields,
  type: type.describe('Type of the tool. The field with the same name contains its settings.'),
  ...ownOptional,
  project_id: Uuid,
  ...common,
})

/** A changed tool without the settings of its former type. */
export function ofOneType(tool: Record<string, unknown>, named: object): Record<string, unknown> {
  const field = FIELD_OF[tool.type as ToolType]
  const others = Object.values(FIELD_OF).filter((name) => name !== field && !(name in named))
  return Object.fromEntries(Object.entries(tool).filter(([name]) => !(others as string[]).includes(name)))
}

/** The parts of stored tools that define a call. */
export type ToolParts = { [Name in keyof typeof own]?: z.infer<(typeof own)[Name]> }
